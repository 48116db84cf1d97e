/// What a check has found.
package struct Violation: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
