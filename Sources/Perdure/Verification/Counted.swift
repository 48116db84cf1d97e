/// A number with its unit: 1 finding, 2 findings.
///
/// - Parameter plural: Where it is more than an s behind the noun.
package func counted(_ count: some BinaryInteger, _ noun: String, plural: String? = nil) -> String {
  "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
}
