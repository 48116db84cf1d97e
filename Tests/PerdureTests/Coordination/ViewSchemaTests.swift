// One store has states whose rows have different layouts. These tests read rows of both layouts.

import Perdure
import PerdureLog
import PerdureModel
import PerdurePredicates
import Testing

/// A store whose first states have an older schema. The first layouts of both schemas have the same
/// number. In the older one, the columns are in another order, and "city" is missing. Rows of that
/// layout read "Riga" as the city.
private struct TwoSchemas {
  let store: NaiveStore
  let older: StoreSchema
  let container: PersistentContainer
  /// The layout that the first rows are written in.
  private let first: RowLayout
  private let number: UInt16

  init(isJoined: Bool = false) throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Person",
        properties: [
          .string("name"), .int64("age"), .string("city"), .toOne("friend", "Person", inverse: "friends"),
          .toMany("friends", "Person", inverse: "friend"),
        ],
        indexes: [
          FetchIndexDescription(on: "name"), FetchIndexDescription(on: "age"),
          FetchIndexDescription(on: "city"),
        ])
    ])
    let newest = StoreSchema(try StoredModel.initial(for: model))
    let entity = try #require(newest.entity(named: "Person"))
    let current = try #require(entity.layouts?.current)
    let slots = entity.properties.map(\.number)
    let city = try #require(entity.slot(named: "city"))
    let standIns = slots.indices.map { $0 == city ? Value.string("Riga") : .null }
    first = RowLayout(
      number: current.number,
      columns: current.columns.filter { $0.property != slots[city] }.reversed(), slots: slots,
      standIns: standIns)
    // Unsaved rows need every column of the newest schema.
    let unsaved = RowLayout(
      number: current.number + 1, columns: current.columns, slots: slots, standIns: standIns)
    number = entity.number
    older = StoreSchema(
      entities: [
        entity.changed(
          number: entity.number, concrete: entity.concrete, properties: entity.properties,
          layouts: RowLayouts(current: unsaved, all: [first, unsaved]))
      ], indexes: newest.indexes)
    let store = NaiveStore(newest, older: older)
    self.store = store
    let factory = StoreFactory { description, _ in
      if !isJoined { return store }
      let other = NaiveStore(
        StoreSchema(
          try StoredModel.initial(
            for: ManagedObjectModel([EntityDescription("Other", properties: [.string("a")])]))))
      let members = [other, store].map {
        JoinedStore.Member($0, durability: description.durability, isReadOnly: false)
      }
      return try #require(JoinedStore(members))
    }
    container = PersistentContainer(
      name: "People", model: model, classes: [], description: .inMemory, factory: factory)
    try container.loadPersistentStores()
  }

  /// Writes persons in the first layout. The first of them is the friend of all others.
  func write(_ persons: (name: String, age: Int64)...) throws {
    let entity = older.entity(number)
    let writer = RowWriter(RowLayouts(current: first, all: [first]))
    let ids = try store.allocateIDs(entity: number, count: persons.count)
    var change = StoreChange(view: store.view(), schema: older, durability: .relaxed)
    for (id, person) in zip(ids, persons) {
      let values: [String: Value] = [
        "name": .string(person.name), "age": .integer(person.age),
        "friend": id == ids.lowerBound
          ? .null : .reference(ObjectReference(entity: number, id: ids.lowerBound)),
      ]
      change.puts.append(
        ObjectReference(entity: number, id: id),
        writer.row { .value(values[entity.properties[$0].name] ?? .null) })
    }
    _ = try store.commit(change)
  }
}

extension ManagedObjectContext {
  /// The persons that satisfy a predicate, in the order of their ages, such as "Ann 30 Riga".
  fileprivate func persons(_ format: String? = nil) throws -> [String] {
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    request.predicate = try format.map { try FetchPredicate(format: $0) }
    request.sortDescriptors = [FetchOrder("age")]
    return try fetch(request).map(\.words)
  }

  fileprivate func person(_ name: String) throws -> ManagedObject {
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    request.predicate = try FetchPredicate(format: "name == %@", name)
    return try #require(try fetch(request).first)
  }
}

extension ManagedObject {
  fileprivate var words: String {
    let parts = ["name", "age", "city"].map { value(forKey: $0).map { "\($0)" } ?? "-" }
    return parts.joined(separator: " ")
  }
}

