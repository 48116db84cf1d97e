// Lists and items as plain arrays, and conditions on these arrays. Each condition is computed
// twice. Perdure computes it from its format string. This file computes it from the arrays, without
// code of Perdure.

import Foundation
import PerdureTestSupport

/// The attributes of an item.
struct PlainItem {
  let number: Int
  /// Whether the item is an object of the subentity.
  let isSpecial: Bool
  var name: String?
  var n: Int64?
  var flags: Int64?
  var price: Decimal?
  var ratio: Double?

  init(_ number: Int, isSpecial: Bool, _ random: inout SeededGenerator) {
    (self.number, self.isSpecial) = (number, isSpecial)
    change(&random)
  }

  /// Gives every attribute a random value, or no value.
  mutating func change(_ random: inout SeededGenerator) {
    name = random.pick(["a", "b", "c", "ab", nil])
    n = random.chance(15) ? nil : Int64.random(in: -3...6, using: &random)
    flags = random.pick([0, 1, 5, 6, 255, -1, .min, .max, nil])
    price = random.pick(["0.1", "0.2", "0.3", "1.25", "12345678901234567890.5", nil, nil]).flatMap {
      Decimal(string: $0)
    }
    if random.chance(5) { price = .nan }
    ratio = random.pick([0.5, 1.5, 2, -1, .nan, .infinity, nil])
  }
}

/// The content that one context shows. Objects are identified by numbers.
struct PlainLists {
  var items: [Int: PlainItem] = [:]
  var lists: [Int: [Int]] = [:]

  func members(_ list: Int) -> [PlainItem] { lists[list]!.map { items[$0]! } }

  /// The items of the list that contains an item. Empty if no list contains it.
  func neighbours(_ item: Int) -> [PlainItem] {
    lists.keys.first { lists[$0]!.contains(item) }.map(members) ?? []
  }

  mutating func unlink(_ item: Int) {
    for list in lists.keys { lists[list]!.removeAll { $0 == item } }
  }
}

// MARK: - Conditions

/// An operator between two values, each of which may be missing. nil and NaN equal only themselves,
/// and have no order.
enum PlainOperator: String, CaseIterable {
  case equal = "=="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="

  func holds<T: Comparable>(_ left: T?, _ right: T?) -> Bool {
    guard let left, let right, !isNaN(left), !isNaN(right) else {
      let isSame = left == nil ? right == nil : right.map { isNaN(left!) && isNaN($0) } ?? false
      return self == .equal ? isSame : self == .notEqual && !isSame
    }
    switch self {
    case .equal: return left == right
    case .notEqual: return left != right
    case .less: return left < right
    case .lessOrEqual: return left <= right
    case .greater: return left > right
    case .greaterOrEqual: return left >= right
    }
  }

  private func isNaN<T>(_ value: T) -> Bool {
    (value as? Double)?.isNaN ?? (value as? Decimal)?.isNaN ?? false
  }
}

/// A condition on the items of a list, in order.
struct PlainCondition {
  let format: String
  let holds: ([PlainItem]) -> Bool

  init(_ format: String, _ holds: @escaping ([PlainItem]) -> Bool) {
    (self.format, self.holds) = (format, holds)
  }
}

/// The element of a list at a position.
private enum PlainPosition {
  case first, last
  case at(Int)
  case beforeEnd(Int)

  func text(_ path: String) -> String {
    switch self {
    case .first: "\(path)[FIRST]"
    case .last: "\(path)[LAST]"
    case .at(let position): "\(path)[\(position)]"
    case .beforeEnd(let distance): "\(path)[\(path).@count - \(distance)]"
    }
  }

  func element<T>(_ elements: [T]) -> T? {
    let position =
      switch self {
      case .first: 0
      case .last: elements.count - 1
      case .at(let position): position
      case .beforeEnd(let distance): elements.count - distance
      }
    return elements.indices.contains(position) ? elements[position] : nil
  }
}

/// Random conditions on the items at the end of a path.
struct RandomPlainCondition {
  let path: String
  var random: SeededGenerator

  /// - Parameter sample: The items of some list, so that a list satisfies many conditions.
  mutating func condition(_ sample: [PlainItem], depth: Int = 2) -> PlainCondition {
    guard depth > 0, random.chance(40) else { return simple(sample) }
    let (left, right) = (condition(sample, depth: depth - 1), condition(sample, depth: depth - 1))
    switch random.pick(0..<3) {
    case 0: return .init("(\(left.format)) AND (\(right.format))") { left.holds($0) && right.holds($0) }
    case 1: return .init("(\(left.format)) OR (\(right.format))") { left.holds($0) || right.holds($0) }
    default: return .init("NOT (\(left.format))") { !left.holds($0) }
    }
  }

  private mutating func simple(_ sample: [PlainItem]) -> PlainCondition {
    switch random.pick(0..<12) {
    case 0: name()
    case 1: number()
    case 2: bits()
    case 3: twoElements()
    case 4: size()
    case 5: wholeList(sample)
    case 6: distinctList(sample)
    case 7: quantifiedName()
    case 8: quantifiedNumber()
    case 9: aggregate()
    case 10: subquery()
    default: entity()
    }
  }

