import Perdure

@Entity final class Author: ManagedObject {
  var name: String
  @Relationship(inverse: "author", deleteRule: .cascade) var books: ToMany<Book>
}

@Entity final class Book: ManagedObject {
  var title: String
  var stars: Int?
  @Relationship(inverse: "books", optional: false) var author: Author?
}
