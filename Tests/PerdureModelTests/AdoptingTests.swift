import Testing

@testable import PerdureModel

@Suite("Adoption of a changed model")
struct AdoptingTests {
  func adopt(_ entities: [EntityDescription]) throws -> (StoredModel, [ModelDifference]) {
    let result = try StoredModel.initial(for: Sample.model()).adopting(ManagedObjectModel(entities))
    return (result.stored, result.differences)
  }

  func refusal(_ entities: [EntityDescription]) throws -> ModelError {
    try #require(throws: ModelError.self) { _ = try adopt(entities) }
  }

  func text(_ difference: ModelDifference) -> String {
    "\(difference.kind.rawValue) \(difference.entity)" + (difference.property.map { ".\($0)" } ?? "")
  }

  @Test("Adopting the same model changes nothing, whatever the order of its entities")
  func unchanged() throws {
    let stored = try StoredModel.initial(for: Sample.model())
    let same = try stored.adopting(Sample.model())
    #expect(same.differences == [] && same.stored.isEqual(to: stored))
    let (other, differences) = try adopt(Sample.entities.reversed())
    #expect(differences == [] && other.layouts == stored.layouts)
    #expect((0..<4).map { other.entityNumber(at: $0) } == [4, 3, 2, 1])
  }

  @Test("An added attribute gets the next number, and its entities get new layouts")
  func addedAttribute() throws {
    let (stored, differences) = try adopt(
      Sample.entities(changing: "Person") { $0.properties.insert(.date("born"), at: 1) })
    #expect(differences.map(text) == ["propertyAdded Person.born"])
    #expect(stored.propertyNumbers(ofEntityAt: 2) == [8, 13, 9, 10])
    #expect(stored.propertyNumbers(ofEntityAt: 1) == [8, 13, 9, 10, 4, 5, 6, 7])
    #expect(stored.layouts.map(\.number) == [1, 2, 3, 4, 5, 6])
    #expect(stored.currentLayout(ofEntityAt: 0).number == 1)
    #expect(stored.currentLayout(ofEntityAt: 1).number == 5)
    #expect(stored.currentLayout(ofEntityAt: 2).number == 6)
    let read = try StoredModel(decoding: stored.encode())
    #expect(read.isEqual(to: stored))
  }

  @Test("Properties that are absent in an older layout have no position in its rows")
  func olderRows() throws {
    let (stored, _) = try adopt(
      Sample.entities(changing: "Person") { $0.properties.insert(.date("born"), at: 1) })
    let old = try #require(stored.layout(numbered: 2))
    #expect(stored.rowPositions(bySlotIn: old) == [0, nil, 1, 2, 3, 4, 5, 6])
    let current = stored.currentLayout(ofEntityAt: 1)
    #expect(stored.rowPositions(bySlotIn: current) == [0, 1, 2, 3, 4, 5, 6, 7])
  }

