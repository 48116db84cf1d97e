import Testing

@testable import PerdureMacros

@Suite("Expansion of fetched properties")
struct FetchedExpansionTests {
  /// The statements in the description of a class, and the diagnostics of `@Entity`.
  private func entity(_ source: String) -> (statements: [String], complaints: [String]) {
    let reply = Expansion.expand(
      .init(
        typeName: "EntityMacro", role: "member", attribute: SyntaxText("@Entity"),
        declaration: SyntaxText(source)))
    guard case .expansion(let text, let diagnostics) = reply else { return ([], ["no expansion"]) }
    let lines = (text ?? "").split(separator: "\n").map { String($0.drop { $0 == " " }) }
    return (lines.filter { $0.hasPrefix("entity.add") }, diagnostics.map(\.message))
  }

  private func expand(_ type: String, _ role: String, _ source: String) -> String? {
    let request = Request.AttachedExpansion(
      typeName: type, role: role, attribute: SyntaxText("@X"), declaration: SyntaxText(source))
    guard case .expansion(let text, let diagnostics) = Expansion.expand(request), diagnostics.isEmpty else {
      return "refused"
    }
    return text
  }

  @Test("A fetched property is added to the description with its type and options, and has no slot")
  func described() {
    let (statements, complaints) = entity(
      """
      @Entity final class Author: ManagedObject {
        @Fetched("author == $FETCH_SOURCE", .cached, limit: 3) private(set) var kept: [Message]
        var name: String
        @Fetched var all: Array<Message>
      }
      """)
    #expect(complaints == [])
    #expect(
      statements == [
        "entity.add(\"name\", (String).self)",
        "entity.addFetched(\"kept\", of: ([Message]).self, \"author == $FETCH_SOURCE\", .cached, limit: 3)",
        "entity.addFetched(\"all\", of: (Array<Message>).self)",
      ])
  }

  @Test("The accessor of a fetched property reads the property by name, and @Entity adds no storage")
  func accessor() {
    let source = "@Fetched(\"size > 3\") var `all`: [Message]"
    #expect(expand("FetchedMacro", "accessor", source) == "{\n  get { _fetched(\"all\") }\n}")
    #expect(expand("EntityMacro", "memberAttribute", source) == nil)
  }

  @Test(
    "The error for a declaration that cannot be a fetched property contains the remedy",
    arguments: [
      ("@Fetched(\"a > 3\") var x: Message", "\"x\" needs the type of its objects"),
      ("@Fetched var x: [String: Message]", "\"x\" needs the type of its objects"),
      ("@Fetched var x = []", "\"x\" is fetched at each read"),
      (
        "@Fetched @Attribute var x: [Message]", "\"x\" is fetched and has no stored value. Remove @Attribute."
      ),
      (
        "@Fetched @Transient var x: [Message]", "\"x\" is fetched and has no stored value. Remove @Transient."
      ),
      ("@Fetched let x: [Message]", "\"x\" is fetched. Declare it as a \"var\""),
      ("@Fetched static var x: [Message]", "\"x\" is fetched. Declare it as a \"var\""),
      ("@Fetched var x: [Message] { [] }", "\"x\" is fetched. Declare it as a \"var\""),
      ("@Fetched var x: [Message], y: [Message]", "Declare each fetched property"),
      ("@Fetched var _x: [Message]", "\"_x\" begins with an underscore"),
      ("@Fetched var hash: [Message]", "\"hash\" is the name of a member"),
      ("#if DEBUG\n@Fetched var x: [Message]\n#endif", "\"x\" is inside #if"),
    ])
  func refused(declaration: String, message: String) {
    let (statements, complaints) = entity("@Entity final class A: ManagedObject {\n\(declaration)\n}")
    #expect(statements == [])
    #expect(complaints.count == 1 && complaints.first?.hasPrefix(message) == true, "\(complaints)")
  }
}
