import Foundation
import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Book: ManagedObject {
  var title: String
}

/// Copying, replacing and destroying stores, metadata without opening, and behaviour M12 of Core
/// Data (README.md).
@Suite("Copying, replacing and destroying stores")
struct StoreManagementTests {
  private func open(_ path: String) throws -> PersistentContainer {
    let container = try PersistentContainer(name: "Books", classes: [Book.self], at: path)
    try container.loadPersistentStores()
    return container
  }

  /// Creates a store with a book that has this title.
  @discardableResult
  private func make(_ path: String, _ title: String) throws -> ManagedObjectID {
    let container = try open(path)
    let context = container.newContext()
    let book = Book(context: context)
    book.title = title
    try context.save()
    try container.close()
    return book.objectID
  }

  private func titles(_ path: String) throws -> [String] {
    let container = try open(path)
    let titles = try container.newContext().fetch(FetchRequest<Book>()).map(\.title)
    try container.close()
    return titles
  }

  @Test("Metadata can be read without a container, even while the store is open")
  func metadata() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a.perdure")
    let id = try make(path, "a")
    let closed = try PersistentContainer.metadataForPersistentStore(at: path)
    #expect(closed.modelVersionHash == (try ManagedObjectModel([Book.entityDescription])).versionHash)
    #expect(closed.model.entities == [Book.entityDescription] && closed.userInfo == [:])
    #expect(id.uri.contains(closed.storeIdentifier))
    let container = try open(path)
    try container.setPersistentStoreMetadata(["sync": "7", "é": ""])
    #expect(try container.persistentStoreMetadata().userInfo == ["sync": "7", "é": ""])
    let beside = try PersistentContainer.metadataForPersistentStore(at: path)
    #expect(beside.userInfo == ["sync": "7", "é": ""] && beside.storeIdentifier == closed.storeIdentifier)
    try container.close()
    try PersistentContainer.setMetadata(["sync": "8"], forPersistentStoreAt: path)
    #expect(try PersistentContainer.metadataForPersistentStore(at: path).userInfo == ["sync": "8"])
    #expect(try titles(path) == ["a"])
  }

  @Test("Metadata shows whether a model is compatible with the store")
  func compatibility() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a.perdure")
    try make(path, "a")
    let metadata = try PersistentContainer.metadataForPersistentStore(at: path)
    let more = try ManagedObjectModel(
      [
        EntityDescription("Book", properties: [.string("title", optional: false), .date("read")]),
        EntityDescription("Shelf", properties: [.string("name")]),
      ], configurations: ["Shelves": ["Shelf"]])
    let other = try ManagedObjectModel([EntityDescription("Book", properties: [.int64("title")])])
    #expect(more.isConfiguration(compatibleWithStoreMetadata: metadata))
    #expect(!more.isConfiguration(withName: "Shelves", compatibleWithStoreMetadata: metadata))
    #expect(!more.isConfiguration(withName: "None", compatibleWithStoreMetadata: metadata))
    #expect(!other.isConfiguration(compatibleWithStoreMetadata: metadata))
  }

  @Test("A missing store has no metadata")
  func nothing() throws {
    let directory = try TemporaryDirectory()
    let error = #expect(throws: PerdureError.self) {
      try PersistentContainer.metadataForPersistentStore(at: directory.file("none.perdure"))
    }
    #expect(error?.code == .openFailed && error?.cause != nil)
    #expect(throws: PerdureError.self) {
      try PersistentContainer.setMetadata([:], forPersistentStoreAt: directory.file("none.perdure"))
    }
  }

  @Test("A closed store is copied with its identity, replaced, and destroyed")
  func files() throws {
    let directory = try TemporaryDirectory()
    let (a, b) = (directory.file("a.perdure"), directory.file("b.perdure"))
    let id = try make(a, "a")
    try PersistentContainer.copyPersistentStore(at: a, to: b)
    let copy = try open(b)
    let found = try copy.newContext().existingObject(with: #require(copy.managedObjectID(forURI: id.uri)))
    #expect((found as? Book)?.title == "a")
    try copy.close()
    #expect(throws: PerdureError.self) { try PersistentContainer.copyPersistentStore(at: a, to: b) }
    try PersistentContainer.destroyPersistentStore(at: b)
    try make(b, "b")
    try PersistentContainer.replacePersistentStore(at: b, withPersistentStoreAt: a)
    #expect(try titles(b) == ["a"] && titles(a) == ["a"])
    try PersistentContainer.destroyPersistentStore(at: a)
    try PersistentContainer.destroyPersistentStore(at: a)
    #expect(try titles(a) == [])
  }

  @Test(
    "If a foreign file in the store's folder or a store at the copy's path is in the way, nothing is replaced"
  )
  func inTheWay() throws {
    let directory = try TemporaryDirectory()
    let (a, b) = (directory.file("a.perdure"), directory.file("b.perdure"))
    try make(a, "a")
    try make(b, "b")
    try make(b + ".copy", "new")
    #expect(throws: PerdureError.self) {
      try PersistentContainer.replacePersistentStore(at: b, withPersistentStoreAt: a)
    }
    #expect(try titles(b) == ["b"] && titles(b + ".copy") == ["new"])
    try PersistentContainer.destroyPersistentStore(at: b + ".copy")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: b + "/notes.txt"))
    let error = #expect(throws: PerdureError.self) {
      try PersistentContainer.replacePersistentStore(at: b, withPersistentStoreAt: a)
    }
    let said = error.map { "\($0)" } ?? ""
    #expect(said.contains("notes.txt"))
    try FileManager.default.removeItem(atPath: b + "/notes.txt")
    #expect(try titles(b) == ["b"])
    try PersistentContainer.replacePersistentStore(at: b, withPersistentStoreAt: a)
    #expect(try titles(b) == ["a"])
  }

  @Test("A store that is open in a container is not destroyed, replaced or copied")
  func open() throws {
    let directory = try TemporaryDirectory()
    let (a, b) = (directory.file("a.perdure"), directory.file("b.perdure"))
    try make(a, "a")
    try make(b, "b")
    let container = try open(b)
    let context = container.newContext()
    #expect(throws: PerdureError.self) { try PersistentContainer.destroyPersistentStore(at: b) }
    #expect(throws: PerdureError.self) { try PersistentContainer.copyPersistentStore(at: b, to: b + "2") }
    #expect(throws: PerdureError.self) {
      try PersistentContainer.replacePersistentStore(at: b, withPersistentStoreAt: a)
    }
    Book(context: context).title = "c"
    try context.save()
    #expect(try Set(context.fetch(FetchRequest<Book>()).map(\.title)) == ["b", "c"])
    try container.close()
    try PersistentContainer.replacePersistentStore(at: b, withPersistentStoreAt: a)
    #expect(try titles(b) == ["a"])
  }

  @Test("Stores in memory and read-only stores have metadata")
  func otherStores() throws {
    let memory = try PersistentContainer(name: "M", classes: [Book.self], description: .inMemory)
    try memory.loadPersistentStores()
    try memory.setPersistentStoreMetadata(["a": "b"])
    #expect(try memory.persistentStoreMetadata().userInfo == ["a": "b"])
    let directory = try TemporaryDirectory()
    let path = directory.file("a.perdure")
    try make(path, "a")
    let reader = try PersistentContainer(
      name: "R", classes: [Book.self], description: .init(path: path, isReadOnly: true))
    try reader.loadPersistentStores()
    #expect(try reader.persistentStoreMetadata().model.entities.count == 1)
    let error = #expect(throws: PerdureError.self) { try reader.setPersistentStoreMetadata(["a": "b"]) }
    #expect(error?.code == .saveFailed)
    try reader.close()
  }
}
