/// A number with its unit: 1 finding, 2 findings.
///
/// - Parameter plural: The plural of the noun; nil if it is the noun with an s.
package func counted(_ count: some BinaryInteger, _ noun: String, plural: String? = nil) -> String {
  "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
}
