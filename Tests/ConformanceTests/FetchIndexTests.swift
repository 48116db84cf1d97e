import Foundation
import Perdure
import PerdureTestSupport
import Testing

/// Behaviour M10 of Core Data (README.md): indexes.
@Suite("Indexes of models")
struct FetchIndexTests {
  private static func model(_ indexes: [FetchIndexDescription]) throws -> ManagedObjectModel {
    try ManagedObjectModel([
      EntityDescription(
        "Book",
        properties: [
          .string("title"), .string("author"), .int64("year"), .boolean("lent"), .date("added"),
          .toOne("shelf", "Shelf", inverse: "books"), .transient("note", .string),
        ], indexes: indexes),
      EntityDescription("Novel", superentity: "Book", properties: [.string("genre")]),
      EntityDescription(
        "Shelf", properties: [.string("room"), .toMany("books", "Book", inverse: "shelf")]),
    ])
  }

  /// Creates 200 books: every fourth is a novel, and a few have no year or no title.
  private func context(_ indexes: [FetchIndexDescription]) throws -> ManagedObjectContext {
    let context = try Sandbox(Self.model(indexes)).container.newContext()
    for number in 0..<200 {
      let book = context.insertNewObject(forEntityName: number % 4 == 0 ? "Novel" : "Book")
      book["title"] = number % 31 == 0 ? nil : "É\(number % 50)"
      book["author"] = ["Ada", "Bob", "Çelik", "Dora", "Eve", "Fred", "Gus", "Hal", "Ida", "Jo"][number % 10]
      book["year"] = number % 17 == 0 ? nil : 1900 + number % 7
      book["lent"] = number % 9 == 0
    }
    try context.save()
    return context
  }

