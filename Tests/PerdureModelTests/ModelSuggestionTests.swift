import PerdureModel
import Testing

@Suite("Suggestions in errors of models")
struct ModelSuggestionTests {
  /// The remedies of the problems that break a rule.
  private func remedies(_ rule: ModelProblem.Rule, _ entities: [EntityDescription]) -> [String] {
    problems(of: entities).filter { $0.rule == rule }.map(\.remedy)
  }

  @Test("A misspelt superentity or destination is named with the nearest entity")
  func entities() {
    let worker = entity("Worker", .string("name"), .toOne("company", "Compny"))
    let manager = EntityDescription("Manager", superentity: "Worke", properties: [])
    let all = [worker, manager, entity("Company", .string("name"))]
    #expect(remedies(.unknownSuperentity, all).first?.hasSuffix("Did you mean Worker?") == true)
    #expect(remedies(.unknownDestination, all).first?.hasSuffix("Did you mean Company?") == true)
  }

  @Test("A misspelt inverse is named with the nearest relationship, and not with an attribute")
  func inverse() {
    let all = [
      entity("Worker", .toOne("company", "Company", inverse: "worker")),
      entity("Company", .toMany("workers", "Worker", inverse: "company"), .string("workes")),
    ]
    #expect(remedies(.unknownInverse, all).first?.hasSuffix("Did you mean workers?") == true)
  }

  @Test("A misspelt property of an index, a constraint or a derivation is named with the nearest one")
  func properties() {
    let indexed = EntityDescription(
      "E", properties: [.string("title")], indexes: [FetchIndexDescription(on: "titel")])
    #expect(remedies(.indexProperty, [indexed]) == ["Correct the name. Did you mean title?"])
    let unique = EntityDescription("E", properties: [.string("title")], uniquenessConstraints: [["titel"]])
    #expect(remedies(.constraintProperty, [unique]).first?.hasSuffix("Did you mean title?") == true)
    let derived = entity("E", .string("title"), .derived("copy", "titel"))
    #expect(remedies(.derivation, [derived]).first?.hasSuffix("Did you mean title?") == true)
    let function = entity("E", .string("title"), .derived("copy", "lowrcase:(title)"))
    #expect(remedies(.derivation, [function]).first?.hasSuffix("Did you mean lowercase?") == true)
  }

  @Test("A misspelt entity of a configuration, or a misspelt configuration, is named with the nearest one")
  func configurations() throws {
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(Sample.entities, configurations: ["Staff": ["Compnay"]])
    }
    #expect(error?.problems.first?.remedy.hasSuffix("Did you mean Company?") == true)
    let model = try ManagedObjectModel(
      [entity("Note", .string("text"))], configurations: ["Notes": ["Note"]])
    let unknown = #expect(throws: ModelError.self) { try model.restricted(toConfiguration: "Nots") }
    #expect(unknown?.message.hasSuffix("It has \"Notes\". Did you mean Notes?") == true)
  }

  @Test("A name like no other has no suggestion")
  func nothingNear() {
    let all = [entity("Worker", .toOne("company", "Firm")), entity("Company", .string("name"))]
    #expect(remedies(.unknownDestination, all) == ["Add the entity, or correct the name."])
  }
}
