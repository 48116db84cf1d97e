import Perdure

// The model of the tests with several stores: authors and books, which may be in two stores, and
// notes.

@Entity final class LibraryAuthor: ManagedObject {
  var name: String?
  @Relationship(inverse: "author", deleteRule: .cascade) var books: ToMany<LibraryBook>
  @Relationship(inverse: "readers") var read: ToMany<LibraryBook>
}

@Entity final class LibraryBook: ManagedObject {
  @Attribute(.unique) var isbn: String?
  @Attribute(.indexed) var title: String?
  var pages: Int64
  var sequel: ManagedObjectID?
  @Relationship(inverse: "books") var author: LibraryAuthor?
  @Relationship(inverse: "read") var readers: ToMany<LibraryAuthor>
}

@Entity final class LibraryNote: ManagedObject {
  @Attribute(.indexed) var text: String?
  var about: ManagedObjectID?
  @Relationship(inverse: "answers") var question: LibraryNote?
  @Relationship(inverse: "question", deleteRule: .cascade) var answers: ToMany<LibraryNote>
}

enum Library {
  static let classes: [ManagedObject.Type] = [LibraryAuthor.self, LibraryBook.self, LibraryNote.self]

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      classes.map { EntityDescription(from: $0) },
      configurations: [
        "Books": ["LibraryAuthor", "LibraryBook"], "Archive": ["LibraryAuthor", "LibraryBook"],
        "Notes": ["LibraryNote"], "Authors": ["LibraryAuthor"],
      ])
  }

  /// A container with these stores, which are open.
  static func container(_ descriptions: PersistentStoreDescription...) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "Library", model: try model(), classes: classes, storeDescriptions: descriptions)
    try container.loadPersistentStores()
    return container
  }

  /// A container with an open store in memory for each of these configurations.
  static func container(_ configurations: String...) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "Library", model: try model(), classes: classes, storeDescriptions: configurations.map(memory))
    try container.loadPersistentStores()
    return container
  }

  static func memory(_ configuration: String) -> PersistentStoreDescription {
    var description = PersistentStoreDescription.inMemory
    description.configuration = configuration
    return description
  }
}

extension ManagedObjectContext {
  @discardableResult func author(_ name: String) -> LibraryAuthor {
    let author = LibraryAuthor(context: self)
    author.name = name
    return author
  }

  @discardableResult func book(
    _ title: String, pages: Int64 = 0, isbn: String? = nil, by author: LibraryAuthor? = nil
  ) -> LibraryBook {
    let book = LibraryBook(context: self)
    (book.title, book.pages, book.isbn, book.author) = (title, pages, isbn, author)
    return book
  }

  @discardableResult func note(_ text: String, on question: LibraryNote? = nil) -> LibraryNote {
    let note = LibraryNote(context: self)
    (note.text, note.question) = (text, question)
    return note
  }

  func titles(_ request: FetchRequest<LibraryBook>) throws -> [String?] { try fetch(request).map(\.title) }
}

extension PersistentContainer {
  /// The number of objects of a class in a new context.
  func count<T: ManagedObject & QueryableObject>(_ type: T.Type) throws -> Int {
    try newContext().count(for: FetchRequest<T>())
  }
}
