import Foundation
import Perdure
import PerdureTestSupport
import Testing

/// Several stores, with a read-only or removed store, a missing id, or a relationship without an
/// inverse.
@Suite("Edge cases of several stores")
struct SeveralStoresEdgeTests {
  private func refusal(_ context: ManagedObjectContext) -> PerdureError? {
    #expect(throws: PerdureError.self) { try context.save() }
  }

  /// Saves an author and a book in each of two stores.
  private func pairs() throws -> (context: ManagedObjectContext, authors: [LibraryAuthor]) {
    let container = try Library.container("Books", "Archive")
    let context = container.newContext()
    var authors: [LibraryAuthor] = []
    for (store, names) in zip(container.persistentStores, [("b", "1"), ("c", "2")]) {
      let (author, book) = (context.author(names.0), context.book(names.1))
      try context.assign(author, to: store)
      try context.assign(book, to: store)
      book.author = author
      authors.append(author)
    }
    try context.save()
    return (context, authors)
  }

  @Test(
    "If an order depends on unsaved changes of other objects, all stores are sorted before limit and offset")
  func order() throws {
    let (context, authors) = try pairs()
    authors[0].name = "z"
    var request = FetchRequest<LibraryBook>()
    request.sortDescriptors = [FetchOrder("author.name")]
    #expect(try context.titles(request) == ["2", "1"])
    request.fetchLimit = 1
    #expect(try context.titles(request) == ["2"])
    request.fetchOffset = 1
    #expect(try context.titles(request) == ["1"])
    request = FetchRequest()
    request.sortDescriptors = [FetchOrder("author.name", ascending: false)]
    #expect(try context.titles(request) == ["1", "2"])
  }

  @Test(
    "A save with objects for a read-only store fails, and succeeds after these objects are removed"
  )
  func insertingForReading() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("books.perdure")
    try Library.container(PersistentStoreDescription(path: path, configuration: "Books")).close()
    let container = try Library.container(
      PersistentStoreDescription(path: path, isReadOnly: true, configuration: "Books"),
      Library.memory("Notes"))
    let context = container.newContext()
    context.note("n")
    let book = context.book("x")
    let error = refusal(context)
    #expect(error?.code == .saveFailed && error?.objectIDs == [book.objectID])
    #expect(try context.fetch(FetchRequest<LibraryNote>()).map(\.text) == ["n"])
    #expect(try context.titles(FetchRequest()) == ["x"])
    try context.validate()
    context.delete(book)
    try context.save()
    #expect(try container.count(LibraryNote.self) == 1 && container.count(LibraryBook.self) == 0)
    try container.close()
  }

  @Test("A save with objects for a removed store fails, and succeeds after these objects are removed")
  func insertingForRemoved() throws {
    let container = try Library.container("Books", "Notes")
    let context = container.newContext()
    try container.removePersistentStore(container.persistentStores[1])
    context.book("b")
    let note = context.note("n")
    let error = refusal(context)
    #expect(error?.code == .saveFailed && error?.objectIDs == [note.objectID] && error?.cause != nil)
    #expect(try context.titles(FetchRequest()) == ["b"])
    context.delete(note)
    try context.save()
    #expect(try container.count(LibraryBook.self) == 1)
  }

  @Test("An object that is assigned to another store keeps its changes in the current event")
  func eventOfAssigned() throws {
    let container = try Library.container("Books", "Archive")
    let context = container.newContext()
    let book = context.book("b", pages: 1)
    context.processPendingChanges()
    book.pages = 2
    try context.assign(book, to: container.persistentStores[1])
    #expect(book.changedValuesForCurrentEvent().keys.sorted() == ["pages"])
    #expect(book.changedValuesForCurrentEvent()["pages"] as? Int == 1)
    context.processPendingChanges()
    try context.assign(book, to: container.persistentStores[0])
    #expect(book.changedValuesForCurrentEvent().isEmpty)
    book.pages = 3
    #expect(book.changedValuesForCurrentEvent()["pages"] as? Int == 2)
  }

  @Test("An object with a one-way link cannot be assigned to another store")
  func oneWay() throws {
    let model = try ManagedObjectModel(
      [EntityDescription("B", properties: [.toOne("friend", "B"), .toMany("others", "B")])],
      configurations: ["one": ["B"], "two": ["B"]])
    let container = PersistentContainer(
      name: "C", model: model, storeDescriptions: [Library.memory("one"), Library.memory("two")])
    try container.loadPersistentStores()
    let second = container.persistentStores[1]
    let context = container.newContext()
    let objects = (0..<4).map { _ in context.insertNewObject(forEntityName: "B") }
    objects[0]["friend"] = objects[1]
    objects[0].mutableSetValue(forKey: "others").insert(objects[2])
    for object in objects[..<3] {
      let error = #expect(throws: PerdureError.self) { try context.assign(object, to: second) }
      #expect(error?.code.rawValue == 134_070)
    }
    #expect(objects[0]["friend"] as? ManagedObject === objects[1])
    try context.assign(objects[3], to: second)
    objects[0]["friend"] = nil
    try context.assign(objects[1], to: second)
    try context.save()
    #expect(objects[1].objectID.storeIdentifier == second.identifier)
  }

  @Test("An object stays in its store if it is assigned to a removed store")
  func withoutID() throws {
    let container = try Library.container("Books", "Archive")
    let stores = container.persistentStores
    let context = container.newContext()
    let book = context.book("b")
    try container.removePersistentStore(stores[1])
    let error = #expect(throws: PerdureError.self) { try context.assign(book, to: stores[1]) }
    #expect(error?.code.rawValue == 134_070 && error?.cause != nil)
    #expect(book.objectID.storeIdentifier == stores[0].identifier && book.title == "b")
    try context.save()
    #expect(try container.count(LibraryBook.self) == 1)
  }

  private func unloaded(_ configurations: String...) throws -> PersistentContainer {
    PersistentContainer(
      name: "Library", model: try Library.model(), classes: Library.classes,
      storeDescriptions: configurations.map(Library.memory))
  }

  @Test("A second load inside the handler of a load opens no store twice")
  func loadingInHandler() throws {
    let container = try unloaded("Books", "Notes", "Archive")
    var calls = 0
    container.loadPersistentStores { _, error in
      calls += 1
      #expect(error == nil)
      #expect(throws: Never.self) { try container.loadPersistentStores() }
    }
    #expect(calls == 3 && container.persistentStores.count == 3)
  }

  @Test("All stores are open at the first call of the handler")
  func contextsInHandler() throws {
    let container = try unloaded("Books", "Notes")
    var contexts: [ManagedObjectContext] = []
    container.loadPersistentStores { _, _ in contexts.append(container.newContext()) }
    #expect(contexts.count == 2)
    for context in contexts { #expect(try context.count(for: FetchRequest<LibraryNote>()) == 0) }
  }

  @MainActor
  @Test("Pending changes of the view context can be saved after a store is added or removed")
  func viewContext() throws {
    let container = try Library.container("Books")
    container.viewContext.book("b")
    try container.addPersistentStore(Library.memory("Notes"))
    try container.viewContext.save()
    #expect(try container.count(LibraryBook.self) == 1)
    container.viewContext.note("n")
    try container.removePersistentStore(container.persistentStores[0])
    try container.viewContext.save()
    #expect(try container.count(LibraryNote.self) == 1)
    let error = #expect(throws: FetchError.self) { try container.viewContext.titles(FetchRequest()) }
    #expect(error?.code == .unknownEntity)
  }
}
