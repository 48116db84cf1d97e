import FoundationEssentials
import Perdure
import PerdurePredicates
import Testing

private class Being: QueryableObject {
  var name: String { "" }
  class var _propertyNamesByKeyPath: [AnyKeyPath: String] { Being.names(of: Being.self) }

  /// This function is generic, like the macro's code, so that subclasses find inherited properties
  /// by their own key paths.
  static func names<Root: Being>(of root: Root.Type) -> [AnyKeyPath: String] { [\Root.name: "name"] }
}

private final class Hand: Being {
  var salary: Double { 0 }
  var bonus: Double? { nil }
  var age: Int { 0 }
  var isActive: Bool { false }
  var isPaid: Bool? { nil }
  var hired: Date? { nil }
  var company: House? { nil }
  var tags: Set<Mark> { [] }

  override class var _propertyNamesByKeyPath: [AnyKeyPath: String] {
    let own: [AnyKeyPath: String] = [
      \Hand.salary: "salary", \Hand.bonus: "bonus", \Hand.age: "age", \Hand.isActive: "isActive",
      \Hand.isPaid: "isPaid",
      \Hand.hired: "hired", \Hand.company: "company", \Hand.tags: "tags",
    ]
    return own.merging(Being.names(of: Hand.self)) { own, _ in own }
  }
}

private final class House: QueryableObject, PredicateArgument {
  var name: String { "" }
  var workers: Set<Mark> { [] }
  var predicateValue: Value { .reference(ObjectReference(rawValue: 7)) }
  static var _propertyNamesByKeyPath: [AnyKeyPath: String] {
    [\House.name: "name", \House.workers: "workers"]
  }
}

private final class Mark: QueryableObject, Hashable {
  var text: String { "" }
  var weight: Int { 0 }
  var isRare: Bool { false }
  var owner: Hand? { nil }
  var rank: Int? { nil }
  var holders: Set<Mark> { [] }
  static var _propertyNamesByKeyPath: [AnyKeyPath: String] {
    [
      \Mark.text: "text", \Mark.weight: "weight", \Mark.rank: "rank", \Mark.holders: "holders",
      \Mark.isRare: "isRare", \Mark.owner: "owner",
    ]
  }
  static func == (left: Mark, right: Mark) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

@Suite("Queries in Swift")
struct QueryTests {
  private func text(_ query: (EntityRef<Hand>) -> FetchPredicate) -> String {
    FetchPredicate.query(Hand.self, query).description
  }

  @Test("Comparisons and logic give the same predicate as the format string")
  func comparisons() throws {
    let query = FetchPredicate.query(Hand.self) {
      $0.salary > 1000 && $0.company.name == "Acme" && !($0.age <= 30 || $0.bonus == nil)
    }
    let parsed = try FetchPredicate(
      format: "salary > 1000.0 AND company.name == 'Acme' AND NOT (age <= 30 OR bonus == nil)")
    #expect(query == parsed)
  }

  @Test("Queries can use inherited properties, Boolean values, ranges and lists, and compare two properties")
  func values() {
    #expect(text { $0.name == "x" } == "name == \"x\"")
    #expect(text { !$0.isActive && $0.isActive == true } == "isActive == FALSE AND isActive == TRUE")
    #expect(text { $0.salary >= $0.bonus } == "salary >= bonus")
    #expect(text { $0.age.in([1, 2]) } == "age IN {1, 2}")
    #expect(text { $0.age.in(1...5) } == "age BETWEEN {1, 5}")
    #expect(text { $0.age.between(1, 5) || $0.age != 7 } == "age BETWEEN {1, 5} OR age != 7")
  }

  /// Expects that a query equals the predicate of a format string.
  private func same(
    _ format: String, _ arguments: [(any PredicateArgument)?] = [],
    _ location: SourceLocation = #_sourceLocation,
    _ query: (EntityRef<Hand>) -> FetchPredicate
  ) throws {
    let parsed = try FetchPredicate(format: format, argumentArray: arguments)
    #expect(FetchPredicate.query(Hand.self, query) == parsed, sourceLocation: location)
  }

