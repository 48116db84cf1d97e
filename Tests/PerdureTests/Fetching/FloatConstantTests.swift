import FoundationEssentials
import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@Entity(indexes: [["float"]])
private final class Reading: ManagedObject {
  var number: Int = 0
  var float: Float?
  var plain: Float?
  @Relationship var group: OrderedToMany<Reading>
}

/// Comparisons of a Float attribute with a constant. A Float equals its value and its printed
/// number. If it has a fraction, it also equals every number between these two. All other
/// comparisons, and those with integers, are by value.
@Suite("Floats and constants")
struct FloatConstantTests {
  private static let floats: [Float] = [
    0.1, 9.99, 0.5, 3, -0.1, -9.99, 0, 16_777_216, 16_777_218, -16_777_216, 123_456_792, 1e20,
    Float(bitPattern: 0x0010_5555), Float(bitPattern: 1), Float(bitPattern: 0x8000_0001),
    Float(bitPattern: 0x007F_FFFF),
    .leastNormalMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .infinity, -.infinity, .nan,
  ]

  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Readings", classes: [Reading.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for (number, float) in (Self.floats.map(Float?.some) + [nil]).enumerated() {
      let reading = Reading(context: context)
      (reading.number, reading.float, reading.plain) = (number, float, float)
    }
    return context
  }

  private func numbers(
    _ context: ManagedObjectContext, _ format: String, _ arguments: [(any PredicateArgument)?] = []
  ) throws -> [Int] {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    return try context.fetch(FetchRequest<Reading>(predicate: predicate)).map(\.number).sorted()
  }

  /// Constants at and around a Float: its value, its printed number, neighbours of both, and the
  /// middle between adjacent Floats.
  private static func constants(around float: Float) -> [Value] {
    guard float.isFinite else { return [.double(Double(float))] }
    let exact = Double(float)
    let shown = Double("\(float)") ?? exact
    let between = exact + (shown - exact) / 2
    var found: [Value] = [exact, shown, between].flatMap { [$0, $0.nextUp, $0.nextDown] }.map(Value.double)
    found.append(.double((exact + Double(float.nextUp)) / 2))
    found.append(.double((exact + Double(float.nextDown)) / 2))
    for text in ["\(float)", "\(exact)", "\(between)"] {
      if let decimal = Decimal(string: text), !decimal.isNaN { found.append(.decimal(decimal)) }
    }
    if let whole = Int64(exactly: exact) { found += [whole, whole + 1, whole - 1].map(Value.integer) }
    return found
  }

  /// The order of a Float and a constant according to the definition.
  private static func order(_ float: Float, _ constant: Value) -> ValueOrder {
    let exact = Value.double(Double(float))
    let byValue = Value.sortOrder(exact, constant)
    if case .integer = constant { return byValue }
    guard float.isFinite, let double = Double("\(float)") else { return byValue }
    let shown = Value.sortOrder(.double(double), constant)
    if byValue == .same || shown == .same { return .same }
    // A Float without a fraction equals only itself and its printed number.
    let hasFraction = Double(float).truncatingRemainder(dividingBy: 1) != 0
    return hasFraction && byValue != shown ? .same : byValue
  }

  /// Whether a comparison of a Float attribute with constants is true according to the definition.
  static func holds(_ float: Float?, _ op: String, _ constants: [Value]) -> Bool {
    guard let float else { return op == "!=" }
    let orders = constants.map { order(float, $0) }
    let isOrdered = !float.isNaN && !constants.contains { "\($0)".contains("nan") }
    switch op {
    case "==": return orders[0] == .same
    case "!=": return orders[0] != .same
    case "IN": return orders.contains(.same)
    case "BETWEEN": return isOrdered && orders[0] != .ascending && orders[1] != .descending
    case "<": return isOrdered && orders[0] == .ascending
    case "<=": return isOrdered && orders[0] != .descending
    case ">": return isOrdered && orders[0] == .descending
    default: return isOrdered && orders[0] != .ascending
    }
  }

  @Test("Every operator follows the definition, with an index, on rows and in memory")
  func everyConstant() throws {
    var random = SeededGenerator.forTest("constants beside floats")
    let context = try context()
    let all = Self.floats.flatMap(Self.constants)
    for isSaved in [false, true] {
      for constant in all {
        let other = random.pick(all)
        for op in ["==", "!=", "<", "<=", ">", ">=", "IN", "BETWEEN"] where random.chance(30) {
          let isList = op == "IN" || op == "BETWEEN"
          let constants = isList ? [constant, other] : [constant]
          let argument: Value = isList ? .list(constants) : constant
          let expected = (Self.floats.map(Float?.some) + [nil]).indices.filter {
            Self.holds($0 < Self.floats.count ? Self.floats[$0] : nil, op, constants)
          }
          for name in ["float", "plain"] {
            let found = try numbers(context, "\(name) \(op) %@", [argument])
            #expect(found == expected, "\(name) \(op) \(argument), saved: \(isSaved)")
          }
        }
      }
      try context.save()
    }
  }

  @Test("A query finds a Float by its printed number, and not by other numbers near it")
  func near() throws {
    let context = try context()
    let tenth = [Self.floats.firstIndex(of: 0.1)!]
    for _ in 0..<2 {
      for name in ["float", "plain"] {
        #expect(try numbers(context, "\(name) == 0.1") == tenth)
        #expect(try numbers(context, "\(name) == %@", [Double(Float(0.1))]) == tenth)
        #expect(try numbers(context, "\(name) == 0.0999999999 OR \(name) == 0.100000002").isEmpty)
        #expect(try numbers(context, "\(name) > 0.0999999999 AND \(name) < 0.100000002") == tenth)
        #expect(try numbers(context, "\(name) == 0.1 AND \(name) < 0.11 AND \(name) > 0.09") == tenth)
        #expect(try numbers(context, "\(name) BETWEEN {9.9899999, 9.99}").count == 1)
        #expect(try numbers(context, "\(name) < 9.9900001 AND \(name) > 9").count == 1)
        for constant in ["16777217", "16777217.0"] {
          #expect(try numbers(context, "\(name) == \(constant)").isEmpty, "\(constant)")
          let below = try numbers(context, "\(name) < \(constant) AND \(name) >= 16777216")
          #expect(below == [Self.floats.firstIndex(of: 16_777_216)!], "\(constant)")
        }
      }
      try context.save()
    }
  }

  @Test("Constants in comparisons with computed expressions are also converted")
  func mixed() throws {
    let context = try context()
    for _ in 0..<2 {
      #expect(try numbers(context, "number < 2 AND plain IN {0.1, number}") == [0])
      #expect(try numbers(context, "plain == TERNARY(number > 0, 9.99, 0.1)") == [0, 1])
      // The same condition in three forms.
      #expect(try numbers(context, "plain <= 9.99 AND float >= 9.99") == [1])
      #expect(try numbers(context, "number == 1 AND 9.99 BETWEEN {plain, float}") == [1])
      #expect(try numbers(context, "number == 1 AND 9.99 BETWEEN {9.99, float}") == [1])
      #expect(try numbers(context, "9.99 IN {plain, float}") == [1])
      #expect(try numbers(context, "{plain, 5} CONTAINS 9.99") == [1])
      #expect(try numbers(context, "TERNARY(number == 1, plain, float) == 9.99") == [1])
      #expect(try numbers(context, "number < 2 AND TERNARY(number == 1, plain, 9.99) == 9.99") == [0, 1])
      #expect(try numbers(context, "9.9900001 IN {plain, float}") == [])
      try context.save()
    }
  }

  @Test("Elements and sets of many Floats are compared with a constant in the same way as single Floats")
  func elementsAndSets() throws {
    let context = try context()
    let all = try context.fetch(FetchRequest<Reading>())
    let one = try #require(all.first { $0.number == 1 })
    one.group.append(one)
    for _ in 0..<2 {
      #expect(try numbers(context, "group.plain[FIRST] == 9.99") == [1])
      #expect(try numbers(context, "group.plain[LAST] IN {9.99, 3}") == [1])
      #expect(try numbers(context, "9.99 IN (group.plain UNION {0.5})") == [1])
      #expect(try numbers(context, "number == 1 AND (group.plain MINUS {9.99}) == {}") == [1])
      #expect(try numbers(context, "number == 1 AND (group.plain INTERSECT {9.99}) == {9.99}") == [1])
      try context.save()
    }
  }

  @Test("Floats in collections and optionals equal their printed numbers, as single Floats do")
  func arguments() throws {
    let single: Float = 9.99
    let arguments: [any PredicateArgument] = [
      [single], [single, 1][...1], [single][...], Set([single]), ["x": single], single...single,
      [Float?.some(single), nil], Float?.some([single][0]).map { [$0] }, [[single]][0],
      Optional([single]) as [Float]?,
    ]
    let number = try #require(Decimal(string: "9.99"))
    for argument in arguments {
      for format in ["%@ IN $list", "$list CONTAINS %@"] {
        let predicate = try FetchPredicate(format: format, number)
        let filled = predicate.withSubstitutionVariables(["list": argument])
        #expect(try filled.evaluate(with: .null), "\(argument)")
        #expect(try predicate.evaluate(with: .null, variables: ["list": argument]), "\(argument)")
      }
      #expect(try FetchPredicate(format: "%@ IN %@", number, argument).evaluate(with: .null), "\(argument)")
    }
    for optional in [Float?.some(single), single] as [(any PredicateArgument)?] {
      #expect(try FetchPredicate(format: "%@ == 9.99", optional).evaluate(with: .null))
    }
    let nested: Float?? = .some(.some(single))
    #expect(try FetchPredicate(format: "%@ == 9.99", nested).evaluate(with: .null))
  }
}
