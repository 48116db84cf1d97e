// Models whose generated code is in Tests/PerdureGeneratedCodeTests.

package import PerdureModelCode
import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A model with every kind of property. Its code has accessors and is public.
package enum LibraryModelSource {
  package static let name = "Library"

  package static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      [item, book, author, shelf, note, words], configurations: ["People": ["Author"], "All": all],
      versionIdentifiers: ["2", "1"], templates: templates)
  }

  private static let all = ["Item", "Book", "Author", "Shelf", "Note", "Words"]

  package static var options: ModelCodeOptions {
    var options = ModelCodeOptions()
    options.access = .public
    return options
  }

  package static var hints: ModelCodeHints {
    var hints = ModelCodeHints()
    hints.entityCode = ["Shelf": .categoryExtension, "Note": .manual]
    hints.attributeTypes = [
      "Book.keywords": "[String]", "Book.stamp": "Stamp", "Book.cache": "[Int: String]",
    ]
    hints.compositeNames = ["Book.place": "Place", "Book.place.position": "Position"]
    return hints
  }

  private static let item = EntityDescription(
    "Item", isAbstract: true, className: ".Item",
    properties: [
      .string("title", optional: false, default: "a \"new\" \\(one)\n", rules: [.maximumLength(80)]),
      .date("created", optional: false, default: .now), .uuid("key", optional: false, default: .newUUID),
    ], indexes: [FetchIndexDescription(on: "title")], renamingIdentifier: "Thing",
    userInfo: ["b": "2", "a": "1"])

  private static let book = EntityDescription(
    "Book", superentity: "Item", className: "LibraryBook",
    properties: numbers + values + [
      .attribute(AttributeDescription("keywords", .transformable)),
      .attribute(AttributeDescription("stamp", .transformable, valueTransformerName: "StampTransformer")),
      .transient("cache"), .transient("openings", .int32, optional: false, default: 0),
      .composite(
        "place",
        [
          .string("room", optional: false, default: "hall"),
          .composite("position", [.double("x", optional: false), .double("y", optional: false)]),
        ]),
      .toMany("authors", "Author", inverse: "books", ordered: true),
      .toOne("shelf", "Shelf", inverse: "books"), .derived("authorCount", "authors.@count"),
    ],
    fetchedProperties: [
      FetchedPropertyDescription(
        "namesakes", "Book", "title == $FETCH_SOURCE.title AND SELF != $FETCH_SOURCE",
        sortDescriptors: [FetchOrder("pages", ascending: false)], fetchLimit: 5)
    ],
    indexes: [
      FetchIndexDescription("long", ["pages", .descending("price")], where: "pages > 500"),
      FetchIndexDescription(on: "authorCount"),
    ], uniquenessConstraints: [["in", "default"]], versionHashModifier: "x")

  private static let numbers: [PropertyDescription] = [
    .int32(
      "pages", optional: false, default: 1,
      rules: [.minimum(1), .predicate(format: "SELF != 13", message: "must not be 13")]),
    .int16("edition"), .int64("loans", default: -3),
    .decimal("price", default: .decimal(Decimal(string: "12.50")!)),
    .float("rating", rules: [.minimum(0), .maximum(5)]), .double("weight", optional: false, default: 0.25),
  ]

  private static let values: [PropertyDescription] = [
    .boolean("default", optional: false, default: false), .string("in", rules: [.pattern("[a-z]+")]),
    .date("bought", default: .date(Date(timeIntervalSinceReferenceDate: 631_123_200))),
    .binary("cover", default: .data(Data([1, 2, 255]))), .uuid("copyKey"), .uri("site"),
    .objectID("successor"),
  ]

  private static let author = EntityDescription(
    "Author",
    properties: [
      .string("name", optional: false),
      .attribute(AttributeDescription("nick", .string, renamingIdentifier: "alias", userInfo: ["k": "v"])),
      .toMany("books", "Book", inverse: "authors", deleteRule: .deny),
    ])

  private static let shelf = EntityDescription(
    "Shelf", properties: [.string("label"), .toMany("books", "Book", inverse: "shelf", maxCount: 100)])

  private static let note = EntityDescription("Note", properties: [.string("text", optional: false)])

  /// Properties whose names are Swift keywords.
  package static let swiftWords = [
    "Any", "actor", "any", "as", "associatedtype", "async", "await", "borrowing", "break", "case", "catch",
    "consuming", "continue", "convenience", "default", "defer", "didSet", "do", "dynamic", "each", "else",
    "enum", "extension", "fallthrough", "false", "fileprivate", "final", "for", "func", "get", "guard", "if",
    "import", "in", "indirect", "infix", "inout", "internal", "is", "isolated", "lazy", "let", "macro",
    "mutating", "nil", "nonisolated", "nonmutating", "open", "operator", "optional", "override", "package",
    "postfix", "precedencegroup", "prefix", "private", "public", "repeat", "required", "rethrows", "return",
    "sending", "set", "some", "static", "struct", "subscript", "switch", "throw", "throws", "true", "try",
    "typealias", "unowned", "var", "weak", "where", "while", "willSet", "yield",
  ]

  private static let words = EntityDescription("Words", properties: swiftWords.map { .string($0) })

  private static let templates = [
    FetchRequestTemplate("long books", "Book", "pages > $least AND title BEGINSWITH $start"),
    FetchRequestTemplate("byAuthor", everything),
    FetchRequestTemplate("placed", "Book", "shelf == $shelf AND price == $price AND pages >= $least"),
    FetchRequestTemplate("all", "Author"),
  ]

  private static var everything: FetchRequestDescription {
    var request = FetchRequestDescription(
      "Book", "ANY authors == $author AND pages IN $counts", sortDescriptors: [FetchOrder("title")],
      fetchLimit: 10)
    request.fetchBatchSize = 20
    request.includesSubentities = false
    return request
  }
}
