import Foundation
import Perdure
import PerdureTestSupport
import Testing

/// Behaviours M8 and 1.13 of Core Data (README.md): several stores in a container, one for each
/// configuration.
@Suite("Containers with several stores")
struct SeveralStoresTests {
  /// The error of a save.
  private func refusal(_ context: ManagedObjectContext) -> PerdureError? {
    #expect(throws: PerdureError.self) { try context.save() }
  }

  private func at(
    _ path: String, _ configuration: String?, isReadOnly: Bool = false
  ) -> PersistentStoreDescription {
    PersistentStoreDescription(
      path: path, isReadOnly: isReadOnly, configuration: configuration)
  }

  @Test("M8 Each entity is in the store of its configuration, and each store can be opened alone")
  func apart() throws {
    let directory = try TemporaryDirectory()
    let (books, notes) = (directory.file("books.perdure"), directory.file("notes.perdure"))
    let container = try Library.container(at(books, "Books"), at(notes, "Notes"))
    let context = container.newContext()
    let author = context.author("Lem")
    context.book("Solaris", pages: 204, by: author)
    let question = context.note("who?")
    context.note("he", on: question)
    try context.save()
    #expect(author.objectID.storeIdentifier == container.persistentStores[0].identifier)
    #expect(question.objectID.storeIdentifier == container.persistentStores[1].identifier)
    try container.close()
    let alone = try Library.container(at(notes, "Notes"))
    let found = try alone.newContext().fetch(LibraryNote.fetchRequest { $0.question != nil })
    #expect(found.map(\.text) == ["he"] && found.first?.question?.text == "who?")
    let error = #expect(throws: FetchError.self) { try alone.count(LibraryBook.self) }
    #expect(error?.code == .unknownEntity)
    try alone.close()
    let other = try Library.container(at(books, "Books"))
    #expect(try other.newContext().fetch(FetchRequest<LibraryBook>()).map(\.author?.name) == ["Lem"])
    try other.close()
  }

  @Test("Objects of the second store are fetched, followed, changed and deleted as in one store")
  func second() throws {
    let container = try Library.container("Books", "Notes")
    let context = container.newContext()
    let question = context.note("a")
    for text in ["d", "b", "c"] { context.note(text, on: question) }
    try context.save()
    let other = container.newContext()
    let root = try #require(try other.fetch(LibraryNote.fetchRequest { $0.text == "a" }).first)
    #expect(Set(root.answers.map(\.text)) == ["b", "c", "d"])
    var request = LibraryNote.fetchRequest { $0.question == root }
    request.sortDescriptors = [FetchOrder(\LibraryNote.text, ascending: false)]
    request.fetchLimit = 2
    #expect(try other.fetch(request).map(\.text) == ["d", "c"])
    request.fetchOffset = 1
    #expect(try other.fetch(request).map(\.text) == ["c", "b"] && other.count(for: request) == 2)
    #expect(try other.count(for: LibraryNote.fetchRequest { $0.answers.count == 3 }) == 1)
    root.answers.first { $0.text == "c" }?.question = nil
    try other.save()
    #expect(root.answers.count == 2)
    other.delete(root)
    try other.save()
    #expect(try container.count(LibraryNote.self) == 1)
  }

  @Test("A save writes to all stores, and other contexts see all changes")
  func saves() throws {
    let container = try Library.container("Books", "Notes")
    let context = container.newContext()
    let book = context.book("Solaris")
    let note = context.note("good")
    try context.save()
    #expect(!context.hasChanges && !book.objectID.isTemporaryID && !note.objectID.isTemporaryID)
    book.pages = 204
    context.delete(note)
    try context.save()
    let other = container.newContext()
    #expect(try other.fetch(FetchRequest<LibraryBook>()).map(\.pages) == [204])
    #expect(try container.count(LibraryNote.self) == 0)
  }

  @Test("A conflict in one store prevents the save in all stores, whatever the order of the stores")
  func conflicts() throws {
    let container = try Library.container("Books", "Notes")
    let (mine, theirs) = (container.newContext(), container.newContext())
    let note = mine.note("a")
    let book = mine.book("b", isbn: "1")
    try mine.save()
    theirs.refreshAllObjects()
    (try theirs.existingObject(with: note.objectID) as? LibraryNote)?.text = "theirs"
    try theirs.save()
    note.text = "mine"
    book.title = "mine"
    #expect(refusal(mine)?.code == .mergeConflict)
    #expect(try container.newContext().titles(FetchRequest()) == ["b"])
    mine.refresh(note, mergeChanges: true)
    mine.book("twin", isbn: "1")
    let error = refusal(mine)
    #expect(error?.code == .constraintConflict)
    #expect(error?.conflicts.first?.kind == .duplicate(constraint: ["isbn"], existing: book.objectID))
    #expect(try container.newContext().fetch(FetchRequest<LibraryNote>()).map(\.text) == ["theirs"])
    #expect(mine.insertedObjects.count == 1 && mine.updatedObjects.count == 2)
    mine.rollback()
    #expect(note.text == "theirs" && book.title == "b")
  }

