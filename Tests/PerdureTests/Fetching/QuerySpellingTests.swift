import Foundation
import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@Entity private final class Owner: ManagedObject {
  var code: Int = 0
  @Relationship(inverse: "owner") var items: ToMany<Item>
}

@Entity private final class Item: ManagedObject {
  var rank: Int = 0
  var bonus: Int?
  var weight: Double = 0
  var price: Decimal = 0
  var name: String = ""
  var isOpen: Bool = false
  @Relationship(inverse: "items") var owner: Owner?
}

@Suite("Queries with Swift operators and collection methods")
struct QuerySpellingTests {
  private func same(
    _ format: String, _ location: SourceLocation = #_sourceLocation,
    _ query: (EntityRef<Item>) -> FetchPredicate
  ) throws {
    #expect(
      FetchPredicate.query(Item.self, query) == (try FetchPredicate(format: format)), sourceLocation: location
    )
  }

  @Test("A value can be the left operand")
  func reversed() throws {
    try same("rank > 3") { 3 < $0.rank }
    try same("rank >= 3 AND rank < 9") { 3 <= $0.rank && 9 > $0.rank }
    try same("rank <= 3 OR rank == 5 OR rank != 6") { 3 >= $0.rank || 5 == $0.rank || 6 != $0.rank }
    try same("bonus > 3") { 3 < $0.bonus }
    try same("name == 'a'") { "a" == $0.name }
  }

  @Test("Lists and ranges have a contains method for a property")
  func contained() throws {
    try same("name IN {'a', 'b'}") { ["a", "b"].contains($0.name) }
    try same("bonus IN {1}") { Set([1]).contains($0.bonus) }
    try same("rank BETWEEN {1, 3}") { (1...3).contains($0.rank) }
    try same("rank >= 1 AND rank < 3") { (1..<3).contains($0.rank) }
  }

  @Test("Swift operators for arithmetic and bits give the same predicates as format strings")
  func arithmetic() throws {
    try same("rank + 1 > 3") { $0.rank + 1 > 3 }
    try same("1 - rank * bonus < rank") { 1 - $0.rank * $0.bonus < $0.rank }
    try same("modulus:by:(rank, 2) == 0") { $0.rank % 2 == 0 }
    try same("TERNARY(bonus == nil, 0, bonus) > 3") { ($0.bonus ?? 0) > 3 }
    try same("weight / 2.0 + 2.0 * weight - 1.0 >= 3.0") { $0.weight / 2 + 2 * $0.weight - 1 >= 3 }
    try same("price / price == price") { $0.price / $0.price == $0.price }
    try same("bitwiseAnd:with:(rank, 4) != 0") { $0.rank & 4 != 0 }
    try same("bitwiseXor:with:(bitwiseOr:with:(rank, 1), 2) == onesComplement:(bonus)") {
      ($0.rank | 1) ^ 2 == ~$0.bonus
    }
    try same("bitwiseAnd:with:(rank, bonus) == bitwiseOr:with:(rank, bonus)") {
      $0.rank & $0.bonus == $0.rank | $0.bonus
    }
    try same("modulus:by:(rank, bonus) == bitwiseXor:with:(rank, bonus)") {
      $0.rank % $0.bonus == $0.rank ^ $0.bonus
    }
    try same("negate:(rank) < -3") { -$0.rank < -3 }
  }

  @Test("In a chain of ?? operators, the size of the predicate does not double at each step")
  func repeatedValues() throws {
    try same("TERNARY(bonus == nil, 0, bonus) > 3") {
      (0..<100).reduce($0.bonus) { bonus, number in bonus ?? number } > 3
    }
  }

  @Test("Methods of String and Sequence on properties give the same predicates as format strings")
  func methods() throws {
    try same("lowercase:(name) == 'a' OR uppercase:(name) == 'A'") {
      $0.name.lowercased() == "a" || $0.name.uppercased() == "A"
    }
    try same("name BEGINSWITH 'a' OR name CONTAINS[cd] 'b'") {
      $0.name.starts(with: "a") || $0.name.localizedStandardContains("b")
    }
    try same("ANY owner.items.rank == 3") { $0.owner.items.contains { $0.rank == 3 } }
    try same("ANY owner.items.isOpen == TRUE") { $0.owner.items.contains { $0.isOpen } }
    try same("SUBQUERY(owner.items, $_1, NOT $_1.rank == 3).@count == 0") {
      $0.owner.items.allSatisfy { $0.rank == 3 }
    }
    try same("SUBQUERY(owner.items, $_1, NOT $_1.isOpen == TRUE).@count == 0") {
      $0.owner.items.allSatisfy { $0.isOpen }
    }
  }

  @Test("On random objects, a fetch finds the objects for which the condition is true in Swift")
  func answers() throws {
    var random = SeededGenerator.forTest("spellings of queries")
    let container = try PersistentContainer(
      name: "Items", classes: [Owner.self, Item.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for index in 0..<200 {
      let item = Item(context: context, name: String(["Ab", "bé", "", "aB"][index % 4]))
      item.rank = Int.random(in: -9...9, using: &random)
      item.bonus = Bool.random(using: &random) ? Int.random(in: -9...9, using: &random) : nil
      item.weight = Double(Int.random(in: -90...90, using: &random)) / 4
      item.price = Decimal(Int.random(in: 1...90, using: &random)) / 4
    }
    try context.save()
    func check(
      _ query: (EntityRef<Item>) -> FetchPredicate, _ location: SourceLocation = #_sourceLocation,
      _ expected: (Item) -> Bool
    ) throws {
      let found = Set(try context.fetch(Item.fetchRequest(where: query)))
      let all = try context.fetch(Item.self)
      #expect(found == Set(all.filter(expected)), sourceLocation: location)
      #expect(!found.isEmpty && found.count < all.count, sourceLocation: location)
    }
    try check({ $0.rank + 1 > 3 }) { $0.rank + 1 > 3 }
    try check({ 2 * $0.rank - $0.bonus < 3 }) { item in item.bonus.map { 2 * item.rank - $0 < 3 } ?? false }
    try check({ $0.rank % 3 == -1 }) { $0.rank % 3 == -1 }
    try check({ ($0.bonus ?? 7) > 3 }) { ($0.bonus ?? 7) > 3 }
    try check({ $0.weight / 2 < $0.weight * 0.25 }) { $0.weight / 2 < $0.weight * 0.25 }
    try check({ 10 / $0.price > 1 }) { 10 / $0.price > 1 }
    try check({ ($0.rank & 5 | 2) ^ 3 == 5 }) { ($0.rank & 5 | 2) ^ 3 == 5 }
    try check({ ~$0.rank > 2 }) { ~$0.rank > 2 }
    try check({ -$0.weight > 2.5 }) { -$0.weight > 2.5 }
    try check({ ["Ab", "x"].contains($0.name) }) { ["Ab", "x"].contains($0.name) }
    try check({ (-2..<3).contains($0.rank) }) { (-2..<3).contains($0.rank) }
    try check({ $0.name.lowercased() == "ab" }) { $0.name.lowercased() == "ab" }
    try check({ $0.name.starts(with: "b") }) { $0.name.starts(with: "b") }
    try check({ $0.name.localizedStandardContains("E") }) { $0.name.contains("é") }
  }
}