  private func request(_ format: String, _ order: [FetchOrder] = []) throws -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(
      entityName: "Book", predicate: try FetchPredicate(format: format), sortDescriptors: order)
  }

  /// Checks that a request has the same result with and without indexes, and that the plan with
  /// indexes contains `plan`.
  private func compare(
    _ indexes: [FetchIndexDescription], _ format: String, _ order: [FetchOrder] = [], plan: String
  ) throws {
    let (with, without) = (try context(indexes), try context([]))
    let request = try request(format, order)
    let explained = try with.explain(request)
    #expect(explained.contains(plan), "\(format): \(explained)")
    let keys = ["title", "author", "year", "lent"]
    func values(_ context: ManagedObjectContext) throws -> [String] {
      try context.fetch(request).map { book in
        keys.map { String(describing: book.value(forKey: $0)) }.joined(separator: ";")
      }
    }
    let (found, expected) = (try values(with), try values(without))
    if order.isEmpty {
      #expect(found.sorted() == expected.sorted() && !found.isEmpty, "\(format)")
    } else {
      #expect(found == expected && !found.isEmpty, "\(format)")
    }
  }

  @Test("M10 A compound index serves requests for its prefixes, and sorting in its own or the reverse order")
  func compound() throws {
    let index = FetchIndexDescription(
      "author_year", [.init("author"), .init("year", ascending: false), .init("title")])
    let order = [FetchOrder("year", ascending: false), FetchOrder("title")]
    try compare([index], "author == 'Ada'", plan: "1 range by author\n")
    try compare([index], "author == 'Ada' AND year == 1903", plan: "1 range by author, year\n")
    try compare([index], "author == 'Ada' AND year == nil", plan: "1 range by author, year\n")
    try compare([index], "author == 'Çelik' AND year BETWEEN {1903, 1905}", plan: "by author, year\n")
    try compare([index], "author == 'Bob'", order, plan: "already sorted")
    try compare(
      [index], "author == 'Bob'", [FetchOrder("year"), FetchOrder("title", ascending: false)],
      plan: "from its end")
  }

  @Test(
    "M10 An index on a text function serves searches with it; one on canonical: also those without case and diacritics"
  )
  func functions() throws {
    let canonical = FetchIndexDescription(on: "canonical:(author)")
    #expect(canonical.name == "by_canonical_author")
    for format in [
      "author ==[cd] 'CELIK'", "author BEGINSWITH[cd] 'ce'", "canonical:(author) == 'celik'",
      "author IN[cd] {'ADA', 'celik'}",
    ] { try compare([canonical], format, plan: "index on canonical:(author)") }
    try compare(
      [FetchIndexDescription(on: "uppercase:(author)")], "uppercase:(author) == 'ÇELIK'",
      plan: "index on uppercase:(author)")
    try compare(
      [FetchIndexDescription(on: "lowercase:(author)", "year")],
      "lowercase:(author) == 'ada' AND year > 1903",
      plan: "by lowercase:(author), year")
  }

  @Test("M10 A partial index serves requests that imply its predicate")
  func partial() throws {
    let index = FetchIndexDescription(
      "lent", [.init("year")],
      partialPredicate: try FetchPredicate(format: "lent == YES AND year != nil"))
    try compare(
      [index], "lent == YES AND year > 1903", plan: "index on year where lent == TRUE AND year != NULL")
    try compare([index], "year == 1906 AND lent == YES AND author == 'Ada'", plan: "index on year where")
    try compare([index], "lent == YES", plan: "scan")
    try compare([index], "year > 1903", plan: "scan")
    // Changes of objects insert them into the index and remove them from it.
    let context = try context([index])
    let request = try request("lent == YES AND year > 1903")
    let count = try context.count(for: request)
    let book = try #require(try context.fetch(request).first)
    book["lent"] = false
    #expect(try context.count(for: request) == count - 1)
    try context.save()
    #expect(try context.count(for: request) == count - 1)
    book["lent"] = true
    try context.save()
    #expect(try context.count(for: request) == count)
    context.delete(book)
    try context.save()
    #expect(try context.count(for: request) == count - 1)
  }

  @Test("M10 Indexes are not part of the version hash, and a store opens with changed indexes")
  func versionHash() throws {
    let indexes = [[]] + ["year", "canonical:(title)"].map { [FetchIndexDescription(on: $0)] }
    let models = try indexes.map(Self.model)
    #expect(Set(models.map(\.versionHash)).count == 1)
    let directory = try TemporaryDirectory()
    for (number, model) in (models + models).enumerated() {
      let container = PersistentContainer(
        name: "Books", model: model, description: .init(path: directory.file("books.perdure")))
      try container.loadPersistentStores()
      let context = container.newContext()
      context.insertNewObject(forEntityName: "Book")["year"] = number
      try context.save()
      #expect(try context.count(for: try request("year >= 0")) == number + 1)
      try container.close()
    }
  }

  @Test(
    "M10 Invalid index elements, shapes and predicates are model errors with a remedy; so are repeated index names"
  )
  func modelErrors() throws {
    for (index, rule) in [
      (FetchIndexDescription(on: "missing"), ModelProblem.Rule.indexProperty),
      (FetchIndexDescription(on: "note"), .indexProperty),
      (FetchIndexDescription(on: "canonical:(year)"), .indexProperty),
      (FetchIndexDescription(on: "length:(title)"), .indexProperty),
      (FetchIndexDescription(on: "canonical:(missing)"), .indexProperty),
      (FetchIndexDescription("none", []), .indexShape),
      (FetchIndexDescription("odd", ["year"], where: "year >"), .indexPredicate),
      (FetchIndexDescription("twice", [.init("year"), .init("year")]), .indexShape),
      (
        FetchIndexDescription(
          "far", [.init("year")], partialPredicate: try FetchPredicate(format: "shelf.room == 'A'")),
        .indexPredicate
      ),
    ] {
      let error = #expect(throws: ModelError.self) { _ = try Self.model([index]) }
      #expect(error?.problems.map(\.rule) == [rule], "\(index)")
      #expect(error?.problems.allSatisfy { !$0.remedy.isEmpty } == true)
    }
    #expect(throws: ModelError.self) {
      _ = try Self.model([FetchIndexDescription(on: "year"), FetchIndexDescription(on: "year")])
    }
  }
}