  @Test("A violated rule in one store prevents the save in every store")
  func validation() throws {
    let model = try ManagedObjectModel(
      [
        EntityDescription("A", properties: [.string("x", optional: false)]),
        EntityDescription("B", properties: [.string("x", optional: false)]),
      ], configurations: ["a": ["A"], "b": ["B"]])
    let container = PersistentContainer(
      name: "C", model: model, storeDescriptions: [Library.memory("a"), Library.memory("b")])
    try container.loadPersistentStores()
    let context = container.newContext()
    context.insertNewObject(forEntityName: "A")["x"] = "here"
    context.insertNewObject(forEntityName: "B")
    #expect(refusals(context) == ["1570 x"])
    let request = FetchRequest<ManagedObject>(entityName: "A")
    #expect(try container.newContext().count(for: request) == 0)
  }

  @Test("Composite attributes of the second store are found and sorted by their paths")
  func composites() throws {
    let model = try ManagedObjectModel(
      [
        EntityDescription("A", properties: [.string("x")]),
        EntityDescription(
          "B", properties: [.string("x"), .composite("place", [.string("town"), .int64("code")])]),
      ], configurations: ["a": ["A"], "b": ["B"]])
    let container = PersistentContainer(
      name: "C", model: model, storeDescriptions: [Library.memory("a"), Library.memory("b")])
    try container.loadPersistentStores()
    let context = container.newContext()
    for (code, town) in ["Ulm", "Bonn", "Aachen"].enumerated() {
      let object = context.insertNewObject(forEntityName: "B")
      object.setValue(["town": town, "code": Int64(code)], forKey: "place")
    }
    try context.save()
    let request = FetchRequest<ManagedObject>(
      entityName: "B", predicate: try FetchPredicate(format: "place.code < 2"),
      sortDescriptors: [FetchOrder("place.town")])
    let found = try container.newContext().fetch(request)
    #expect(found.map { $0.value(forKeyPath: "place.town") as? String } == ["Bonn", "Ulm"])
  }