  @Test("A Boolean property alone is a query")
  func truthAlone() throws {
    func text(_ query: (EntityRef<Hand>) -> PropertyRef<Bool>) -> String {
      FetchPredicate.query(Hand.self, query).description
    }
    #expect(FetchPredicate.query(Hand.self) { $0.isActive }.description == "isActive == TRUE")
    #expect(text { $0.isPaid } == "isPaid == TRUE")
    #expect(FetchRequest<Hand> { $0.isActive }.predicate?.description == "isActive == TRUE")
    try same("isActive == FALSE") { !$0.isActive }
    try same("isPaid == FALSE") { !$0.isPaid }
    try same("isActive == isPaid") { $0.isActive == $0.isPaid }
    try same("isActive == TRUE AND isPaid == TRUE OR age > 3") { $0.isActive && $0.isPaid || $0.age > 3 }
    try same("ANY tags.isRare == TRUE") { $0.tags.any { $0.isRare } }
    try same("SUBQUERY(tags, $_1, $_1.isRare == TRUE).@count == 0") { $0.tags.none { $0.isRare } }
    try same("SUBQUERY(tags, $_1, NOT $_1.isRare == TRUE).@count == 0") { $0.tags.all { $0.isRare } }
    try same("SUBQUERY(tags, $_1, $_1.owner.isPaid == TRUE).@count > 1") {
      $0.tags.count { $0.owner.isPaid } > 1
    }
    try same("SUBQUERY(tags, $_1, $_1.isRare == FALSE).@count == 0") { $0.tags.none { !$0.isRare } }
  }

  @Test("Common queries in Swift equal their format strings")
  func twins() throws {
    try same("isActive == TRUE AND age > 3") { $0.isActive && $0.age > 3 }
    try same("age > 3 AND isActive == TRUE") { $0.age > 3 && $0.isActive }
    try same("age > 3 OR isActive == FALSE") { $0.age > 3 || !$0.isActive }
    try same("isActive == TRUE OR age > 3") { $0.isActive || $0.age > 3 }
    try same("isActive == TRUE AND isActive == TRUE") { $0.isActive && $0.isActive }
    try same("bonus == nil OR bonus != nil") { $0.bonus == nil || $0.bonus != nil }
    try same("company == nil OR company != nil") { $0.company == nil || $0.company != nil }
    try same("hired == nil") { $0.hired == nil }
    try same("age >= 1 AND age < 5") { $0.age.in(1..<5) }
    try same("age IN {1, 2}") { $0.age.in(Set([1, 2]).sorted()) }
    try same("bonus IN {1.5}") { $0.bonus.in([1.5]) }
    try same("name.length > 3") { $0.name.length > 3 }
    try same("name == ''") { $0.name.isEmpty }
    try same("name IN[c] {'a', 'b'}") { $0.name.in(["a", "b"], .caseInsensitive) }
    try same("NOT (name CONTAINS[cd] 'x')") {
      !$0.name.contains("x", [.caseInsensitive, .diacriticInsensitive])
    }
    try same("name BEGINSWITH[c] 'x'") { $0.name.hasPrefix("x", .caseInsensitive) }
    try same("company.name.length == 3") { $0.company.name.length == 3 }
    try same("tags.@count == 0 AND tags.@count > 1") { $0.tags.isEmpty && $0.tags.count > 1 }
    try same("tags.@max.rank == 3 OR tags.@sum.rank > 3 OR tags.@avg.rank < 2.0 OR tags.@min.rank == nil") {
      $0.tags.max(\.rank) == 3 || $0.tags.sum(\.rank) > 3 || $0.tags.average(\.rank) < 2
        || $0.tags.min(\.rank) == nil
    }
  }

  @Test("Objects and relationships can be compared with objects, ids and lists of ids")
  func identities() throws {
    let context = try Staff.context()
    let id = Employee(context: context).objectID
    try same("objectID == %@", [id]) { $0.objectID == id }
    try same("objectID != %@", [id]) { $0.objectID != id }
    try same("objectID IN %@", [[id]]) { $0.objectID.in([id]) }
    try same("SELF == %@", [id]) { $0 == id }
    try same("company == %@", [id]) { $0.company == id }
    try same("company != %@", [id]) { $0.company != id }
    try same("company.objectID == %@", [id]) { $0.company.objectID == id }
    try same("company IN %@", [[id]]) { $0.company.in([id]) }
    try same("ANY tags == %@", [id]) { $0.tags.contains(id) }
    try same("company == %@", [House()]) { $0.company == House() }
  }

  @Test("A sort descriptor accepts a key path, a query through to-one relationships, or a string")
  func orders() {
    #expect(FetchOrder(Hand.self) { $0.company.name } == FetchOrder("company.name"))
    #expect(FetchOrder(Hand.self, ascending: false) { $0.age } == FetchOrder(\Hand.age, ascending: false))
    #expect(FetchOrder(House.self) { $0.workers.count } == FetchOrder("workers.@count"))
    #expect(FetchOrder(Hand.self) { $0.company.workers.count } == FetchOrder("company.workers.@count"))
  }

