import PerdureModel
import Testing

@Suite("Schemas of entities")
struct EntitySchemaTests {
  @Test("Slots begin with the inherited properties and continue in the order of declaration")
  func slots() throws {
    let model = try Sample.model()
    let worker = try #require(model.schema(named: "Worker"))
    #expect(
      worker.properties.map(\.name) == [
        "name", "spouse", "friends", "email", "company", "salary", "projects",
      ])
    #expect(worker.properties.map(\.slot) == Array(0..<7))
    #expect(worker.properties.map(\.declaringEntity) == [2, 2, 2, 1, 1, 1, 1])
    #expect(worker.slot(named: "salary") == 5)
    #expect(worker.slot(named: "nothing") == nil)
    #expect(worker.property(named: "salary")?.attributeType == .double)
    #expect(model.schemas.map(\.index) == [0, 1, 2, 3])
  }

  @Test("Schemas list their root, superentities and subentities")
  func hierarchy() throws {
    let model = try ManagedObjectModel([
      EntityDescription("D", superentity: "C", properties: []),
      EntityDescription("C", superentity: "A", properties: []), entity("A"),
      EntityDescription("B", superentity: "A", properties: []),
    ])
    #expect(model.schemas.map(\.superentity) == [1, 2, nil, 2])
    #expect(model.schemas.map(\.root) == [2, 2, 2, 2])
    #expect(model.schemas.map(\.lineage) == [[0, 1, 2], [1, 2], [2], [3, 2]])
    #expect(model.schemas.map(\.subentities) == [[], [0], [0, 1, 3], []])
    #expect(model.schemas[0].isKind(of: 2) && !model.schemas[0].isKind(of: 3))
  }

  @Test("Inverses are resolved, and only one end stores each link")
  func relationships() throws {
    let model = try Sample.model()
    let company = try #require(model.schema(named: "Company"))
    let worker = try #require(model.schema(named: "Worker"))
    let workers = try #require(company.property(named: "workers"))
    #expect(workers.kind == .toMany && workers.linkStorage == .inverseReference)
    #expect(workers.inverse.map { [$0.entity, $0.slot] } == [1, 4])
    #expect(workers.destination == 1 && workers.deleteRule == .cascade)
    let back = try #require(worker.property(named: "company"))
    #expect(back.kind == .toOne && back.linkStorage == .reference)
    #expect(back.inverse.map { [$0.entity, $0.slot] } == [0, 1])
    #expect(company.property(named: "workerCount")?.countedSlot == 1)
    #expect(worker.property(named: "name")?.linkStorage == nil)
  }

  @Test("Many-to-many relationships store links separately, including one that is its own inverse")
  func manyToMany() throws {
    let model = try Sample.model()
    let worker = try #require(model.schema(named: "Worker"))
    #expect(worker.property(named: "projects")?.linkStorage == .links)
    #expect(model.schema(named: "Project")?.property(named: "members")?.linkStorage == .links)
    let friends = try #require(worker.property(named: "friends"))
    #expect(friends.linkStorage == .links)
    #expect(friends.inverse?.entity == model.schema(named: "Person")?.index)
    #expect(friends.inverse?.slot == friends.slot)
  }

  @Test("A to-many relationship without an inverse stores links separately")
  func oneWay() throws {
    let model = try ManagedObjectModel([entity("A", .toMany("others", "A"))])
    let others = try #require(model.schema(named: "A")?.property(named: "others"))
    #expect(others.linkStorage == .links && others.inverse == nil)
  }

  @Test("Indexes and constraints are inherited")
  func indexes() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "P", properties: [.string("a")], indexes: [.init("i", [.init("a", ascending: false)])],
        uniquenessConstraints: [["a"]]),
      EntityDescription(
        "E", superentity: "P", properties: [.string("b"), .string("c")], indexes: [.init(on: "c", "a")],
        uniquenessConstraints: [["b", "a"]]),
    ])
    let schema = try #require(model.schema(named: "E"))
    #expect(schema.indexes.map(\.name) == ["i", "by_c_a"])
    #expect(schema.indexes.map(\.slots) == [[0], [2, 0]])
    #expect(schema.indexes.map(\.isAscending) == [[false], [true, true]])
    #expect(schema.indexes.map(\.declaringEntity) == [0, 1])
    #expect(schema.uniquenessConstraints.map(\.slots) == [[0], [1, 0]])
    #expect(schema.properties.map(\.isIndexed) == [true, false, true])
    #expect(schema.properties.map(\.isUnique) == [true, false, false])
  }
}

@Suite("Version hashes of models")
struct ModelHashTests {
  @Test("The hash is the same on every platform and in every run")
  func pinned() throws {
    let hash = try Sample.model().versionHash
    #expect(hash == 0x7828_1215_5a59_f791)
  }

  @Test("The order of declaration, defaults, delete rules, indexes and class names do not affect the hash")
  func ignored() throws {
    let entities = Sample.entities(changing: "Company") { company in
      company.managedObjectClassName = "Firm"
      company.indexes = []
      company.properties = [
        .derived("workerCount", "workers.@count"), .toMany("workers", "Worker", inverse: "company"),
        .string("name", optional: false, default: "x"),
      ]
    }
    #expect(try ManagedObjectModel(entities.reversed()).versionHash == Sample.model().versionHash)
  }

  @Test("If an entity changes, its hash and the hashes of its subentities and of the model change")
  func changes() throws {
    let before = try Sample.model()
    let after = try ManagedObjectModel(
      Sample.entities(changing: "Person") { $0.properties[0] = .string("name", optional: true) })
    #expect(before.versionHash != after.versionHash)
    let changed = before.entityVersionHashesByName.filter {
      after.entityVersionHashesByName[$0.key] != $0.value
    }
    #expect(Set(changed.keys) == ["Person", "Worker"])
  }
}
