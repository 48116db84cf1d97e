import Perdure
import Testing

// Behaviours X1, X3, X4, X12, Q5 and Q6 of Core Data (README.md): contexts, prefetching and fetch
// batches.

@Entity private final class Shelf: ManagedObject {
  var label: String?
  @Relationship(inverse: "shelf") var jars: ToMany<Jar>
}

@Entity private final class Jar: ManagedObject {
  var content: String?
  var grams: Int = 0
  @Relationship(inverse: "jars") var shelf: Shelf?
}

@Suite("Parity with Core Data: contexts")
struct ContextParityTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try Sandbox(Shelf.self, Jar.self).container
    context = container.newContext()
  }

  private func jar(_ content: String) throws -> Jar {
    let jar = Jar(context: context)
    jar.content = content
    try context.save()
    return jar
  }

  @Test("X1 object(with:) returns the registered instance, or a fault without a store request")
  func objectWithID() throws {
    let jar = try jar("salt")
    #expect(context.object(with: jar.objectID) === jar)
    let other = container.newContext()
    let same = other.object(with: jar.objectID)
    #expect(same.isFault && other.statistics == ContextStatistics())
    #expect(same.value(forKey: "content") as? String == "salt" && other.statistics.rowRequestCount == 1)
  }

  @Test("X3 existingObject(with:) reads the store, and registeredObject(for:) does not")
  func existing() throws {
    let jar = try jar("salt")
    let other = container.newContext()
    #expect(other.registeredObject(for: jar.objectID) == nil)
    let same = try other.existingObject(with: jar.objectID)
    #expect(!same.isFault && other.registeredObject(for: jar.objectID) === same)
    context.delete(jar)
    try context.save()
    let error = #expect(throws: PerdureError.self) {
      try container.newContext().existingObject(with: jar.objectID)
    }
    #expect(error?.code == .objectNotFound)
  }

  @Test("X1 Ids are permanent before the save if requested")
  func permanentIDs() throws {
    let (first, second) = (Jar(context: context), Jar(context: context))
    #expect(first.objectID.isTemporaryID)
    let temporary = first.objectID
    try context.obtainPermanentIDs(for: [first])
    #expect(!first.objectID.isTemporaryID && first.objectID == temporary && second.objectID.isTemporaryID)
    #expect(first.isInserted && context.insertedObjects == [first, second])
    let saved = Jar(context: context)
    try context.save()
    try context.obtainPermanentIDs(for: [saved])
    #expect(try container.newContext().existingObject(with: temporary).objectID == first.objectID)
    let error = #expect(throws: PerdureError.self) {
      try container.newContext().obtainPermanentIDs(for: [first])
    }
    #expect(error?.code == .unknownObjectID && error?.objectIDs == [first.objectID])
  }

  @Test("X1 An object whose id is permanent cannot be assigned to another store")
  func permanentAndAssigned() throws {
    let container = try Library.container("Books", "Archive")
    let context = container.newContext()
    let book = context.book("b")
    try context.obtainPermanentIDs(for: [book])
    let error = #expect(throws: PerdureError.self) {
      try context.assign(book, to: container.persistentStores[1])
    }
    #expect(error?.code == .storeOperation)
    try context.assign(book, to: container.persistentStores[0])
  }

  @Test("X1 Registered objects are retained only on request")
  func retaining() throws {
    let ids = try (0..<5).map { try jar("\($0)").objectID }
    let other = container.newContext()
    #expect(!other.retainsRegisteredObjects)
    for id in ids { _ = other.object(with: id) }
    #expect(other.registeredObjects.isEmpty)
    other.retainsRegisteredObjects = true
    weak let kept = other.object(with: ids[0])
    for object in try other.fetch(FetchRequest<Jar>()) { _ = object.content }
    #expect(other.registeredObjects.count == 5 && kept != nil)
    other.delete(other.object(with: ids[1]))
    try other.save()
    #expect(other.registeredObjects.count == 4)
    other.reset()
    #expect(other.registeredObjects.isEmpty && kept == nil && other.retainsRegisteredObjects)
    weak let again = other.object(with: ids[2])
    #expect(again != nil)
    other.retainsRegisteredObjects = false
    #expect(again == nil && other.registeredObjects.isEmpty)
  }

  @Test("X1 Objects that a context retains are freed with the context")
  func retainingContext() throws {
    let id = try jar("a").objectID
    weak var kept: ManagedObject?
    do {
      let other = container.newContext()
      other.retainsRegisteredObjects = true
      kept = other.object(with: id)
      #expect(kept?.value(forKey: "content") as? String == "a")
    }
    #expect(kept == nil)
  }

  @Test(
    "X4 A fault whose row was removed counts as deleted, or fails fetches and saves if the context is set so")
  func inaccessibleFaults() throws {
    let (jar, kept) = (try jar("salt"), try jar("rye"))
    let readers = [container.newContext(), container.newContext()]
    #expect(readers.allSatisfy { $0.shouldDeleteInaccessibleFaults })
    readers[1].shouldDeleteInaccessibleFaults = false
    let faults = readers.map { $0.object(with: jar.objectID) }
    context.delete(jar)
    try context.save()
    for reader in readers { reader.refreshAllObjects() }
    #expect(faults.allSatisfy { $0.value(forKey: "content") == nil })
    #expect(faults[0].isDeleted && !faults[1].isDeleted)
    #expect(try readers[0].fetch(FetchRequest<Jar>()).count == 1)
    let error = #expect(throws: PerdureError.self) { try readers[1].fetch(FetchRequest<Jar>()) }
    #expect(error?.code == .objectNotFound && error?.objectIDs == [jar.objectID])
    readers[1].object(with: kept.objectID).setValue("x", forKey: "content")
    #expect(throws: PerdureError.self) { try readers[1].save() }
    readers[1].rollback()
    #expect(try readers[1].fetch(FetchRequest<Jar>()).count == 1)
    let looked = #expect(throws: PerdureError.self) { try readers[1].existingObject(with: jar.objectID) }
    #expect(looked?.code == .objectNotFound)
    #expect(try readers[1].count(for: FetchRequest<Jar>()) == 1)
  }

  @Test("X12 refreshAllObjects keeps changes, and unchanged objects become faults")
  func refreshAll() throws {
    let (changed, clean) = (try jar("a"), try jar("b"))
    changed.content = "mine"
    let other = container.newContext()
    other.object(with: clean.objectID).setValue("theirs", forKey: "content")
    try other.save()
    context.refreshAllObjects()
    #expect(clean.isFault && clean.content == "theirs" && changed.content == "mine" && changed.hasChanges)
  }

  @Test("X12 reset discards all objects, and retained objects belong to no context")
  func reset() throws {
    let jar = try jar("a")
    jar.content = "changed"
    let new = Jar(context: context)
    context.reset()
    #expect(!context.hasChanges && context.registeredObjects.isEmpty)
    #expect(jar.managedObjectContext == nil && new.managedObjectContext == nil)
    #expect(context.object(with: jar.objectID) !== jar)
    #expect(context.object(with: jar.objectID).value(forKey: "content") as? String == "a")
  }

  @Test("X12 rollback discards inserted objects and changes")
  func rollback() throws {
    let (jar, shelf) = (try jar("a"), Shelf(context: context))
    jar.shelf = shelf
    jar.grams = 8
    context.rollback()
    #expect(jar.shelf == nil && jar.grams == 0 && !context.hasChanges && shelf.managedObjectContext == nil)
  }

  @Test("Q6 Prefetched relationships are read without a store request")
  func prefetching() throws {
    let shelf = Shelf(context: context)
    shelf.label = "top"
    for content in ["a", "b", "c"] { try jar(content).shelf = shelf }
    try context.save()
    let other = container.newContext()
    var request = FetchRequest<Shelf>()
    request.prefetch { $0.jars }
    let fetched = try other.fetch(request)
    let before = other.statistics
    #expect(Set(fetched.flatMap { $0.jars.compactMap(\.content) }) == ["a", "b", "c"])
    #expect(other.statistics == before)
  }

  @Test("Q5 fetchBatchSize returns faults and reads their rows in batches")
  func batches() throws {
    for number in 0..<10 { Jar(context: context).grams = number }
    try context.save()
    let other = container.newContext()
    var request = FetchRequest<Jar>(sortDescriptors: [FetchOrder(\Jar.grams)])
    request.fetchBatchSize = 4
    let jars = try other.fetch(request)
    #expect(jars.allSatisfy { $0.isFault })
    #expect(jars[5].grams == 5 && jars.map(\.isFault) == (0..<10).map { $0 / 4 != 1 })
    #expect(jars.map(\.grams) == Array(0..<10) && other.statistics.rowRequestCount == 3)
  }
}
