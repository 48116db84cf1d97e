import FoundationEssentials
import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@Entity
private final class Till: ManagedObject {
  @Relationship(inverse: "till", deleteRule: .cascade) var entries: ToMany<Figure>
}

/// A property of every number type, once with an index and once without.
@Entity(indexes: [["w16"], ["w32"], ["w64"], ["float"], ["double"], ["decimal"]])
private final class Figure: ManagedObject {
  @Relationship(inverse: "entries") var till: Till?
  var number: Int = 0
  var w16: Int16?
  var w32: Int32?
  var w64: Int64?
  var float: Float?
  var double: Double?
  var decimal: Decimal?
  var plainW16: Int16?
  var plainW32: Int32?
  var plainW64: Int64?
  var plainFloat: Float?
  var plainDouble: Double?
  var plainDecimal: Decimal?
}

@Suite("Numbers of different types")
struct NumberRuleTests {
  private static let names = ["w16", "w32", "w64", "float", "double", "decimal"]
  private static let operators = ["==", "!=", "<", "<=", ">", ">="]

  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Numbers", classes: [Till.self, Figure.self], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  private func numbers(
    _ context: ManagedObjectContext, _ format: String, _ arguments: [(any PredicateArgument)?] = []
  ) throws -> [Int] {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    return try context.fetch(FetchRequest<Figure>(predicate: predicate)).map(\.number).sorted()
  }

  /// Returns the numbers of the objects for which a comparison of two values is true, without a
  /// query.
  private func expected(
    _ figures: [Figure], _ name: String, _ op: String, _ other: (Figure) -> Value
  ) -> [Int] {
    figures.filter { figure in
      let (left, right) = (Self.value(figure, name), other(figure))
      let order = left.order(right)
      return switch op {
      case "==": left.equals(right)
      case "!=": !left.equals(right)
      case "<": order == .ascending
      case "<=": order == .ascending || order == .same
      case ">": order == .descending
      default: order == .descending || order == .same
      }
    }.map(\.number).sorted()
  }

  private static func value(_ figure: Figure, _ name: String) -> Value {
    (figure.value(forKey: name) as? any PredicateArgument)?.predicateValue ?? .null
  }

  private func fill(_ context: ManagedObjectContext, _ random: inout SeededGenerator) -> [Figure] {
    (0..<24).map { number in
      let figure = Figure(context: context)
      figure.number = number
      let double = Self.double(&random)
      // Often sets the properties of all types to one number, if they can represent it.
      for name in Self.names {
        let own = random.chance(60) ? double : Self.double(&random)
        let value: (any PredicateArgument)? =
          switch name {
          case "w16": Int16(exactly: own.rounded())
          case "w32": Int32(exactly: own.rounded())
          case "w64": Int64(exactly: own.rounded())
          case "float": Float(own)
          case "double": random.chance(20) ? Double(Float(own)) : own
          default: Decimal(string: "\(own)")
          }
        guard let value else { continue }
        figure.setValue(value, forKey: name)
        figure.setValue(value, forKey: "plain" + name.prefix(1).uppercased() + name.dropFirst())
      }
      return figure
    }
  }

  private static func double(_ random: inout SeededGenerator) -> Double {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return Double(Int.random(in: -40...40, using: &random)) / 10
    case 1: return Double(Int.random(in: -3...3, using: &random))
    case 2: return 0x1p53 + Double(Int.random(in: -2...2, using: &random))
    default: return random.pick([0.1, 9.99, 0.1.nextUp, 16_777_217, 1e-20, -9.99, 0x1p60, 1e22])
    }
  }

  @Test("Two properties of any two number types compare by value, saved or not")
  func properties() throws {
    var random = SeededGenerator.forTest("two numbers")
    for _ in 0..<3 {
      let context = try context()
      let figures = fill(context, &random)
      for _ in 0..<2 {
        for left in Self.names {
          for right in Self.names {
            let op = random.pick(Self.operators)
            let wanted = expected(figures, left, op) { Self.value($0, right) }
            #expect(try numbers(context, "\(left) \(op) \(right)") == wanted, "\(left) \(op) \(right)")
          }
        }
        try context.save()
      }
    }
  }

  @Test("A number argument finds the same objects with an index, without an index, and in memory")
  func arguments() throws {
    var random = SeededGenerator.forTest("numbers as arguments")
    for _ in 0..<3 {
      let context = try context()
      let figures = fill(context, &random)
      let arguments = Self.names.flatMap { name in
        figures.compactMap { $0.value(forKey: name) as? any PredicateArgument }
      }
      for isSaved in [false, true] {
        for name in Self.names {
          let argument = random.pick(arguments)
          let op = random.pick(Self.operators)
          let plain = "plain" + name.prefix(1).uppercased() + name.dropFirst()
          let found = try numbers(context, "\(name) \(op) %@", [argument])
          #expect(try numbers(context, "\(plain) \(op) %@", [argument]) == found, "\(name) \(op) \(argument)")
          let wanted =
            name == "float"
            ? figures.filter { FloatConstantTests.holds($0.float, op, [argument.argumentValue]) }
              .map(\.number).sorted() : expected(figures, name, op) { _ in argument.argumentValue }
          #expect(found == wanted, "\(name) \(op) \(argument), saved: \(isSaved)")
        }
        try context.save()
      }
    }
  }

  @Test("Sorting by any number type follows the comparison order, with and without an index")
  func sorting() throws {
    var random = SeededGenerator.forTest("sorted numbers")
    let context = try context()
    let figures = fill(context, &random)
    for _ in 0..<2 {
      for name in Self.names {
        var request = FetchRequest<Figure>()
        request.sortDescriptors = [FetchOrder(name)]
        let sorted = try context.fetch(request).map { Self.value($0, name) }
        #expect(sorted.count == figures.count)
        for (left, right) in zip(sorted, sorted.dropFirst()) {
          #expect(Value.sortOrder(left, right) != .descending, "\(name): \(left) before \(right)")
        }
        request.sortDescriptors = [FetchOrder("plain" + name.prefix(1).uppercased() + name.dropFirst())]
        #expect(try context.fetch(request).map { Self.value($0, name) } == sorted)
      }
      try context.save()
    }
  }

  @Test("Computed fractions equal their printed form, for example 9.99")
  func looks() throws {
    let context = try context()
    let till = Till(context: context)
    for (price, single) in [("9.99", Float(9.99)), ("0.01", 9.99), ("5", 9.99)] {
      let entry = Figure(context: context)
      entry.decimal = Decimal(string: price)
      (entry.w64, entry.float, entry.double) = (3, single, 9.99)
      entry.till = till
    }
    for _ in 0..<2 {
      for format in [
        "entries.@sum.decimal == 15", "entries.@avg.decimal == 5", "entries.@max.decimal == 9.99",
        "entries.@min.decimal == 0.01", "entries.@sum.w64 == 9.0", "entries.@min.float == 9.99",
        "entries.@max.double == 9.99", "ANY entries.decimal == 9.99", "entries.@max.decimal == %@",
        "SUBQUERY(entries, $e, $e.decimal == $e.double).@count == 1",
        "SUBQUERY(entries, $e, $e.decimal + 0.01 == 10).@count == 1",
        "SUBQUERY(entries, $e, $e.decimal * 1.1 == 10.989).@count == 1",
        "SUBQUERY(entries, $e, $e.decimal + $e.w64 + $e.double == 17.99).@count == 1",
        "SUBQUERY(entries, $e, $e.decimal IN {0.01, 9.99}).@count == 2",
        "SUBQUERY(entries, $e, $e.decimal BETWEEN {9.98, 9.99}).@count == 1",
      ] {
        let arguments = format.contains("%@") ? [Float(9.99)] : []
        let predicate = try FetchPredicate(format: format, argumentArray: arguments)
        #expect(try context.count(for: FetchRequest<Till>(predicate: predicate)) == 1, "\(format)")
      }
      #expect(till.value(forKeyPath: "entries.@sum.decimal") as? Decimal == 15)
      try context.save()
    }
  }

  @Test(
    "A Float property equals a Double property of its value, but no Decimal property of its printed digits")
  func widening() throws {
    let context = try context()
    let figure = Figure(context: context)
    (figure.float, figure.double, figure.decimal) = (9.99, Double(Float(9.99)), Decimal(string: "9.99"))
    for _ in 0..<2 {
      #expect(try numbers(context, "float == double").count == 1)
      #expect(try numbers(context, "float == decimal").isEmpty)
      #expect(try numbers(context, "float == 9.99 AND decimal == 9.99 AND double != 9.99").count == 1)
      #expect(try numbers(context, "float == %@", [Decimal(string: "9.99")]).count == 1)
      try context.save()
    }
  }

  @Test("Sums of doubles are the same in memory, from rows, and by key path")
  func sums() throws {
    var random = SeededGenerator.forTest("sums of doubles")
    let context = try context()
    let till = Till(context: context)
    for _ in 0..<60 {
      let entry = Figure(context: context)
      (entry.double, entry.till) = (Double.random(in: -1e5...1e5, using: &random), till)
    }
    let sum = try #require(till.value(forKeyPath: "entries.@sum.double") as? Double)
    for _ in 0..<2 {
      let predicate = try FetchPredicate(format: "entries.@sum.double == %@", sum)
      #expect(try context.count(for: FetchRequest<Till>(predicate: predicate)) == 1)
      try context.save()
      context.refreshAllObjects()
    }
  }
}