  private mutating func position() -> PlainPosition {
    random.pick([.first, .last, .at(0), .at(1), .at(2), .at(5), .at(-1), .beforeEnd(1), .beforeEnd(2)])
  }

  // MARK: One element

  private mutating func name() -> PlainCondition {
    let (position, text) = (position(), random.pick(["a", "b", "c", "ab"]))
    let element = "\(position.text(path)).name"
    switch random.pick(0..<4) {
    case 0:
      return .init("\(element) BEGINSWITH '\(text)'") {
        position.element($0)?.name?.hasPrefix(text) ?? false
      }
    case 1:
      return .init("\(element) IN {'\(text)', 'c'}") {
        position.element($0)?.name.map { [text, "c"].contains($0) } ?? false
      }
    case 2:
      let isEqual = random.chance(50)
      return .init("\(element) \(isEqual ? "==" : "!=") nil") {
        (position.element($0)?.name == nil) == isEqual
      }
    default:
      let sign = random.pick(PlainOperator.allCases)
      return .init("\(element) \(sign.rawValue) '\(text)'") { sign.holds(position.element($0)?.name, text) }
    }
  }

  private mutating func number() -> PlainCondition {
    let (position, sign) = (position(), random.pick(PlainOperator.allCases))
    let element = position.text(path)
    switch random.pick(0..<3) {
    case 0:
      let number = Int64.random(in: -3...6, using: &random)
      return .init("\(element).n \(sign.rawValue) \(number)") { sign.holds(position.element($0)?.n, number) }
    case 1:
      let price = random.pick(["0.1", "0.3", "0.30", "1.25", "12345678901234567890.5"])
      return .init("\(element).price \(sign.rawValue) \(price)") {
        sign.holds(position.element($0)?.price, Decimal(string: price))
      }
    default:
      let ratio = random.pick([0.5, 1.5, 2])
      return .init("\(element).ratio \(sign.rawValue) \(ratio)") {
        sign.holds(position.element($0)?.ratio, ratio)
      }
    }
  }

  private mutating func bits() -> PlainCondition {
    let (position, mask) = (position(), random.pick([0, 1, 4, 5, 255, 63] as [Int64]))
    let value = random.pick([0, 1, 4, 5, -1] as [Int64])
    let (function, compute) = random.pick(
      [
        ("bitwiseAnd:with:", { $0 & mask }), ("bitwiseOr:with:", { $0 | mask }),
        ("bitwiseXor:with:", { $0 ^ mask }), ("leftshift:by:", { $0 << mask }),
        ("rightshift:by:", { $0 >> mask }),
      ] as [(String, (Int64) -> Int64)])
    let sign = random.pick(PlainOperator.allCases)
    return .init("\(function)(\(position.text(path)).flags, \(mask)) \(sign.rawValue) \(value)") {
      sign.holds(position.element($0)?.flags.map(compute), value)
    }
  }

  private mutating func twoElements() -> PlainCondition {
    let (left, right) = (position(), position())
    let (first, second) = (left.text(path), right.text(path))
    let sign = random.pick(PlainOperator.allCases)
    switch random.pick(0..<5) {
    case 0:
      let isEqual = random.chance(50)
      return .init("\(first) \(isEqual ? "==" : "!=") \(second)") {
        (left.element($0)?.number == right.element($0)?.number) == isEqual
      }
    case 1:
      return .init("\(first).name \(sign.rawValue) \(second).name") {
        sign.holds(left.element($0)?.name, right.element($0)?.name)
      }
    case 2:
      return .init("\(first).ratio \(sign.rawValue) \(second).ratio") {
        sign.holds(left.element($0)?.ratio, right.element($0)?.ratio)
      }
    case 3:
      return .init("\(first).price \(sign.rawValue) \(second).price") {
        sign.holds(left.element($0)?.price, right.element($0)?.price)
      }
    default:
      return .init("\(first).n \(sign.rawValue) \(second).ratio") {
        sign.holds(left.element($0)?.n.map(Double.init), right.element($0)?.ratio)
      }
    }
  }

  // MARK: All elements

  private mutating func size() -> PlainCondition {
    let (sign, count) = (random.pick(PlainOperator.allCases), random.pick(0..<5))
    let size = random.pick(["\(path)[SIZE]", "\(path).@count", "count:(\(path))"])
    return .init("\(size) \(sign.rawValue) \(count)") { sign.holds($0.count, count) }
  }

  private static func text(_ values: [String?]) -> String {
    "{\(values.map { $0.map { "'\($0)'" } ?? "nil" }.joined(separator: ", "))}"
  }

