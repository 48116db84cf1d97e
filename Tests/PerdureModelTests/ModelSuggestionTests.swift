import PerdureModel
import Testing

@Suite("Suggestions in errors of models")
struct ModelSuggestionTests {
  /// The remedies of the problems that violate `rule`.
  private func remedies(_ rule: ModelProblem.Rule, _ entities: [EntityDescription]) -> [String] {
    problems(of: entities).filter { $0.rule == rule }.map(\.remedy)
  }

  @Test("The remedy for a misspelt superentity or destination suggests the nearest entity")
  func entities() {
    let worker = entity("Worker", .string("name"), .toOne("company", "Compny"))
    let manager = EntityDescription("Manager", superentity: "Worke", properties: [])
    let all = [worker, manager, entity("Company", .string("name"))]
    #expect(remedies(.unknownSuperentity, all).first?.hasSuffix("Did you mean Worker?") == true)
    #expect(remedies(.unknownDestination, all).first?.hasSuffix("Did you mean Company?") == true)
  }

  @Test("The remedy for a misspelt inverse suggests a relationship, not an attribute")
  func inverse() {
    let all = [
      entity("Worker", .toOne("company", "Company", inverse: "worker")),
      entity("Company", .toMany("workers", "Worker", inverse: "company"), .string("workes")),
    ]
    #expect(remedies(.unknownInverse, all).first?.hasSuffix("Did you mean workers?") == true)
  }

  @Test("Remedies for misspelt names in indexes, constraints and derivations suggest names")
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

  @Test("Errors about misspelt configurations and their entities suggest names")
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

  @Test("A name without a similar name gets no suggestion")
  func nothingNear() {
    let all = [entity("Worker", .toOne("company", "Firm")), entity("Company", .string("name"))]
    #expect(remedies(.unknownDestination, all) == ["Add the entity, or correct the name."])
  }
}