  @Test("Entities, required attributes with a default, relationships and indexes can be added")
  func additions() throws {
    var entities = Sample.entities(changing: "Company") { company in
      company.properties += [
        .int16("stars", optional: false, default: 3), .toMany("offices", "Office", inverse: "company"),
        .derived("officeCount", "offices.@count"),
      ]
      company.indexes.append(FetchIndexDescription(on: "stars"))
    }
    entities.append(
      EntityDescription(
        "Office",
        properties: [
          .string("address", optional: false),
          .toOne("company", "Company", inverse: "offices", optional: false),
        ], uniquenessConstraints: [["address"]]))
    let (stored, differences) = try adopt(entities)
    #expect(
      differences.map(text) == [
        "propertyAdded Company.stars", "propertyAdded Company.offices", "propertyAdded Company.officeCount",
        "indexesChanged Company", "entityAdded Office",
      ])
    #expect(stored.entityNumber(at: 4) == 5)
    #expect(stored.layouts.count == 6)
  }

  @Test("Changes that do not affect rows create no layout")
  func details() throws {
    let (stored, differences) = try adopt(
      Sample.entities(changing: "Company") { company in
        company.managedObjectClassName = "Firm"
        company.properties[0] = .string("name", optional: false, default: "x")
        company.properties[1] = .toMany("workers", "Worker", inverse: "company", deleteRule: .deny)
        company.indexes = []
      })
    #expect(
      differences.map(text) == [
        "detailsChanged Company.name", "detailsChanged Company.workers", "indexesChanged Company",
        "detailsChanged Company",
      ])
    #expect(stored.layouts.count == 4)
  }

  @Test("A changed derivation is compatible and creates no layout")
  func derivations() throws {
    let (stored, differences) = try adopt(
      Sample.entities(changing: "Company") { company in
        company.properties[2] = .derived(
          "workerCount", "workers.@sum.salary", type: .double, optional: true)
      })
    #expect(
      differences.map(text) == [
        "optionalChanged Company.workerCount", "typeChanged Company.workerCount",
        "derivationChanged Company.workerCount",
      ])
    #expect(stored.layouts.count == 4)
    let respelled = try stored.adopting(
      ManagedObjectModel(
        Sample.entities(changing: "Company") { company in
          company.properties[2] = .derived(
            "workerCount", "workers.salary.@sum", type: .double, optional: true)
        }))
    #expect(respelled.differences.map(text) == ["derivationChanged Company.workerCount"])
    #expect(respelled.stored.layouts.count == 4)
  }

  @Test("An attribute cannot change between stored and derived")
  func storedAndDerived() throws {
    let original = try StoredModel.initial(
      for: ManagedObjectModel([entity("A", .string("a"), .string("b"), .derived("c", "a", type: .string))]))
    let turned = try ManagedObjectModel([
      entity("A", .string("a"), .derived("b", "a", type: .string), .string("c"))
    ])
    let error = try #require(throws: ModelError.self) { _ = try original.adopting(turned) }
    #expect(
      error.differences.filter { !$0.isCompatible }.map(text) == [
        "derivationChanged A.b", "derivationChanged A.c",
      ])
  }

  @Test("A new order of properties creates a layout, and the old order reuses the old layout")
  func reordered() throws {
    let original = try StoredModel.initial(for: Sample.model())
    let turned = try ManagedObjectModel(
      Sample.entities(changing: "Project") { $0.properties.reverse() })
    let there = try original.adopting(turned)
    #expect(there.differences.map(text) == ["detailsChanged Project"])
    #expect(there.stored.currentLayout(ofEntityAt: 3).number == 5)
    let back = try there.stored.adopting(Sample.model())
    #expect(back.stored.currentLayout(ofEntityAt: 3).number == 4)
    #expect(back.stored.layouts == there.stored.layouts)
  }

  @Test("New numbers follow the last used numbers, and adoption throws if none are left")
  func numbersAreSpent() throws {
    let stored = try StoredModel.initial(for: ManagedObjectModel([entity("A", .string("a"))]))
    let wider = try stored.adopting(ManagedObjectModel([entity("A", .string("a"), .string("b"))])).stored
    let read = try StoredModel(decoding: wider.encode())
    let widest = try read.adopting(
      ManagedObjectModel([entity("A", .string("a"), .string("b")), entity("B", .string("c"))])
    ).stored
    #expect(widest.propertyNumbers(ofEntityAt: 1) == [3])
    #expect(widest.lastNumbers == .init(entity: 2, property: 3, layout: 3))
    let spent = widest.with(lastNumbers: .init(entity: .max, property: 3, layout: 3))
    let more = try ManagedObjectModel(widest.model.entities + [entity("C")])
    let error = try #require(throws: ModelError.self) { _ = try spent.adopting(more) }
    #expect(error.code == .numbersExhausted)
  }

  @Test("An incompatible model is rejected with 134100 and a list of all differences")
  func incompatible() throws {
    var entities = Sample.entities(changing: "Worker") { worker in
      worker.superentityName = nil
      worker.properties = [
        .int64("email", optional: false),
        .toOne("company", "Company", inverse: "workers", optional: false),
        .toMany("projects", "Project", inverse: "members", maxCount: 5),
        .string("nick", optional: false), .toOne("boss", "Worker", optional: false),
      ]
      worker.uniquenessConstraints = []
    }
    entities = entities.map { entity in
      var entity = entity
      if entity.name == "Person" { entity.isAbstract = false }
      if entity.name == "Company" { entity.properties[2] = .int64("workerCount", optional: false) }
      return entity
    }
    let error = try refusal(entities)
    #expect(error.code.rawValue == 134_100)
    #expect(
      error.differences.filter { !$0.isCompatible }.map(text) == [
        "derivationChanged Company.workerCount", "superentityChanged Worker", "typeChanged Worker.email",
        "optionalChanged Worker.company", "countChanged Worker.company", "propertyRemoved Worker.salary",
        "countChanged Worker.projects", "propertyAdded Worker.nick", "propertyAdded Worker.boss",
        "constraintsChanged Worker", "abstractChanged Person",
      ])
    #expect(error.description.contains("Worker.email: The type was string and is int64. Needs a migration."))
  }

  @Test("Removed entities, changed inverses and changed kinds are rejected")
  func otherIncompatible() throws {
    let removed = try refusal([
      entity("Person"), entity("Project", .toOne("title", "Person"), .string("members")),
    ])
    #expect(
      removed.differences.filter { !$0.isCompatible }.map(text).sorted() == [
        "abstractChanged Person", "entityRemoved Company", "entityRemoved Worker",
        "propertyKindChanged Project.members", "propertyKindChanged Project.title",
        "propertyRemoved Person.friends", "propertyRemoved Person.name", "propertyRemoved Person.spouse",
      ])
    let ends = try refusal(
      Sample.entities(changing: "Person") { $0.properties[1] = .toOne("spouse", "Company") })
    #expect(
      ends.differences.map(text) == ["destinationChanged Person.spouse", "inverseChanged Person.spouse"])
  }
}
