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
    try context.save()
  }

  /// Rates a book. A rated book counts as read.
  func finish(_ title: String, stars: Int) throws {
    for book in try context.fetch(Book.fetchRequest { $0.title == title }) {
      book.stars = stars
    }
    try context.save()
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
}

@main enum Program {
  static func main() throws {
    let list = try ReadingList(PersistentStoreDescription(path: "ReadingList.perdure"))
    try list.finish("Solaris", stars: 5)
    for line in try list.unread() { print(line) }
    try list.close()
  }
}
