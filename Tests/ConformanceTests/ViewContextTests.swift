import Perdure
import Testing

@Suite("The view context when stores are added or opened again")
@MainActor
struct ViewContextTests {
  @Test("A new view context has the settings and observers of the previous view context")
  func settings() throws {
    let container = try Library.container("Books")
    let before = container.viewContext
    before.mergePolicy = .mergeByPropertyObjectTrump
    before.automaticallyMergesChangesFromParent = true
    before.retainsRegisteredObjects = true
    before.shouldDeleteInaccessibleFaults = false
    var told: [ContextEventKind] = []
    let observation = before.observe { told.append($0.kind) }
    try container.addPersistentStore(Library.memory("Notes"))
    let after = container.viewContext
    #expect(after !== before && container.viewContext === after)
    func check(_ context: ManagedObjectContext) {
      #expect(context.automaticallyMergesChangesFromParent && context.retainsRegisteredObjects)
      #expect(!context.shouldDeleteInaccessibleFaults)
    }
    check(after)
    after.book("one", isbn: "1")
    try after.save()
    #expect(told.last == .didSave)
    after.book("two", isbn: "1")
    try after.save()
    #expect(try after.titles(FetchRequest()) == ["two"])
    let other = container.newContext()
    other.note("note")
    try other.save()
    #expect(try after.count(for: LibraryNote.fetchRequest()) == 1)
    try container.close()
    try container.loadPersistentStores()
    let reopened = container.viewContext
    #expect(reopened !== after)
    check(reopened)
    told = []
    reopened.book("three", isbn: "3")
    try reopened.save()
    #expect(told.contains(.didSave))
    reopened.book("again", isbn: "3")
    try reopened.save()
    #expect(try reopened.titles(FetchRequest { $0.isbn == "3" }) == ["again"])
    observation.cancel()
    told = []
    reopened.book("four", isbn: "4")
    try reopened.save()
    #expect(told.isEmpty)
  }

  @Test("A sequence of the view context's events continues after a store is added")
  func sequence() async throws {
    let container = try Library.container("Books")
    let events = container.viewContext.events()
    try container.addPersistentStore(Library.memory("Notes"))
    let after = container.viewContext
    let note = after.note("note")
    try after.save()
    let id = note.objectID
    for await event in events where event.kind == .didSave {
      #expect(event.insertedObjectIDs == [id])
      break
    }
  }

  @Test("After the last store is removed, the view context can still read its state, but refuses saves")
  func withoutStore() throws {
    let container = try Library.container("Books")
    let before = container.viewContext
    before.book("one")
    try before.save()
    before.book("two")
    try container.removePersistentStore(try #require(container.persistentStores.first))
    let error = #expect(throws: PerdureError.self) { try before.save() }
    #expect(error?.code == .saveFailed && before.hasChanges)
    #expect(container.viewContext === before)
    #expect(try before.titles(FetchRequest()).compactMap { $0 }.sorted() == ["one", "two"])
    try container.addPersistentStore(Library.memory("Books"))
    let after = container.viewContext
    after.book("three")
    try after.save()
    #expect(after !== before)
    #expect(try after.titles(FetchRequest()) == ["three"])
  }
}
