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
