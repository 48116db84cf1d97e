import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Entity final class KeyedCustomer: ManagedObject {
  @Attribute(.unique) var key: Int = 0
  @Attribute(.unique) var code: String?
  var name: String?
}

@Entity final class KeyedOwner: ManagedObject {
  @Attribute(.unique) var key: Int = 0
  var name: String = ""
  @Relationship(inverse: "owner", deleteRule: .cascade) var parts: ToMany<KeyedPart>
  @Relationship(inverse: "keeper", deleteRule: .deny) var kept: ToMany<KeyedPart>

  override func prepareForDeletion() { name += " prepared" }
}

@Entity final class KeyedPart: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "parts") var owner: KeyedOwner?
  @Relationship(inverse: "kept") var keeper: KeyedOwner?
  @Relationship(inverse: nil) var favourite: KeyedOwner?
  @Relationship(inverse: nil) var others: ToMany<KeyedOwner>
}

@Suite("Finding or inserting by a unique key")
struct FindOrInsertTests {
  private func context() throws -> ManagedObjectContext {
    let classes = [KeyedCustomer.self, KeyedOwner.self, KeyedPart.self]
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

  @Test("The closure is called only for an inserted object, not for one that an earlier call has inserted")
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

  /// Inserts an owner with a closure that edits it and then throws. Returns the owner, which the
  /// context must have removed.
  private func refusedOwner(
    in context: ManagedObjectContext, _ edit: (KeyedOwner) throws -> Void
  ) throws -> KeyedOwner {
    struct Refusal: Error {}
    var inserted: KeyedOwner?
    #expect(throws: Refusal.self) {
      try context.findOrInsert(KeyedOwner.self, where: \.key, equals: 7) { new in
        inserted = new
        new.name = "Ada"
        try edit(new)
        throw Refusal()
      }
    }
    let owner = try #require(inserted)
    #expect(owner.isDeleted && owner.managedObjectContext == nil && owner.name == "Ada")
    #expect(context.insertedObjects.isEmpty && context.deletedObjects.isEmpty)
    return owner
  }

  private func savedPart(in context: ManagedObjectContext) throws -> KeyedPart {
    let part = KeyedPart(context: context)
    part.name = "Wheel"
    try context.save()
    return part
  }

  @Test("If the closure throws, objects that it linked by a cascade relationship stay, without the link")
  func refusedWithCascade() throws {
    let context = try context()
    let part = try savedPart(in: context)
    _ = try refusedOwner(in: context) { $0.parts.insert(part) }
    context.processPendingChanges()
    #expect(!part.isDeleted && part.owner == nil && part.name == "Wheel")
    try context.save()
    #expect(try context.count(for: KeyedPart.fetchRequest()) == 1)
    #expect(try context.count(for: KeyedOwner.fetchRequest()) == 0)
  }

  @Test("If the closure throws, the new object is removed although a relationship denies its deletion")
  func refusedWithDeny() throws {
    let context = try context()
    let part = try savedPart(in: context)
    _ = try refusedOwner(in: context) { $0.kept.insert(part) }
    #expect(part.keeper == nil)
    try context.save()
    #expect(try context.count(for: KeyedOwner.fetchRequest()) == 0)
  }

  @Test("If the closure throws, prepareForDeletion is not called")
  func refusedWithPreparation() throws {
    let context = try context()
    let owner = try refusedOwner(in: context) { _ in }
    context.processPendingChanges()
    #expect(owner.name == "Ada")
  }

  @Test("If the closure throws, links of other objects to the new object are removed")
  func refusedWithOneWayLinks() throws {
    let context = try context()
    let part = try savedPart(in: context)
    _ = try refusedOwner(in: context) {
      part.favourite = $0
      part.others.insert($0)
    }
    #expect(part.favourite == nil && part.others.isEmpty)
    try context.save()
    #expect(part.favourite == nil && part.others.isEmpty)
  }

  @Test("If the closure saves and then throws, the saved object and its links are deleted, but no others")
  func refusedAfterSave() throws {
    struct Refusal: Error {}
    let context = try context()
    let part = try savedPart(in: context)
    #expect(throws: Refusal.self) {
      try context.findOrInsert(KeyedOwner.self, where: \.key, equals: 7) { new in
        new.parts.insert(part)
        new.kept.insert(part)
        try context.save()
        throw Refusal()
      }
    }
    try context.save()
    #expect(!part.isDeleted && part.owner == nil && part.keeper == nil)
    #expect(try context.count(for: KeyedOwner.fetchRequest()) == 0)
    #expect(try context.count(for: KeyedPart.fetchRequest()) == 1)
  }

  @Test("If the closure throws, an undo restores the links that the closure has removed from other objects")
  func refusedInUndoGroup() throws {
    let context = try context()
    let (part, before) = (try savedPart(in: context), KeyedOwner(context: context))
    part.owner = before
    try context.save()
    context.undoManager = ContextUndoManager()
    try context.undoGroup("Import") {
      _ = try refusedOwner(in: context) { $0.parts.insert(part) }
    }
    #expect(part.owner == nil)
    try context.undo()
    #expect(part.owner === before && !context.hasChanges)
  }

  @Test("Thousands of calls before a save update the context layer at most once for each edit")
  func many() throws {
    let context = try context()
    let count = LongRun.count(40_000)
    for number in 0..<count {
      let object = try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: number % (count / 2))
      object.name = "c\(number)"
    }
    // Each call updates the layer only for the object edited since the last call. A rebuild of the
    // layer updates it for all objects.
    let updateCount = try #require(context.core.reading.layerFollower.contextLayer).builder.updateCount
    #expect(updateCount > count / 2 && updateCount <= count)
    try context.save()
    #expect(try context.count(for: KeyedCustomer.fetchRequest()) == count / 2)
  }
}
