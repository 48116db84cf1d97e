import Foundation
import Perdure
import PerdureTestSupport
import Testing

/// Behaviours 1.13 and Q16 of Core Data (README.md): entities that are in several stores.
@Suite("Entities in several stores")
struct SpreadEntityTests {
  /// Two stores of books. The first store has the titles `left`, and the second store has the
  /// titles `right`.
  private func shelves(
    _ left: [String], _ right: [String]
  ) throws -> (container: PersistentContainer, context: ManagedObjectContext) {
    let container = try Library.container("Books", "Archive")
    let context = container.newContext()
    for title in left { context.book(title, pages: Int64(title.count)) }
    for title in right {
      let book = context.book(title, pages: Int64(title.count))
      try context.assign(book, to: container.persistentStores[1])
    }
    try context.save()
    return (container, container.newContext())
  }

  private func sorted(
    limit: Int = 0, offset: Int = 0, ascending: Bool = true
  ) -> FetchRequest<LibraryBook> {
    var request = FetchRequest<LibraryBook>()
    request.sortDescriptors = [FetchOrder(\LibraryBook.title, ascending: ascending)]
    (request.fetchLimit, request.fetchOffset) = (limit, offset)
    return request
  }

  @Test("A new object goes into the first store with its entity, unless assigned to another store")
  func assigning() throws {
    let container = try Library.container("Books", "Archive")
    let stores = container.persistentStores
    let context = container.newContext()
    let (first, second) = (context.book("a"), context.book("b", pages: 7))
    #expect(second.objectID.storeIdentifier == stores[0].identifier)
    let held: Set<ManagedObject> = [second]
    try context.assign(second, to: stores[1])
    #expect(held.contains(second) && context.insertedObjects == [first, second])
    #expect(second.objectID.storeIdentifier == stores[1].identifier && second.objectID.isTemporaryID)
    #expect(second.title == "b" && second.pages == 7)
    try context.save()
    #expect(second.title == "b" && second.objectID.storeIdentifier == stores[1].identifier)
    let other = container.newContext()
    #expect((try other.existingObject(with: second.objectID) as? LibraryBook)?.pages == 7)
    #expect(Set(try other.titles(FetchRequest())) == ["a", "b"])
  }

