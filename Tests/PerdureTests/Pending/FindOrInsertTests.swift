import PerdureModel
import PerdurePredicates
import Testing

@testable import Perdure

@Entity final class KeyedCustomer: ManagedObject {
  @Attribute(.unique) var key: Int = 0
  @Attribute(.unique) var code: String?
  var name: String?
}

@Suite("Finding or inserting by a unique key")
struct FindOrInsertTests {
  private func context() throws -> ManagedObjectContext {
    let classes = [KeyedCustomer.self]
    let container = PersistentContainer(
      name: "Keys", model: try ManagedObjectModel(classes.map { EntityDescription(from: $0) }),
      classes: classes, description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("An object is inserted once, and found before and after a save")
  func once() throws {
    let context = try context()
    let ada = try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 7)
    #expect(ada.key == 7 && ada.isInserted)
    #expect(try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 7) === ada)
    ada.code = "a"
    #expect(try context.findOrInsert(KeyedCustomer.self, where: \.code, equals: "a") === ada)
    try context.save()
    #expect(try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 7) === ada)
    #expect(try context.count(for: KeyedCustomer.fetchRequest()) == 1)
  }

  @Test("After its key is changed, an object is found only by the new key; a deleted object is not found")
  func changed() throws {
    let context = try context()
    let ada = try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 7)
    try context.save()
    ada.key = 8
    #expect(try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 8) === ada)
    let other = try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 7)
    #expect(other !== ada && other.isInserted)
    context.delete(other)
    #expect(try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 7) !== other)
  }

  @Test("An attribute that is not unique is refused, and nothing is inserted")
  func notUnique() throws {
    let context = try context()
    let error = #expect(throws: FetchError.self) {
      try context.findOrInsert(KeyedCustomer.self, where: \.name, equals: "Ada")
    }
    #expect(error?.code == .notUnique && error?.key == "name")
    #expect(!context.hasChanges)
  }

  @Test("The closure is called for a new object only, also if an earlier call has inserted an object")
  func initialization() throws {
    let context = try context()
    var names: [String?] = []
    for key in [7, 8, 7, 8] {
      let customer = try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: key) { new in
        #expect(new.key == key && new.isInserted)
        new.name = "n\(key)"
        names.append(new.name)
      }
      #expect(customer.isInserted && customer.name == "n\(key)")
    }
    #expect(names == ["n7", "n8"])
    try context.save()
    let code = try context.findOrInsert(KeyedCustomer.self, where: \.code, equals: "a") { $0.key = 9 }
    #expect(code.code == "a" && code.key == 9)
    #expect(try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 9) === code)
  }

  @Test("If the closure throws, no object is inserted, and the next call calls its closure again")
  func refusedInitialization() throws {
    struct Refusal: Error {}
    let context = try context()
    #expect(throws: Refusal.self) {
      try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 7) { _ in throw Refusal() }
    }
    #expect(try context.count(for: KeyedCustomer.fetchRequest()) == 0)
    let ada = try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 7) { $0.name = "Ada" }
    #expect(ada.name == "Ada")
    try context.save()
    #expect(try context.count(for: KeyedCustomer.fetchRequest()) == 1)
  }

  @Test("40,000 calls before a save update the context layer at most once for each edit")
  func many() throws {
    let context = try context()
    let count = 40_000
    for number in 0..<count {
      let object = try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: number % (count / 2))
      object.name = "c\(number)"
    }
    // Each call updates the layer only for the object edited since the last call. A rebuild of the
    // layer would update it for all objects.
    let updateCount = try #require(context.core.reading.layerFollower.contextLayer).builder.updateCount
    #expect(updateCount > count / 2 && updateCount <= count)
    try context.save()
    #expect(try context.count(for: KeyedCustomer.fetchRequest()) == count / 2)
  }
}
