import FoundationEssentials
import Perdure
import PerdurePredicates
import Testing

@testable import Perdure

@Entity(indexes: [["price"]])
private final class Item: ManagedObject {
  var number: Int = 0
  var price: Decimal?
  var plain: Decimal?
  var weight: Double?
  @Relationship(inverse: "parts") var whole: Item?
  @Relationship(inverse: "whole") var parts: ToMany<Item>
  @Relationship(inverse: "lines") var bill: Item?
  @Relationship(inverse: "bill") var lines: OrderedToMany<Item>
}

@Suite("Decimals in predicates")
struct DecimalLiteralTests {
  private func context(_ prices: [Decimal]) throws -> ManagedObjectContext {
    let container = try PersistentContainer(name: "Prices", classes: [Item.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for (number, price) in prices.enumerated() {
      let item = Item(context: context)
      (item.number, item.price, item.plain) = (number, price, price)
    }
    // Adds more objects, so that the planner uses an index.
    for number in 100..<140 {
      let item = Item(context: context)
      (item.number, item.price, item.plain) = (number, Decimal(-number), Decimal(-number))
    }
    return context
  }

  private func numbers(
    _ context: ManagedObjectContext, _ format: String, _ arguments: [(any PredicateArgument)?] = []
  ) throws -> [Int] {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    return try context.fetch(FetchRequest<Item>(predicate: predicate)).map(\.number).sorted()
  }

  @Test("A long literal is exact in comparisons with an element at a fixed or computed position")
  func longLiteralsOfElements() throws {
    let text = "12345678901234567890.5"
    let exact = try #require(Decimal(string: text))
    let context = try context([0, exact, exact])
    let items = try context.fetch(FetchRequest<Item>(sortDescriptors: [FetchOrder("number")]))
    items[0].lines.append(contentsOf: [items[1], items[2]])
    for _ in 0..<2 {
      for position in ["1", "LAST", "lines.@count - 1", "lines[SIZE] - 1", "number", "count(lines) - 1"] {
        #expect(try numbers(context, "lines[\(position)].price == \(text)") == [0], "\(position)")
        #expect(try numbers(context, "lines[\(position)].price > \(text)") == [], "\(position)")
      }
      try context.save()
    }
  }

  @Test("Every comparison uses the exact Decimal of a literal with more digits than a Double")
  func longLiterals() throws {
    let text = "12345678901234567890.12345"
    let exact = try #require(Decimal(string: text))
    let context = try context([exact, exact + Decimal(string: "0.00001")!])
    for _ in 0..<2 {
      for name in ["price", "plain"] {
        for format in [
          "\(name) == \(text)", "\(text) == \(name)", "\(name) IN {1.5, \(text)}",
          "\(name) BETWEEN {\(text), 12345678901234567890.123454}", "\(name) > 0 AND \(name) <= \(text)",
          "-\(name) == -\(text)", "\(name) + 1 == 12345678901234567891.12345",
          "\(name) - \(text) == 0 AND \(name) > 1", "abs(\(name)) == \(text)",
          "TERNARY(number == 0, \(name), 0) == \(text)", "max(\(name), 0) == \(text)",
        ] {
          #expect(try numbers(context, format) == [0], "\(format)")
        }
        #expect(try numbers(context, "\(name) > \(text)") == [1])
        #expect(try numbers(context, "\(name) > 0 AND \(name) != \(text)") == [1])
        #expect(try numbers(context, "\(name) == %@", [exact]) == [0])
        #expect(try numbers(context, "\(name) == -\(text)") == [])
      }
      try context.save()
    }
  }

  @Test("A long literal is exact in comparisons with a Decimal aggregate or subquery element")
  func through() throws {
    let context = try context([Decimal(string: "9007199254740993.1")!])
    let part = Item(context: context)
    (part.number, part.price) = (7, Decimal(string: "9007199254740993.1"))
    part.whole = try context.fetch(Item.fetchRequest { $0.number == 0 })[0]
    for _ in 0..<2 {
      for format in [
        "parts.@sum.price == 9007199254740993.1", "parts.@max.price == 9007199254740993.1",
        "ANY parts.price == 9007199254740993.1", "parts.@avg.price == 9007199254740993.1",
        "SUBQUERY(parts, $p, $p.price == 9007199254740993.1).@count == 1",
        "sum(parts.price) == 9007199254740993.1",
      ] {
        #expect(try numbers(context, format) == [0], "\(format)")
      }
      try context.save()
    }
  }

  @Test("In a comparison with a Double, a long literal becomes the nearest Double, as in Swift")
  func doubles() throws {
    let context = try context([])
    let item = Item(context: context)
    (item.number, item.weight) = (1, 3.14159265358979323846)
    for _ in 0..<2 {
      #expect(try numbers(context, "weight == 3.14159265358979323846") == [1])
      #expect(try numbers(context, "weight IN {3.14159265358979323846}") == [1])
      #expect(try numbers(context, "weight * 1.00000000000000000001 == 3.14159265358979323846") == [1])
      try context.save()
    }
    #expect(throws: FetchError.self) {
      try numbers(context, "whole == 3.14159265358979323846")
    }
  }

  @Test("NaN is unequal to every Decimal except NaN, with and without an index")
  func notANumber() throws {
    let context = try context([.nan, 0, Decimal(string: "1e100")!])
    let none = Item(context: context)
    none.number = 3
    for _ in 0..<2 {
      for argument in [Decimal.nan, Double.nan] as [any PredicateArgument] {
        for format in ["== %@", "!= %@", "< %@", "<= %@", "> %@", ">= %@", "IN {%@, 0}"] {
          let plain = try numbers(context, "plain \(format)", [argument])
          #expect(try numbers(context, "price \(format)", [argument]) == plain, "\(format)")
          #expect(
            try numbers(context, "NOT (price \(format))", [argument])
              == (try numbers(context, "NOT (plain \(format))", [argument])), "\(format)")
        }
        #expect(try numbers(context, "price != %@ AND number < 10", [argument]) == [1, 2, 3])
      }
      try context.save()
    }
  }
}
