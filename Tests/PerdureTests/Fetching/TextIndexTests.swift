import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Indexes of functions of text")
struct TextIndexTests {
  private static func schema(_ elements: [[FetchIndexDescription.Element]]) throws -> StoreSchema {
    try schema(with: elements.enumerated().map { FetchIndexDescription("i\($0)", $1) })
  }

  private static func schema(with indexes: [FetchIndexDescription]) throws -> StoreSchema {
    StoreSchema(
      try .initial(
        for: ManagedObjectModel([
          EntityDescription(
            "Item",
            properties: [
              .string("name"), .string("kind", default: .string("É")), .int64("size"),
              .toOne("whole", "Item", inverse: "parts"), .toMany("parts", "Item", inverse: "whole"),
            ], indexes: indexes)
        ])))
  }

  /// Texts that are equal under some options and unequal under others, such as an iota subscript.
  private static let texts =
    RandomValue.texts + [
      "ᾳ", "α\u{345}", "αι", "ΑΙ", "α", "Ά", "\u{3B9}", "\u{345}", "ﬀ", "FF", "ff", "STRASSE", "Straße", "İ",
      "i\u{307}", "I", "ı", "o\u{302}", "a\u{323}\u{302}", "a\u{302}", "a\u{302}\u{323}", "ab*", "éa", "Éa",
    ]

