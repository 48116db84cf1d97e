import Testing

@testable import PerdureModel

@Suite("Inherited properties of entity descriptions")
struct InheritedPropertyTests {
  private let descriptions = [
    EntityDescription("Worker", superentity: "Person", properties: [.int64("salary")]),
    EntityDescription("Person", superentity: "Being", properties: [.string("name")]),
    EntityDescription("Being", properties: [.date("born"), .toOne("home", "Place")]),
    EntityDescription("Place", properties: [.composite("position", [.double("x"), .double("y")])]),
  ]

  @Test("A description from a model includes the properties of all superentities")
  func properties() throws {
    let model = try ManagedObjectModel(descriptions)
    let worker = try #require(model.entitiesByName["Worker"])
    #expect(Set(worker.propertiesByName.keys) == ["salary", "name", "born", "home"])
    #expect(Set(worker.attributesByName.keys) == ["salary", "name", "born"])
    #expect(Set(worker.relationshipsByName.keys) == ["home"])
    #expect(model.entities[0].superentity?.superentity?.name == "Being")
    #expect(model.entities[2].subentities.map(\.name) == ["Person"])
    #expect(model.entities[3].compositesByName["position"]?.elements.count == 2)
    #expect(worker.isKind(of: model.entities[2]) && !model.entities[2].isKind(of: worker))
  }

  @Test("A description outside of a model has only its own properties and its superentity's name")
  func alone() {
    #expect(Set(descriptions[0].propertiesByName.keys) == ["salary"])
    #expect(descriptions[0].superentity == nil && descriptions[2].subentities.isEmpty)
    #expect(descriptions[0].superentityName == "Person")
  }

  @Test("Descriptions of a model equal those from which the model was made, and can be used in another model")
  func equality() throws {
    let model = try ManagedObjectModel(descriptions)
    #expect(
      model.entities == descriptions && model.entities.map(\.hashValue) == descriptions.map(\.hashValue))
    var entities = model.entities
    entities[2].properties.append(.string("kind"))
    let other = try ManagedObjectModel(entities)
    #expect(other.entities[0].attributesByName["kind"] != nil)
    #expect(model.entities[0].attributesByName["kind"] == nil)
  }

  @Test("The lookup of inherited properties ends if an entity inherits from its own descendant")
  func circle() throws {
    var being = try #require(try ManagedObjectModel(descriptions).entitiesByName["Being"])
    being.superentityName = "Worker"
    #expect(being.attributesByName["salary"] != nil && being.attributesByName["born"] != nil)
  }

  @Test("A description does not retain its model")
  func freed() throws {
    weak var held: ManagedObjectModel?
    let kept = try {
      let model = try ManagedObjectModel(descriptions)
      held = model
      return model.entities[0]
    }()
    #expect(held == nil && kept.superentity?.name == "Person")
  }
}
