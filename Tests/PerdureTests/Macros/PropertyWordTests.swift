import Testing

@testable import PerdurePredicates

/// Compiles classes, and checks the macros' messages about names and validations of properties.
@Suite("Compiler messages of the macros about names and validations")
struct PropertyWordTests {
  /// The messages of a kind with their lines.
  private func messages(_ kind: String, _ source: String) throws -> [(line: Int, text: String)] {
    let compiler = try #require(Compiler.found, "There is no swiftc in PATH, or no modules beside the tests.")
    let pattern = /(?m)^(.+?):([0-9]+):[0-9]+: (error|warning): (.*)$/
    return try compiler.check(source).matches(of: pattern).filter { $0.3 == kind }
      .map { (Int($0.2) ?? 0, String($0.4)) }
  }

  @Test("The macro warns about exactly the property names that are reserved words of predicates")
  func words() throws {
    // No property can be called SELF.
    let words = ReservedWords.strict.subtracting(["SELF"]).sorted().map { $0.lowercased() }
    let properties = (words + ["name", "number", "first"]).map { "  var `\($0)`: Int = 0" }
    let source =
      "import Perdure\n@Entity final class Worded: ManagedObject {\n"
      + properties.joined(separator: "\n") + "\n}\n"
    let found = try messages("warning", source).filter { $0.text.contains("word of the predicate language") }
    #expect(found.map(\.line) == Array(3..<(3 + words.count)))
    for (word, message) in zip(words, found) {
      #expect(message.text.hasPrefix("\"\(word)\" is a word") && message.text.contains("Write #\(word) "))
    }
    #expect(try messages("error", source).isEmpty)
  }

  @Test("A property in an extension, and a validation function of another type, are refused with a reason")
  func refusals() throws {
    let found = try messages(
      "error",
      """
      import Perdure
      @Entity final class User: ManagedObject {
        var age: Int = 0
        func validateAge(_ age: [Never]) throws {}
      }
      extension User {
        @Managed var login: String?
      }
      """
    ).map(\.text)
    #expect(found.contains { $0.contains("Declare the variable in the body of the class") }, "\(found)")
    #expect(found.contains { $0.contains("The validation of a property takes a value") }, "\(found)")
  }
}