  private static let options: [StringOptions] = [
    [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized,
    [.normalized, .caseInsensitive],
  ]

  private static func graph(_ schema: StoreSchema, _ random: inout SeededGenerator) throws -> TestGraph {
    let entity = schema.entity(named: "Item")!.number
    return try TestGraph(
      (1...60).map { number in
        var object = TestObject(reference: ObjectReference(entity: entity, id: UInt64(number)), values: [:])
        if random.chance(85) { object.values["name"] = .string(random.pick(texts)) }
        if random.chance(85) { object.values["kind"] = .string(random.pick(texts)) }
        object.values["size"] = .integer(Int64.random(in: 0...3, using: &random))
        if random.chance(70) {
          object.values["whole"] = .reference(
            ObjectReference(entity: entity, id: UInt64.random(in: 1...60, using: &random)))
        }
        return object
      }, schema)
  }

  @Test("Text comparisons give the same result with any index as with a scan")
  func differential() throws {
    var random = SeededGenerator.forTest("text indexes")
    let parts = ["", "canonical:", "lowercase:", "uppercase:"].flatMap { function in
      ["name", "kind"].map { function.isEmpty ? $0 : "\(function)(\($0))" }
    }
    var used: Set<String> = []
    for _ in 0..<8 {
      let schema = try Self.schema(
        (0..<4).map { _ in
          (parts + ["size"]).shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random)).map {
            .init($0, ascending: random.chance(60))
          }
        })
      let graph = try Self.graph(schema, &random)
      for _ in 0..<45 {
        var query = FetchQuery(entity: schema.entity(named: "Item")!.number)
        query.predicate = .and(
          (0..<Int.random(in: 1...2, using: &random)).map { _ in
            Self.comparison(random.pick(parts), &random)
          })
        if random.chance(40) { query.order = [FetchOrder(random.pick(["name", "size"]))] }
        for plan in try AllPlans(graph: graph, query: query).compared() {
          for function in TextFunction.allCases
          where plan.description.split(separator: "\n")[1].contains("by \(function.rawValue)") {
            used.insert(function.rawValue)
          }
          if case .join = plan.access { used.insert("join") }
        }
      }
    }
    #expect(used.count == 4, "\(used)")
  }

  /// Returns a comparison of a text, of a function of a text, or of a related object's text.
  private static func comparison(_ part: String, _ random: inout SeededGenerator) -> FetchPredicate {
    let (function, name) = TextFunction.parse(part)!
    var left = FetchExpression.keyPath(
      random.chance(20) ? PropertyPath("whole", name) : PropertyPath(name))
    if let function { left = .function(function.function, [left]) }
    let operators: [FetchComparison.Operator] = [
      .equal, .equal, .notEqual, .lessThan, .greaterThanOrEqual, .beginsWith, .beginsWith, .endsWith,
      .contains, .like, .in, .between,
    ]
    func text() -> Value {
      random.chance(5) ? .null : .string(random.pick(texts))
    }
    let op = random.pick(operators)
    let right: Value =
      switch op {
      case .in: .list((0..<Int.random(in: 0...3, using: &random)).map { _ in text() })
      case .between: .list([text(), text()])
      case .like:
        .string(
          random.pick(texts) + random.pick(["*", "?", ""]) + random.pick(["", "", "\u{301}", "\u{301}*"]))
      default: text()
      }
    return .comparison(FetchComparison(left, op, .constant(right), options: random.pick(options)))
  }

  private func explain(_ elements: [String], _ predicate: String) throws -> String {
    let schema = try Self.schema([elements.map { .init($0) }])
    var query = FetchQuery(entity: schema.entity(named: "Item")!.number)
    query.predicate = try FetchPredicate(format: predicate)
    let statistics = FetchStatistics(
      entryCount: { _, range in range == .all ? 1000 : 3 }, rowCount: { _ in 1000 })
    return FetchPlanner.plan(try PreparedFetch(query, schema), statistics).description
  }

  @Test("An index of canonical text serves comparisons that ignore case and diacritics")
  func canonical() throws {
    #expect(
      try explain(["canonical:(name)"], "name ==[cd] 'Éa'") == """
        fetch Item
          from index on canonical:(name): 1 range by canonical:(name)
          candidates: 3 of 1000
        """)
    let range = try explain(["canonical:(name)", "size"], "name BEGINSWITH[cd] 'Ea' AND size > 1")
    #expect(range.contains("from index on canonical:(name), size: 1 range by canonical:(name)\n"), "\(range)")
    #expect(range.contains("size > 1"), "\(range)")
    #expect(
      try explain(["canonical:(name)", "size"], "name IN[cd] {'a', 'É'} AND size == 1").contains(
        "2 ranges by canonical:(name), size"))
    for served in [
      "canonical:(name) == 'ea'", "canonical:(name) BEGINSWITH[cd] 'É'", "name == 'Éa'", "name ==[c] 'Éa'",
      "name ==[d] 'Éa'", "name LIKE[cd] 'Éa*'", "name ==[cd] 'a' OR name BEGINSWITH[c] 'b'",
      "whole.name ==[cd] 'a'",
    ] { #expect(try explain(["canonical:(name)"], served).contains("canonical:"), "\(served)") }
    // With only [c], an iota subscript equals a letter. Canonical text does not contain this
    // letter.
    #expect(try explain(["canonical:(name)"], "name ==[c] 'αι'").contains("scan"))
    #expect(try explain(["canonical:(name)"], "name CONTAINS[cd] 'a'").contains("scan"))
  }

  @Test("An index of upper or lower case serves only that function of the text")
  func cases() throws {
    #expect(try explain(["lowercase:(name)"], "lowercase:(name) == 'éa'").contains("by lowercase:(name)"))
    #expect(try explain(["uppercase:(name)"], "uppercase:(name) >= 'É'").contains("by uppercase:(name)"))
    #expect(try explain(["lowercase:(name)"], "uppercase:(name) == 'ÉA'").contains("scan"))
    #expect(try explain(["lowercase:(name)"], "name ==[c] 'éa'").contains("scan"))
    #expect(try explain(["lowercase:(name)"], "name == 'éa'").contains("scan"))
  }

  @Test("Names and titles of indexes contain the function")
  func names() throws {
    let schema = try Self.schema([
      [.init("canonical:(name)", ascending: false), .init("size")], [.init("lowercase:(kind)")],
      [.init("uppercase:(kind)")],
    ])
    let (name, kind, size) = (1, 2, 3)
    let indexes = schema.indexes.map(\.name).filter { $0.hasPrefix("attr/") }
    #expect(indexes == ["attr/-c\(name),\(size)", "attr/l\(kind)", "attr/u\(kind)"])
    let title = schema.title(of: try #require(schema.index(named: indexes[0])))
    #expect(title == "index Item.canonical:(name) descending+size")
  }

  /// A schema without indexes, and schemas that each have an index of one kind.
  private static func wildcardSchemas() throws -> [StoreSchema] {
    try [
      schema([]), schema([[.init("name")]]), schema([[.init("name", ascending: false)]]),
      schema([[.init("canonical:(name)")]]), schema([[.init("lowercase:(name)")]]),
      schema([[.init("uppercase:(name)")]]), schema([[.init("name"), .init("size")]]),
      schema([[.init("size"), .init("canonical:(name)")]]),
      schema(with: [FetchIndexDescription("p", [.init("name")], where: "size > 1")]),
    ]
  }

  @Test("A wildcard before a combining mark gives the same result with every index")
  func wildcardBeforeMark() throws {
    let texts = [
      "*\u{301}x", "ab\u{301}", "a", "é", "e\u{301}", "e", "x\u{301}y", "a*b", "\u{301}", "", "?\u{301}",
      "\\\u{301}",
    ]
    let patterns = [
      "*\u{301}", "*\u{301}*", "*\u{301}x", "a*\u{301}", "?\u{301}", "?\u{301}*", "e*", "a\\*\u{301}*",
      "\\\u{301}*",
    ]
    let name = FetchExpression.keyPath(PropertyPath("name"))
    for schema in try Self.wildcardSchemas() {
      let entity = schema.entity(named: "Item")!.number
      let objects = texts.enumerated().map { number, text in
        TestObject(
          reference: ObjectReference(entity: entity, id: UInt64(number + 1)),
          values: ["name": .string(text), "size": .integer(Int64(number % 4))])
      }
      let graph = try TestGraph(objects, schema)
      for pattern in patterns {
        for options in Self.options {
          for left in [name, .function(.lowercase, [name]), .function(.uppercase, [name])] {
            let like = FetchPredicate.comparison(
              FetchComparison(left, .like, .constant(.string(pattern)), options: options))
            for predicate in [like, .and([like, try FetchPredicate(format: "size > 1")])] {
              var query = FetchQuery(entity: entity)
              query.predicate = predicate
              _ = try AllPlans(graph: graph, query: query).compared()
            }
          }
        }
      }
    }
  }
}
