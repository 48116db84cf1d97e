/// The text of a numbered error code. It has the name and the number, so that both can be searched
/// for.
///
/// - Parameter name: nil if the number has no name in this version.
package func numberedCode(_ name: String?, _ number: Int) -> String {
  name.map { "\($0) (\(number))" } ?? "\(number)"
}
