import Perdure

@Entity final class Author: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(inverse: "author", deleteRule: .cascade) var books: ToMany<Book>
}

@Entity final class Book: ManagedObject {
  @Attribute(.length(1...200)) var title: String
  @Attribute(.minimum(1), .maximum(5)) var stars: Int?
  @Relationship(inverse: "books", optional: false) var author: Author?
}

struct ReadingList {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init(_ description: PersistentStoreDescription) throws {
    container = try PersistentContainer(
      name: "ReadingList", classes: [Author.self, Book.self], description: description)
    try container.loadPersistentStores()
    context = container.newContext()
  }

  func close() throws { try container.close() }

  /// Adds a book.
  func add(_ title: String, by name: String) throws {
    let author = try author(named: name)
    let book = Book(context: context)
    book.title = title
    book.author = author
    try save()
  }

  /// Rates a book. A rated book counts as read.
  func finish(_ title: String, stars: Int) throws {
    for book in try context.fetch(Book.fetchRequest { $0.title == title }) {
      book.stars = stars
    }
    try save()
  }

  /// Removes an author and all books by this author.
  func removeAuthor(named name: String) throws {
    for author in try context.fetch(Author.fetchRequest { $0.name == name }) {
      context.delete(author)
    }
    try save()
  }

  /// The unread books, one a line, by author and title.
  func unread() throws -> [String] {
    var request = Book.fetchRequest { $0.stars == nil }
    request.sortDescriptors = [
      FetchOrder(Book.self) { $0.author.name }, FetchOrder(\Book.title),
    ]
    return try context.fetch(request).map { "\($0.author?.name ?? ""): \($0.title)" }
  }

  /// The author of this name, or a new one.
  private func author(named name: String) throws -> Author {
    let known = try context.fetch(Author.fetchRequest { $0.name == name })
    if let author = known.first { return author }
    let author = Author(context: context)
    author.name = name
    return author
  }

  /// Saves all changes, or drops them all and throws.
  private func save() throws {
    do {
      try context.save()
    } catch {
      context.rollback()
      throw error
    }
  }
}

@main enum Program {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard let path = arguments.first else { return print(usage) }
    let list = try ReadingList(PersistentStoreDescription(path: path))
    do {
      try run(Array(arguments.dropFirst()), list)
    } catch let error as PerdureError {
      for detail in error.details { print("refused:", detail.property, detail.rule) }
    }
    try list.close()
  }

  private static let usage = """
    ReadingList STORE add TITLE AUTHOR
    ReadingList STORE finish TITLE STARS
    ReadingList STORE remove AUTHOR
    ReadingList STORE list
    """

  private static func run(_ arguments: [String], _ list: ReadingList) throws {
    switch (arguments.first, arguments.count) {
    case ("add", 3): try list.add(arguments[1], by: arguments[2])
    case ("finish", 3): try list.finish(arguments[1], stars: Int(arguments[2]) ?? 0)
    case ("remove", 2): try list.removeAuthor(named: arguments[1])
    case ("list", 1): for line in try list.unread() { print(line) }
    default: print(usage)
    }
  }
}
