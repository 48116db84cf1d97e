import Testing

@testable import PerdureMacros

@Suite("Expansion of the validation functions of properties")
struct ValidationExpansionTests {
  private func entity(_ body: String, _ head: String = "@Entity final class A: B") -> (String, [Diagnostic]) {
    let reply = Expansion.expand(
      .init(
        typeName: "EntityMacro", role: "member", attribute: SyntaxText("@Entity"),
        declaration: SyntaxText("\(head) {\n\(body)\n}")))
    guard case .expansion(let text, let diagnostics) = reply else { return ("", []) }
    return (text ?? "", diagnostics)
  }

  private func validators(_ function: String) -> [String] {
    DeclarationScanner.type("class A: B {\n\(function)\n}").validators.map { "\($0.name) \($0.argumentType)" }
  }

  @Test("Generated code lists the validated properties and calls their validation functions")
  func golden() {
    let (text, diagnostics) = entity(
      """
      var age: Int
      func validateAge(_ age: Int) throws { if age < 0 { throw E() } }
      func validateOther(_ value: inout Any?) throws {}
      func validateMore(_ value: Int) throws {}
      """, "@Entity public final class A: B")
    #expect(diagnostics == [])
    #expect(
      text.contains(
        """
        public override class var _validatedProperties: [String] {
          super._validatedProperties + ["age", "other"]
        }

        public override func _validateProperty(_ value: inout Any?, forKey key: String) throws {
          switch key {
          case "age": try Perdure._PropertyValidation.call(validateAge, &value)
          case "other": try Perdure._PropertyValidation.call(validateOther, &value)
          default: try super._validateProperty(&value, forKey: key)
          }
        }
        """), "\(text)")
  }

  @Test("A class without validation functions gets no validation code")
  func none() {
    #expect(!entity("var age: Int\nfunc validateForInsert() throws {}").0.contains("_validateProperty"))
  }

  @Test(
    "A function with the form of a validation function is found",
    arguments: [
      ("func validateAge(_ age: Int) throws {}", "validateAge Int"),
      ("private func validateAge(_ age: inout Int?) throws { }", "validateAge inout Int?"),
      ("func validateAge(_ age: Any?) throws(E) { }", "validateAge Any?"),
      ("override func validateAge(_ x: Map<Int, String>) throws\n{ }", "validateAge Map<Int, String>"),
      ("@discardableResult func validateÄ(_ x: (Int, Int)) throws {}", "validateÄ (Int, Int)"),
    ])
  func found(_ source: String, _ want: String) { #expect(validators(source) == [want]) }

  @Test(
    "A function without the form of a validation function is ignored",
    arguments: [
      "func validateAge(_ age: Int) {}", "func validateAge(age: Int) throws {}",
      "func validateAge(_ a: Int, _ b: Int) throws {}", "static func validateAge(_ age: Int) throws {}",
      "class func validateAge(_ age: Int) throws {}", "func validateAge() throws {}",
      "func validateAge(_ age: Int) async throws {}", "func validateAge(_ age: Int) throws -> Bool { true }",
      "func validateAge<T>(_ age: T) throws {}", "func validate(_ age: Int) throws {}",
      "#if DEBUG\nfunc validateAge(_ age: Int) throws {}\n#endif", "func validateAge(_ age",
      "func validateAge(_", "func validateAge(", "func validateAge",
    ])
  func left(_ source: String) { #expect(validators(source) == []) }

  @Test(
    "Overriding validateValue adds .validateValue to the life cycle unless validatedKeys is overridden too")
  func hooks() {
    let function = "override func validateValue(_ value: inout Any?, forKey key: String) throws {}"
    let list = "override class var validatedKeys: [String] { [] }"
    let head = "override class var _lifeCycle: Perdure._LifeCycle "
    #expect(entity("var a: Int\n\(function)").0.contains("\(head){ B._lifeCycle.union([.validateValue]) }"))
    #expect(
      entity("var a: Int\n\(function)\n\(list)").0.contains(
        "\(head){ B._lifeCycle.union([.validateValue]).subtracting(.validateValue) }"))
    #expect(entity("var a: Int\n\(list)").0.contains("\(head){ B._lifeCycle.subtracting(.validateValue) }"))
    #expect(entity("var a: Int").0.contains("\(head){ B._lifeCycle }"))
  }

  @Test(
    "A property with the name of a predicate keyword is added, and causes a warning; nil_ causes none",
    arguments: ["no", "yes", "null", "nil_", "all", "contains", "Matches"])
  func words(_ name: String) {
    let (text, diagnostics) = entity("var \(name): Int")
    #expect(text.contains("entity.add(\"\(name)\""))
    #expect(diagnostics.map(\.severity) == (name == "nil_" ? [] : [.warning]))
    #expect(diagnostics.allSatisfy { $0.message.contains("#\(name)") })
  }
}
