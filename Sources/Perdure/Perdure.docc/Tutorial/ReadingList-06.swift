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

  /// Adds a book with a new author.
  func add(_ title: String, by name: String) throws {
    let author = Author(context: context)
    author.name = name
    let book = Book(context: context)
    book.title = title
    book.author = author
    try context.save()
  }
}

@main enum Program {
  static func main() throws {
    let list = try ReadingList(PersistentStoreDescription(path: "ReadingList.perdure"))
    try list.add("Solaris", by: "Stanisław Lem")
    try list.close()
  }
}