  @Test("The URI of an id identifies its store until the store is removed")
  func identities() throws {
    let container = try Library.container("Books", "Notes")
    let context = container.newContext()
    let (book, note) = (context.book("b"), context.note("n"))
    try context.save()
    for object in [book, note] as [ManagedObject] {
      let id = try #require(container.managedObjectID(forURI: object.objectID.uri))
      #expect(id == object.objectID)
      #expect(try context.existingObject(with: id) === object)
    }
    let notes = container.persistentStores[1]
    try container.removePersistentStore(notes)
    #expect(container.managedObjectID(forURI: note.objectID.uri) == nil)
    #expect(container.managedObjectID(forURI: book.objectID.uri) == book.objectID)
    let error = #expect(throws: PerdureError.self) {
      try container.newContext().existingObject(with: note.objectID)
    }
    #expect(error?.code == .unknownObjectID)
  }

  @Test("A store can be added to an open container, and new contexts use the store")
  func adding() throws {
    let container = try Library.container("Books")
    let before = container.newContext()
    before.book("b")
    let error = #expect(throws: FetchError.self) { try before.fetch(FetchRequest<LibraryNote>()) }
    #expect(error?.code == .unknownEntity)
    let added = try container.addPersistentStore(Library.memory("Notes"))
    #expect(container.persistentStores.count == 2 && container.persistentStores[1] == added)
    #expect(added.configurationName == "Notes" && !added.isReadOnly && added.url == nil)
    let context = container.newContext()
    context.note("n")
    try context.save()
    try before.save()
    #expect(try container.count(LibraryNote.self) == 1 && container.count(LibraryBook.self) == 1)
  }

  @Test(
    "An earlier context reads the old state of a removed store and cannot save changes there"
  )
  func removing() throws {
    let container = try Library.container("Books", "Notes")
    let context = container.newContext()
    let (book, note) = (context.book("b"), context.note("n"))
    try context.save()
    let notes = container.persistentStores[1]
    try container.removePersistentStore(notes)
    #expect(container.persistentStores.map(\.configurationName) == ["Books"])
    #expect(note.text == "n")
    note.text = "changed"
    book.title = "changed"
    let error = refusal(context)
    #expect(error?.code == .saveFailed && error?.savedStoreIdentifiers == [])
    #expect(try container.newContext().titles(FetchRequest()) == ["b"])
    context.refresh(note, mergeChanges: false)
    try context.save()
    #expect(try container.newContext().titles(FetchRequest()) == ["changed"])
    let again = #expect(throws: PerdureError.self) { try container.removePersistentStore(notes) }
    #expect(again?.code == .storeOperation && again?.code.rawValue == 134_070)
    let gone = #expect(throws: FetchError.self) { try container.count(LibraryNote.self) }
    #expect(gone?.code == .unknownEntity)
  }

  @Test("A save with an object of a read-only store saves nothing, and the error names the object")
  func readOnly() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("books.perdure")
    let first = try Library.container(at(path, "Books"))
    let maker = first.newContext()
    maker.book("b")
    try maker.save()
    try first.close()
    let container = try Library.container(at(path, "Books", isReadOnly: true), Library.memory("Notes"))
    #expect(container.persistentStores.map(\.isReadOnly) == [true, false])
    let context = container.newContext()
    context.note("n")
    try context.save()
    let book = try #require(try context.fetch(FetchRequest<LibraryBook>()).first)
    book.title = "changed"
    context.note("m")
    let error = refusal(context)
    #expect(error?.code == .saveFailed && error?.objectIDs == [book.objectID])
    #expect(try container.count(LibraryNote.self) == 1)
    context.refresh(book, mergeChanges: false)
    try context.save()
    #expect(try container.count(LibraryNote.self) == 2)
    try container.close()
  }

  @Test("M8 Loading an unknown configuration fails with 134020, and no store stays open")
  func unknown() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("notes.perdure")
    let error = #expect(throws: PerdureError.self) {
      try Library.container(at(path, "Notes"), Library.memory("Maps"))
    }
    #expect(error?.code == .incompatibleSchema && error?.code.rawValue == 134_020)
    // The failed loading has closed the first store. Otherwise this call fails.
    try Library.container(at(path, "Notes")).close()
  }

  @Test("M8 Loading fails if a relationship leads from a configuration to an entity outside it")
  func crossing() throws {
    let error = #expect(throws: PerdureError.self) { try Library.container("Authors", "Notes") }
    #expect(error?.code == .openFailed && error?.description.contains("lead out of it") == true)
  }

  @Test("A container does not open a store twice, or together with its copy")
  func twins() throws {
    let directory = try TemporaryDirectory()
    let (path, copy) = (directory.file("a.perdure"), directory.file("b.perdure"))
    try Library.container(at(path, nil)).close()
    try PersistentContainer.copyPersistentStore(at: path, to: copy)
    for place in [path, copy] {
      let error = #expect(throws: PerdureError.self) {
        try Library.container(at(path, nil), at(place, nil))
      }
      #expect(error?.code == .openFailed)
    }
    try Library.container(at(path, nil)).close()
  }

  @Test("Loading with a handler reports the result for each store and keeps open stores")
  func handler() throws {
    let container = PersistentContainer(
      name: "Library", model: try Library.model(), classes: Library.classes,
      storeDescriptions: [Library.memory("Books"), Library.memory("Maps"), Library.memory("Notes")])
    var outcomes: [Int?] = []
    container.loadPersistentStores { outcomes.append($1?.code.rawValue) }
    #expect(outcomes == [nil, 134_020, nil])
    #expect(container.persistentStores.map(\.configurationName) == ["Books", "Notes"])
    let open = container.persistentStores
    container.loadPersistentStores { outcomes.append($1?.code.rawValue) }
    #expect(outcomes == [nil, 134_020, nil, nil, 134_020, nil] && container.persistentStores == open)
    let error = #expect(throws: PerdureError.self) { try container.loadPersistentStores() }
    #expect(error?.code == .incompatibleSchema && container.persistentStores == open)
  }

  @Test("A store that was removed can be loaded again while others are open")
  func again() throws {
    let container = try Library.container("Books", "Notes")
    let books = container.persistentStores[0]
    try container.removePersistentStore(books)
    try container.loadPersistentStores()
    #expect(container.persistentStores.map(\.configurationName) == ["Notes", "Books"])
    for store in container.persistentStores { try container.removePersistentStore(store) }
    #expect(container.persistentStores == [])
    try container.addPersistentStore(Library.memory("Notes"))
    #expect(try container.count(LibraryNote.self) == 0)
  }

  @Test("Each store has its own metadata")
  func metadata() throws {
    let container = try Library.container("Books", "Notes")
    let stores = container.persistentStores
    try container.setPersistentStoreMetadata(["k": "v"], of: stores[1])
    #expect(try container.persistentStoreMetadata().userInfo == [:])
    let notes = try container.persistentStoreMetadata(of: stores[1])
    #expect(notes.userInfo == ["k": "v"] && notes.storeIdentifier == stores[1].identifier)
    #expect(notes.model.entities.map(\.name) == ["LibraryNote"])
  }
}
