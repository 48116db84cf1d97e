import Perdure

@Entity final class Author: ManagedObject {
  var name: String
}

@Entity final class Book: ManagedObject {
  var title: String
  var stars: Int?
}