  @Test("Text comparisons accept options")
  func strings() {
    #expect(
      text { $0.name.contains("é", [.caseInsensitive, .diacriticInsensitive]) } == "name CONTAINS[cd] \"é\"")
    #expect(text { $0.name.hasPrefix("a") } == "name BEGINSWITH \"a\"")
    #expect(text { $0.company.name.hasSuffix("a", .caseInsensitive) } == "company.name ENDSWITH[c] \"a\"")
    #expect(text { $0.name.like("a*") || $0.name.matches("a+") } == "name LIKE \"a*\" OR name MATCHES \"a+\"")
    #expect(text { $0.name.equals("a", .caseInsensitive) } == "name ==[c] \"a\"")
  }

  @Test("Relationships can be compared with nil and with objects")
  func objects() {
    #expect(text { $0.company == nil } == "company == NULL")
    #expect(text { $0.company == House() } == "company == REFERENCE(\"7\")")
    #expect(text { $0.is(ObjectReference(rawValue: 3)) } == "SELF == REFERENCE(\"3\")")
  }

  @Test("Operations on collections become aggregates, and subqueries with separate variables")
  func collections() throws {
    #expect(text { $0.tags.count > 2 } == "tags.@count > 2")
    #expect(text { $0.tags.isEmpty } == "tags.@count == 0")
    #expect(text { $0.tags.sum(\.weight) > 5 } == "tags.@sum.weight > 5")
    let any = FetchPredicate.query(Hand.self) { $0.tags.any { $0.text == "x" && $0.weight > 1 } }
    #expect(
      any
        == (try FetchPredicate(format: "SUBQUERY(tags, $_1, $_1.text == 'x' AND $_1.weight > 1).@count > 0")))
    let nested = FetchPredicate.query(Hand.self) {
      $0.tags.all { $0.holders.none { $0.text == "y" } }
    }
    #expect(
      nested
        == (try FetchPredicate(
          format:
            "SUBQUERY(tags, $_1, NOT (SUBQUERY($_1.holders, $_2, $_2.text == 'y').@count == 0)).@count == 0"))
    )
  }

  @Test(
    "`any` with a single comparison becomes ANY, unless the comparison matches absent values")
  func anyOfOne() throws {
    func text(_ query: (EntityRef<Hand>) -> FetchPredicate) -> String {
      "\(FetchPredicate.query(Hand.self, query))"
    }
    #expect(text { $0.tags.any { $0.text == "x" } } == "ANY tags.text == \"x\"")
    #expect(
      text { $0.tags.any { $0.text.hasPrefix("x", .caseInsensitive) } } == "ANY tags.text BEGINSWITH[c] \"x\""
    )
    #expect(text { $0.tags.any { $0.weight.in([1, 2]) } } == "ANY tags.weight IN {1, 2}")
    #expect(text { $0.tags.any { $0.text != "x" } }.hasPrefix("SUBQUERY("))
    #expect(text { $0.tags.any { $0.text == nil } }.hasPrefix("SUBQUERY("))
    #expect(text { $0.tags.any { !($0.text == "x") } }.hasPrefix("SUBQUERY("))
  }

  @Test("A query can have twenty clauses with literals")
  func longQuery() {
    let query = FetchPredicate.query(Hand.self) {
      $0.age > 1 && $0.age < 100 && $0.salary > 2.5 && $0.name == "a" && $0.name != "b" && $0.age != 3
        && $0.bonus > 4 && $0.bonus < 5 && $0.salary >= 6 && $0.salary <= 7 && $0.company.name == "c"
        && $0.age == 8 && $0.name.contains("d") && $0.tags.count > 9 && $0.isActive == true && $0.age > 10
        && $0.salary < 11 && $0.bonus == nil && $0.name > "e" && $0.age >= 12
    }
    guard case .and(let parts) = query else {
      Issue.record("Not an AND.")
      return
    }
    #expect(parts.count == 20)
  }

  @Test("A request made from a query has the predicate of the query")
  func request() {
    let request = FetchRequest<Hand> { $0.age > 30 }
    #expect(request.predicate?.description == "age > 30")
    #expect(FetchOrder(\Hand.name, ascending: false).description == "name descending")
    #expect(FetchOrder("tags.@count").path == PropertyPath("tags", aggregate: .count))
  }
}