@Suite("Rows are decoded by the schema of their view")
struct ViewSchemaTests {
  @Test(
    "One context reads a state with an older schema while another reads a state with the newest one",
    arguments: [false, true])
  fileprivate func twoStates(isJoined: Bool) throws {
    let scene = try TwoSchemas(isJoined: isJoined)
    try scene.write(("Bob", 40), ("Ann", 30), ("Cid", 50))
    let before = scene.container.newContext()
    try before.setQueryGeneration(from: .current)
    let ann = try before.person("Ann")
    try scene.store.adopt()
    let after = scene.container.newContext()
    try after.person("Ann").setValue("Oslo", forKey: "city")
    try after.save()

    #expect(ann.words == "Ann 30 Riga")
    #expect(try before.persons() == ["Ann 30 Riga", "Bob 40 Riga", "Cid 50 Riga"])
    #expect(try before.persons("city == 'Riga' AND age > 30") == ["Bob 40 Riga", "Cid 50 Riga"])
    #expect(try before.persons("friend.name == 'Bob'") == ["Ann 30 Riga", "Cid 50 Riga"])
    #expect(ann.one("friend")?.words == "Bob 40 Riga")
    #expect(try after.persons() == ["Ann 30 Oslo", "Bob 40 Riga", "Cid 50 Riga"])
    #expect(try after.persons("city == 'Riga'") == ["Bob 40 Riga", "Cid 50 Riga"])
    #expect(try after.persons("friend.name == 'Bob'") == ["Ann 30 Oslo", "Cid 50 Riga"])

    try before.setQueryGeneration(from: nil)
    before.refreshAllObjects()
    #expect(ann.words == "Ann 30 Oslo")
    #expect(try before.persons("city == 'Riga'") == ["Bob 40 Riga", "Cid 50 Riga"])
  }

  @Test("Unsaved changes over a state with an older schema are fetched, and saved with the newest schema")
  fileprivate func unsavedChanges() throws {
    let scene = try TwoSchemas()
    try scene.write(("Bob", 40), ("Ann", 30), ("Cid", 50))
    let before = scene.container.newContext()
    before.mergePolicy = .mergeByPropertyObjectTrump
    try before.setQueryGeneration(from: .current)
    try scene.store.adopt()
    let after = scene.container.newContext()
    try after.person("Ann").setValue(31, forKey: "age")
    try after.save()

    let ann = try before.person("Ann")
    ann.setValue("Oslo", forKey: "city")
    let dan = before.insertNewObject(forEntityName: "Person")
    dan.setValue("Dan", forKey: "name")
    dan.setValue(20, forKey: "age")
    #expect(try before.persons() == ["Dan 20 -", "Ann 30 Oslo", "Bob 40 Riga", "Cid 50 Riga"])
    #expect(try before.persons("city == 'Oslo'") == ["Ann 30 Oslo"])
    #expect(try before.persons("city == 'Riga'") == ["Bob 40 Riga", "Cid 50 Riga"])
    #expect(ann.committedValues(forKeys: ["city"])["city"] as? String == "Riga")
    let child = before.newChildContext()
    #expect(try child.persons() == ["Dan 20 -", "Ann 30 Oslo", "Bob 40 Riga", "Cid 50 Riga"])
    try child.person("Bob").setValue("Lima", forKey: "city")
    try child.save()
    #expect(try before.persons("city == 'Riga'") == ["Cid 50 Riga"])

    try before.setQueryGeneration(from: nil)
    try before.save()
    let stored = ["Dan 20 -", "Ann 31 Oslo", "Bob 40 Lima", "Cid 50 Riga"]
    #expect(try before.persons() == stored)
    #expect(try scene.container.newContext().persons() == stored)
  }

  @Test("An object of an older schema that another context removes shows its last values")
  fileprivate func removedObjects() throws {
    let scene = try TwoSchemas()
    try scene.write(("Bob", 40), ("Ann", 30))
    let before = scene.container.newContext()
    try before.setQueryGeneration(from: .current)
    let (ann, bob) = (try before.person("Ann"), try before.person("Bob"))
    #expect(ann.words == "Ann 30 Riga" && bob.words == "Bob 40 Riga")
    bob.setValue(41, forKey: "age")
    try scene.store.adopt()
    let after = scene.container.newContext()
    for name in ["Ann", "Bob"] { after.delete(try after.person(name)) }
    try after.save()

    try before.setQueryGeneration(from: .current)
    #expect(try before.persons("age < 40").isEmpty)
    #expect(ann.words == "Ann 30 Riga" && bob.words == "Bob 41 Riga")
  }
}