  @Test("Only a new object without links can be assigned, and only to a store with its entity")
  func assignable() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("archive.perdure")
    try Library.container(PersistentStoreDescription(path: path, configuration: "Archive")).close()
    let container = try Library.container(
      Library.memory("Books"), Library.memory("Notes"),
      PersistentStoreDescription(path: path, isReadOnly: true, configuration: "Archive"))
    let stores = container.persistentStores
    let context = container.newContext()
    func code(_ object: ManagedObject, _ store: LoadedStore) -> Int? {
      #expect(throws: PerdureError.self) { try context.assign(object, to: store) }?.code.rawValue
    }
    let book = context.book("b")
    #expect(code(book, stores[1]) == 134_020)
    #expect(code(book, stores[2]) == 134_070)
    try context.assign(book, to: stores[0])
    let elsewhere = try Library.container("Books").persistentStores[0]
    #expect(code(book, elsewhere) == 134_070)
    let author = context.author("a")
    author.addToBooks(book)
    #expect(code(author, stores[2]) == 134_070 && code(book, stores[2]) == 134_070)
    try context.save()
    #expect(code(book, stores[2]) == 134_070)
    try container.close()
  }

  @Test("Q16 Sorted results of all stores are merged in one order, with limits and offsets")
  func order() throws {
    let (_, context) = try shelves(["b", "d", "f", "h"], ["a", "c", "d", "g"])
    #expect(try context.titles(sorted()) == ["a", "b", "c", "d", "d", "f", "g", "h"])
    #expect(try context.titles(sorted(limit: 3)) == ["a", "b", "c"])
    #expect(try context.titles(sorted(limit: 4, offset: 3)) == ["d", "d", "f", "g"])
    #expect(try context.titles(sorted(offset: 6)) == ["g", "h"])
    #expect(try context.titles(sorted(limit: 2, ascending: false)) == ["h", "g"])
    #expect(try context.titles(sorted(offset: 9)) == [])
    #expect(try context.titles(sorted(limit: .max, offset: 7)) == ["h"])
  }

  @Test("Counts, ids and windows without an order cover all stores")
  func counts() throws {
    let (_, context) = try shelves(["b", "dd"], ["a", "cc", "e"])
    #expect(try context.count(for: FetchRequest<LibraryBook>()) == 5)
    #expect(try context.count(for: LibraryBook.fetchRequest { $0.pages == 2 }) == 2)
    #expect(try context.count(for: sorted(limit: 2)) == 2 && context.count(for: sorted(offset: 4)) == 1)
    #expect(try context.count(for: sorted(limit: 3, offset: 3)) == 2)
    var request = FetchRequest<LibraryBook>()
    let all = try context.fetchIDs(request)
    #expect(Set(all).count == 5 && Set(all.map(\.storeIdentifier)).count == 2)
    (request.fetchLimit, request.fetchOffset) = (2, 1)
    #expect(try context.fetchIDs(request) == Array(all[1..<3]))
    (request.fetchLimit, request.fetchOffset) = (0, 3)
    #expect(try context.fetchIDs(request) == Array(all[3...]))
  }

  @Test("Unsaved changes apply in every store before limit and offset")
  func pending() throws {
    let (container, context) = try shelves(["b", "d"], ["a", "c"])
    let a = try #require(try context.fetch(LibraryBook.fetchRequest { $0.title == "a" }).first)
    a.title = "z"
    let new = context.book("bb")
    try context.assign(new, to: container.persistentStores[1])
    let d = try #require(try context.fetch(LibraryBook.fetchRequest { $0.title == "d" }).first)
    context.delete(d)
    #expect(try context.titles(sorted(limit: 3)) == ["b", "bb", "c"])
    #expect(try context.count(for: FetchRequest<LibraryBook>()) == 4)
    var saved = sorted()
    saved.includesPendingChanges = false
    #expect(try context.fetchIDs(saved).count == 4)
  }

  @Test("Q16 A request may select stores of its container, but no other stores")
  func affected() throws {
    let (container, context) = try shelves(["b", "d"], ["a", "c"])
    var request = sorted()
    request.affectedStores = [container.persistentStores[1]]
    #expect(try context.titles(request) == ["a", "c"] && context.count(for: request) == 2)
    request.affectedStores = container.persistentStores.reversed()
    #expect(try context.titles(request) == ["a", "b", "c", "d"])
    request.affectedStores = []
    #expect(try context.titles(request) == [] && context.count(for: request) == 0)
    request.affectedStores = try Library.container("Books").persistentStores
    let error = #expect(throws: FetchError.self) { try context.titles(request) }
    #expect(error?.code == .unknownStore)
    let single = try Library.container("Books")
    request.affectedStores = single.persistentStores
    #expect(try single.newContext().titles(request) == [])
  }

  @Test("A predicate with an object finds the linked objects in that object's store")
  func named() throws {
    let container = try Library.container("Books", "Archive")
    let context = container.newContext()
    let (here, there) = (context.author("h"), context.author("t"))
    try context.assign(there, to: container.persistentStores[1])
    context.book("h1", by: here)
    let book = context.book("t1")
    try context.assign(book, to: container.persistentStores[1])
    book.author = there
    book.addToReaders(there)
    try context.save()
    let other = container.newContext()
    func find(_ format: String, _ value: any PredicateArgument) throws -> Set<String?> {
      Set(try other.titles(FetchRequest(predicate: FetchPredicate(format: format, value))))
    }
    #expect(try find("author == %@", there) == ["t1"] && find("author == %@", here) == ["h1"])
    #expect(try find("author != %@", there) == ["h1"])
    #expect(try find("ANY readers == %@", there) == ["t1"] && find("ANY readers == %@", here) == [])
    #expect(try find("SELF == %@", book) == ["t1"] && find("author.name == %@", "t") == ["t1"])
    #expect(try find("author.name IN %@", ["t", "h"]) == ["t1", "h1"])
  }

  @Test("R8 A link to an object of another store fails the save with 133010")
  func external() throws {
    let container = try Library.container("Books", "Archive")
    let context = container.newContext()
    let (author, book) = (context.author("a"), context.book("b"))
    try context.assign(author, to: container.persistentStores[1])
    book.author = author
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .externalRelationship && error?.code.rawValue == 133_010)
    #expect(error?.details.map(\.property) == ["author"] && error?.details.first?.objectID == book.objectID)
    book.author = nil
    book.addToReaders(author)
    #expect(Set(refusals(context)) == ["133010 readers", "133010 read"])
    book.removeFromReaders(author)
    try context.save()
    book.author = author
    #expect(refusals(context) == ["133010 author"])
    context.rollback()
    #expect(book.author == nil && author.books.isEmpty && !context.hasChanges)
  }

  @Test("An attribute of ids accepts only ids of its own store")
  func ids() throws {
    let container = try Library.container("Books", "Archive")
    let context = container.newContext()
    let (first, second, third) = (context.book("1"), context.book("2"), context.book("3"))
    try context.assign(second, to: container.persistentStores[1])
    try context.assign(third, to: container.persistentStores[1])
    try context.save()
    third.sequel = second.objectID
    first.sequel = second.objectID
    #expect(refusals(context) == ["1550 sequel"])
    first.sequel = nil
    try context.save()
    let found = try container.newContext().fetch(
      FetchRequest<LibraryBook>(predicate: FetchPredicate(format: "sequel == %@", second)))
    #expect(found.map(\.title) == ["3"] && found.first?.sequel == second.objectID)
  }

  @Test("New objects are not assigned to a read-only store, and fetches include this store")
  func readOnly() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("archive.perdure")
    let first = try Library.container(PersistentStoreDescription(path: path, configuration: "Archive"))
    let maker = first.newContext()
    maker.book("old", by: maker.author("a"))
    try maker.save()
    try first.close()
    let container = try Library.container(
      PersistentStoreDescription(path: path, isReadOnly: true, configuration: "Archive"),
      Library.memory("Books"))
    let context = container.newContext()
    let book = context.book("new")
    #expect(book.objectID.storeIdentifier == container.persistentStores[1].identifier)
    try context.save()
    #expect(try container.newContext().titles(sorted()) == ["new", "old"])
    let old = try #require(try context.fetch(LibraryBook.fetchRequest { $0.title == "old" }).first)
    #expect(old.author?.name == "a")
    old.author = nil
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .saveFailed && error?.objectIDs.contains(old.objectID) == true)
    try container.close()
  }

  @Test("Uniqueness is checked within each store")
  func uniqueness() throws {
    let container = try Library.container("Books", "Archive")
    let context = container.newContext()
    context.book("a", isbn: "1")
    let twin = context.book("b", isbn: "1")
    try context.assign(twin, to: container.persistentStores[1])
    try context.save()
    context.book("c", isbn: "1")
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .constraintConflict)
  }
}
