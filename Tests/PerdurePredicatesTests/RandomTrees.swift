import Foundation
import PerdurePredicates
import PerdureTestSupport

/// Creates random trees in normal form (see FetchExpression.swift) with the properties of
/// TestCompany's employees.
struct RandomTrees {
  var generator: SeededGenerator
  /// Whether trees may contain functions that this engine does not evaluate, unknown names and free
  /// variables.
  var isWild: Bool
  private var bound: [String] = []

  init(_ generator: SeededGenerator, isWild: Bool) {
    self.generator = generator
    self.isWild = isWild
  }

  mutating func predicate(_ depth: Int = 4) -> FetchPredicate {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0 where depth > 0: return .not(predicate(depth - 1))
    case 1...2 where depth > 0: return .and(predicates(depth - 1))
    case 3...4 where depth > 0: return .or(predicates(depth - 1))
    case 5 where generator.chance(30): return generator.chance(50) ? .true : .false
    default: return .comparison(comparison(depth))
    }
  }

  private mutating func predicates(_ depth: Int) -> [FetchPredicate] {
    (0..<Int.random(in: 2...3, using: &generator)).map { _ in predicate(depth) }
  }

  private mutating func comparison(_ depth: Int) -> FetchComparison {
    FetchComparison(
      expression(depth - 1), generator.pick(FetchComparison.Operator.allCases), expression(depth - 1),
      modifier: generator.chance(60) ? .direct : generator.pick(FetchComparison.Modifier.allCases),
      options: generator.chance(60)
        ? [] : StringOptions(rawValue: UInt8.random(in: 0...15, using: &generator)))
  }

  mutating func expression(_ depth: Int) -> FetchExpression {
    let isLeaf = depth <= 0 || generator.chance(50)
    switch Int.random(in: 0..<(isLeaf ? 8 : 17), using: &generator) {
    case 0...2: return .constant(value(depth))
    case 3...5: return .keyPath(path())
    case 6:
      if let name = bound.randomElement(using: &generator), generator.chance(70) { return .variable(name) }
      return isWild ? .variable(name()) : .evaluatedObject
    case 7: return .evaluatedObject
    case 8...9: return function(depth - 1)
    case 10: return .list((0..<Int.random(in: 0...3, using: &generator)).map { _ in expression(depth - 1) })
    case 11: return subquery(depth - 1)
    case 12: return .conditional(predicate(depth - 1), expression(depth - 1), expression(depth - 1))
    case 13:
      return .set(
        generator.pick(FetchExpression.SetOperation.allCases), expression(depth - 1), expression(depth - 1))
    case 14...15: return element(depth - 1)
    default: return member(depth - 1)
    }
  }

  private mutating func function(_ depth: Int) -> FetchExpression {
    var functions = FetchFunction.allCases
    if !isWild { functions.removeAll { [.random, .randomBelow, .distance, .call].contains($0) } }
    let function = generator.pick(functions)
    let counts = function.argumentCounts
    var arguments = (0..<min(counts.lowerBound + Int.random(in: 0...2, using: &generator), counts.upperBound))
      .map { _ in expression(depth) }
    if function == .cast, !isWild { arguments[1] = .constant(.string("NSNumber")) }
    if function == .negate, case .constant = arguments[0] { arguments[0] = .keyPath(path()) }
    return .function(function, arguments)
  }

  private mutating func subquery(_ depth: Int) -> FetchExpression {
    let collection = expression(depth)
    let variable = generator.pick(["x", "y", "item_1"])
    bound.append(variable)
    defer { bound.removeLast() }
    return .subquery(collection: collection, variable: variable, predicate: predicate(depth))
  }

  private mutating func element(_ depth: Int) -> FetchExpression {
    let base = expression(depth)
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: return .element(of: base, .first)
    case 1: return .element(of: base, .last)
    case 2: return .element(of: base, .size)
    default: return .element(of: base, .at(.constant(.integer(Int64.random(in: -1...2, using: &generator)))))
    }
  }

  /// A path that starts at an expression. In normal form, a path that starts at the evaluated
  /// object is a plain key path. A path that starts at another path is part of that path.
  private mutating func member(_ depth: Int) -> FetchExpression {
    switch expression(depth) {
    case .evaluatedObject: return .keyPath(path())
    case .keyPath(let path) where path.aggregate == nil: return .keyPath(path)
    case .member(let base, let path) where path.aggregate == nil: return .member(of: base, path)
    case let base: return .member(of: base, path())
    }
  }

  private mutating func path() -> PropertyPath {
    let names = (0..<Int.random(in: 1...3, using: &generator)).map { _ in name() }
    return PropertyPath(
      names, aggregate: generator.chance(30) ? generator.pick(CollectionOperator.allCases) : nil)
  }

  private mutating func name() -> String {
    let known = [
      "name", "age", "salary", "nick", "isLead", "marks", "company", "boss", "employees", "department",
      "tags",
    ]
    let wild = [
      "in", "size", "SELF", "año", "two words", "a\"b", "first", "1st", "TRUE", "select", "_x", "a.b", "%@",
      "#x", "É",
    ]
    return isWild && generator.chance(30) ? generator.pick(wild) : generator.pick(known)
  }

  mutating func value(_ depth: Int) -> Value {
    switch Int.random(in: 0..<14, using: &generator) {
    case 0: return .null
    case 1: return .bool(generator.chance(50))
    case 2: return .integer(Int64(truncatingIfNeeded: generator.next()))
    case 3: return .integer(Int64.random(in: -2...40, using: &generator))
    case 4:
      return .double(
        generator.pick([0.0, -0.0, 1.5, -2.25, 1e300, .infinity, -.infinity, .nan, .leastNonzeroMagnitude]))
    case 5: return .decimal(generator.pick([0, Decimal(string: "-1.25")!, Decimal(string: "1e100")!, .nan]))
    case 6...7: return .string(text())
    case 8: return .date(Date(timeIntervalSinceReferenceDate: generator.pick([0, -1.5, 1e9, 0.1])))
    case 9:
      return .uuid(
        UUID(uuidString: "0F0F0F0F-0000-4000-8000-\(String(repeating: generator.pick("0aF"), count: 12))")!)
    case 10: return .data(Data(text().utf8))
    case 11:
      return .url(
        URL(string: generator.pick(["https://debian.org/a?b=%20c", "mailto:x@y.z", "file:///tmp"]))!)
    case 12: return .reference(ObjectReference(rawValue: UInt64.random(in: 0...14, using: &generator)))
    default:
      if depth <= 0 { return .integer(3) }
      return .list((0..<Int.random(in: 0...3, using: &generator)).map { _ in value(depth - 1) })
    }
  }

  private mutating func text() -> String {
    let characters: [Character] = [
      "a", "A", "d", "b", "é", "É", "\"", "\\", "'", "\n", "\t", "\u{0}", "*", "?", "%", "@", "$", "\u{301}",
      "🙂", " ",
    ]
    return String((0..<Int.random(in: 0...4, using: &generator)).map { _ in generator.pick(characters) })
  }
}
