import Testing

@testable import PerdureMacros

@Suite("Expansion of fetch request templates")
struct TemplateExpansionTests {
  private func entity(_ source: String) -> (lines: [String], complaints: [String]) {
    let reply = Expansion.expand(
      .init(
        typeName: "EntityMacro", role: "member", attribute: SyntaxText("@Entity"),
        declaration: SyntaxText(source)))
    guard case .expansion(let text, let diagnostics) = reply else { return ([], ["no expansion"]) }
    let lines = (text ?? "").split(separator: "\n").map { String($0.drop { $0 == " " }) }
    return (lines.filter { $0.contains("_templateOf_") }, diagnostics.map(\.message))
  }

  private func body(_ source: String) -> String? {
    let request = Request.AttachedExpansion(
      typeName: "FetchTemplateMacro", role: "body", attribute: SyntaxText("@FetchTemplate"),
      declaration: SyntaxText(source))
    guard case .expansion(let text, let diagnostics) = Expansion.expand(request), diagnostics.isEmpty else {
      return nil
    }
    return text
  }

  @Test("For each function, the expansion adds a constant in _Slot and an element in the class's list")
  func described() {
    let (lines, complaints) = entity(
      """
      @Entity final class Worker: ManagedObject {
        @FetchTemplate("salary > $least AND name == $n", order: [FetchOrder("name")])
        static func rich(least: Double, named n: [String: Int], _ x: Array<Int, Int>) -> FetchRequest<Worker>
        @FetchTemplate static func `all`() -> FetchRequest<Worker>
        var salary: Double = 0
      }
      """)
    #expect(complaints == [])
    #expect(
      lines == [
        "static let _templateOf_rich = Perdure._ClassTemplate<Worker>(\"rich\", "
          + "[\"least\": (Double).self, \"n\": ([String: Int]).self, \"x\": (Array<Int, Int>).self], "
          + "\"salary > $least AND name == $n\", order: [FetchOrder(\"name\")])",
        "static let _templateOf_all = Perdure._ClassTemplate<Worker>(\"all\", [:])",
        "[_Slot._templateOf_rich.template, _Slot._templateOf_all.template]",
        "[\"rich\": _Slot._templateOf_rich.parameters, \"all\": _Slot._templateOf_all.parameters]",
      ])
  }

  @Test("A parameter's type is the text up to its default, and Any for an opaque or variadic parameter")
  func parameterTypes() {
    let (lines, complaints) = entity(
      """
      @Entity final class Worker: ManagedObject {
        @FetchTemplate("a IN $a AND b == $b AND c == $c AND d == $d")
        static func f(
          a: ClosedRange<Int> = 0...1, `b`: (Int)? = nil, c: some PredicateArgument, d: Int...
        ) -> FetchRequest<Worker>
      }
      """)
    #expect(complaints == [])
    #expect(
      lines.first?.contains(
        "[\"a\": (ClosedRange<Int>).self, \"b\": ((Int)?).self, \"c\": (Any).self, \"d\": (Any).self]")
        == true,
      "\(lines)")
  }

  @Test("The body of a function makes a request from its parameters")
  func bodies() {
    #expect(
      body("@FetchTemplate(\"a > $x\") static func f(_ x: Int, of y: [Int]) -> FetchRequest<W>")
        == "{\n  _Slot._templateOf_f.request([\"x\": x, \"y\": y])\n}")
    #expect(
      body("@FetchTemplate static func f() -> FetchRequest<W>")
        == "{\n  _Slot._templateOf_f.request([:])\n}")
    #expect(body("@FetchTemplate var x: Int") == nil)
  }

  @Test(
    "A function that cannot make requests causes one error, and adds no template",
    arguments: [
      ("@FetchTemplate func f() -> FetchRequest<W>", "\"f\" makes requests without an object."),
      ("@FetchTemplate static func f() -> FetchRequest<W> { x }", "@FetchTemplate writes the body of \"f\"."),
      ("#if DEBUG\n@FetchTemplate static func f() -> FetchRequest<W>\n#endif", "\"f\" is inside #if"),
    ])
  func refused(declaration: String, message: String) {
    let (lines, complaints) = entity("@Entity final class W: ManagedObject {\n\(declaration)\n}")
    #expect(lines == [])
    #expect(complaints.count == 1 && complaints.first?.hasPrefix(message) == true, "\(complaints)")
  }
}
