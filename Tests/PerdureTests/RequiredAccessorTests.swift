import Foundation
import Testing

/// Without a compiler, the suite is disabled, so that it does not count as passed. In CI, a missing
/// compiler is a failure.
@Suite(
  "The compiler refuses required attributes that could have no readable value",
  .enabled(
    if: Compiler.found != nil || ProcessInfo.processInfo.environment["CI"] != nil,
    "There is no swiftc in PATH, or no modules beside the tests."))
struct RequiredAccessorTests {
  private func messages(_ property: String) throws -> String {
    let compiler = try #require(Compiler.found, "There is no swiftc in PATH, or no modules beside the tests.")
    let result = try compiler.compile(
      """
      import Perdure

      struct Colour { var red = 0 }
      typealias Tint = Colour?

      final class Card: ManagedObject {
        \(property)
      }
      """)
    return result.status == 0 ? "" : result.output
  }

  @Test("An attribute with a transformer must be optional")
  func transformed() throws {
    let text = "An attribute with a transformer must be optional"
    #expect(try messages("var tint: Colour { _transformed(0, (Colour).self) }").contains(text))
    #expect(try messages("var tint: Colour? { _transformed(0, (Colour?).self) }").isEmpty)
    #expect(try messages("var tint: Tint { _transformed(0, (Tint).self) }").isEmpty)
  }

  @Test("A transient attribute of a type without a zero value must be optional or have an initial value")
  func transient() throws {
    let text = "A transient attribute of this type must be optional or have an initial value"
    #expect(try messages("var tint: Colour { _transient(0, (Colour).self) }").contains(text))
    #expect(try messages("var tint: Colour { _transient(0, (Colour).self, default: Colour()) }").isEmpty)
    #expect(try messages("var tint: Colour? { _transient(0, (Colour?).self) }").isEmpty)
    #expect(try messages("var tint: Tint { _transient(0, (Tint).self) }").isEmpty)
    #expect(try messages("var count: Int { _transient(0, (Int).self) }").isEmpty)
  }
}
