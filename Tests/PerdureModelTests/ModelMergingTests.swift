import PerdureModel
import Testing

@Suite("Merging of models")
struct ModelMergingTests {
  private let company = entity("Company", .string("name"), .toMany("workers", "Worker", inverse: "company"))
  private let worker = entity("Worker", .toOne("company", "Company", inverse: "workers"))
  private let log = entity("Log", .date("at"), .string("text"))

  @Test("A merged model has all entities, configurations and identifiers without duplicates")
  func merged() throws {
    let staff = try ManagedObjectModel(
      [company, worker], configurations: ["Main": ["Company", "Worker"]], versionIdentifiers: ["s1"])
    let logs = try ManagedObjectModel(
      [log], configurations: ["Main": ["Log"], "Logs": ["Log"]], versionIdentifiers: ["l1"])
    let again = try ManagedObjectModel([log])
    let model = try ManagedObjectModel(merging: [staff, logs, again])
    #expect(model.entities.map(\.name) == ["Company", "Worker", "Log"])
    #expect(model.entities(forConfigurationName: "Main")?.count == 3)
    #expect(model.entities(forConfigurationName: "Logs")?.map(\.name) == ["Log"])
    #expect(model.versionIdentifiers == ["s1", "l1"])
    let whole = try ManagedObjectModel([worker, company, log])
    #expect(model.versionHash == whole.versionHash)
    #expect(try ManagedObjectModel(merging: []).entities == [])
  }

  @Test("An entity that two models describe differently is rejected with all differences")
  func different() throws {
    let other = entity("Log", .string("at"), .string("text"), .int64("n"))
    let models = [try ManagedObjectModel([log]), try ManagedObjectModel([other])]
    let error = try #require(throws: ModelError.self) { try ManagedObjectModel(merging: models) }
    #expect(error.code == .invalidModel)
    #expect(error.differences.map(\.kind) == [.typeChanged, .propertyAdded])
    var turned = log
    turned.properties.reverse()
    let orders = [models[0], try ManagedObjectModel([turned])]
    let order = try #require(throws: ModelError.self) { try ManagedObjectModel(merging: orders) }
    #expect(order.differences.map(\.kind) == [.detailsChanged])
    #expect(error.description.contains("The models describe Log differently"))
  }

  @Test("A property of one model that clashes with a subentity of another model is rejected")
  func clashes() throws {
    let child = EntityDescription("Child", superentity: "Base", properties: [.string("a")])
    let first = try ManagedObjectModel([entity("Base", .string("b")), child])
    let second = try ManagedObjectModel([entity("Base", .string("b"), .string("a"))])
    let error = try #require(throws: ModelError.self) {
      try ManagedObjectModel(merging: [first, second])
    }
    #expect(error.differences.map(\.kind) == [.propertyAdded])
  }

  @Test("A model can be restricted only to a known configuration without relationships to outside entities")
  func restricted() throws {
    let model = try ManagedObjectModel(
      [company, worker, log],
      configurations: ["Logs": ["Log"], "Half": ["Company"], "Staff": ["Worker", "Company"]])
    #expect(try model.restricted(toConfiguration: "Logs").entities == [log])
    #expect(try model.restricted(toConfiguration: "Staff").configurations == ["Staff"])
    let crossing = try #require(throws: ModelError.self) { try model.restricted(toConfiguration: "Half") }
    #expect(crossing.problems.map(finding) == ["configurationSplitsRelationship Company.workers"])
    let unknown = try #require(throws: ModelError.self) { try model.restricted(toConfiguration: "None") }
    #expect(unknown.message.contains("It has \"Half\", \"Logs\", \"Staff\"."))
  }
}