  private mutating func wholeList(_ sample: [PlainItem]) -> PlainCondition {
    let isEqual = random.chance(70)
    let sign = isEqual ? "==" : "!="
    let items = random.chance(70) ? sample : sample.shuffled(using: &random)
    switch random.pick(0..<3) {
    case 0:
      let numbers = items.map(\.n)
      let text = numbers.map { $0.map(String.init) ?? "nil" }.joined(separator: ", ")
      return .init("\(path).n \(sign) {\(text)}") { ($0.map(\.n) == numbers) == isEqual }
    case 1:
      let names = items.map(\.name)
      return .init("\(path).@unionOfObjects.name \(sign) \(Self.text(names))") {
        ($0.map(\.name) == names) == isEqual
      }
    default:
      let names = items.map(\.name)
      return .init("\(path).name \(sign) \(Self.text(names))") { ($0.map(\.name) == names) == isEqual }
    }
  }

  private mutating func distinctList(_ sample: [PlainItem]) -> PlainCondition {
    func distinct(_ items: [PlainItem]) -> [String?] {
      items.map(\.name).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
    let names = distinct(random.chance(70) ? sample : sample.reversed())
    return .init("\(path).@distinctUnionOfObjects.name == \(Self.text(names))") { distinct($0) == names }
  }

  /// ANY, ALL or NONE of a condition on one item.
  private mutating func quantified(
    _ comparison: String, _ holds: @escaping (PlainItem) -> Bool
  ) -> PlainCondition {
    switch random.pick(0..<3) {
    case 0: .init("ANY \(comparison)") { $0.contains(where: holds) }
    case 1: .init("ALL \(comparison)") { $0.allSatisfy(holds) }
    default: .init("NONE \(comparison)") { !$0.contains(where: holds) }
    }
  }

  private mutating func quantifiedName() -> PlainCondition {
    let text = random.pick(["a", "b", "c", nil])
    let sign = random.pick([PlainOperator.equal, .notEqual])
    return quantified("\(path).name \(sign.rawValue) \(text.map { "'\($0)'" } ?? "nil")") {
      sign.holds($0.name, text)
    }
  }

  private mutating func quantifiedNumber() -> PlainCondition {
    let sign = random.pick(PlainOperator.allCases)
    switch random.pick(0..<4) {
    case 0:
      return quantified("\(path).price \(sign.rawValue) 0.3") { sign.holds($0.price, Decimal(string: "0.3")) }
    case 1: return quantified("\(path).ratio \(sign.rawValue) 1.5") { sign.holds($0.ratio, 1.5) }
    case 2: return quantified("\(path).n BETWEEN {0, 3}") { $0.n.map { (0...3).contains($0) } ?? false }
    default:
      let number = Int64.random(in: -3...6, using: &random)
      return quantified("\(path).n \(sign.rawValue) \(number)") { sign.holds($0.n, number) }
    }
  }

  private mutating func aggregate() -> PlainCondition {
    let sign = random.pick(PlainOperator.allCases)
    let number = Int64.random(in: -3...9, using: &random)
    let condition = "n \(sign.rawValue) \(number)"
    switch random.pick(0..<5) {
    case 0: return .init("\(path).@sum.\(condition)") { sign.holds($0.compactMap(\.n).reduce(0, +), number) }
    case 1: return .init("\(path).@max.\(condition)") { sign.holds($0.compactMap(\.n).max(), number) }
    case 2: return .init("\(path).@min.\(condition)") { sign.holds($0.compactMap(\.n).min(), number) }
    case 3:
      return .init("\(path).@avg.\(condition)") {
        let numbers = $0.compactMap(\.n)
        let mean = numbers.isEmpty ? nil : Double(numbers.reduce(0, +)) / Double(numbers.count)
        return sign.holds(mean, Double(number))
      }
    default:
      return .init("\(path).@sum.price \(sign.rawValue) 0.6") {
        let prices = $0.compactMap(\.price)
        let sum = prices.contains(where: \.isNaN) ? .nan : prices.reduce(0, +)
        return sign.holds(sum, Decimal(string: "0.6"))
      }
    }
  }

  private mutating func subquery() -> PlainCondition {
    let (number, position) = (Int64.random(in: -2...6, using: &random), position())
    let filtered = "SUBQUERY(\(path), $i, $i.n < \(number))"
    func kept(_ items: [PlainItem]) -> [PlainItem] { items.filter { PlainOperator.less.holds($0.n, number) } }
    if case .beforeEnd = position {
      let count = random.pick(0..<4)
      return .init("\(filtered).@count == \(count)") { kept($0).count == count }
    }
    let text = random.pick(["a", "b", "c"])
    return .init("\(position.text(filtered)).name == '\(text)'") { position.element(kept($0))?.name == text }
  }

  private mutating func entity() -> PlainCondition {
    if random.chance(50) {
      let count = random.pick(0..<3)
      return .init("SUBQUERY(\(path), $i, $i.entity.name == 'Special').@count == \(count)") {
        $0.count { $0.isSpecial } == count
      }
    }
    let position = position()
    return .init("\(position.text(path)).entity.name == 'Special'") {
      position.element($0)?.isSpecial ?? false
    }
  }
}
