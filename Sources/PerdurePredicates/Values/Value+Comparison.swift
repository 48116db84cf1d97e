// The comparison table: the meaning of `==`, `<` and sorting for every pair of values. This file
// defines it, and the row compiler and indexes must give the same results.
//
//              | equals                       | order (< <= > >= BETWEEN)  | sortOrder
//   null, null | true                         | none: all false            | same
//   null, x    | false                        | none                       | null first
//   numbers    | by value; NaN == NaN         | by value; with NaN none    | NaN first, then value
//   text       | canonically equivalent,      | by decomposed bytes, or    | by decomposed
//              | or folded with [c] [d]       | folded: StringComparison   | bytes
//   date       | by value; NaN == NaN         | by time; with NaN none     | NaN first, then time
//   uuid, data | same bytes                   | unsigned bytes             | unsigned bytes
//   url        | same absolute string         | as its text, no options    | as its text
//   reference  | same object                  | none                       | by number
//   list       | same length, equal in turn   | none                       | by element, then count
//   other pair | false                        | none                       | kinds: null, numbers,
//              |                              |                            | text, date, uuid,
//              |                              |                            | data, url, object,
//              |                              |                            | list, object id
//
// Numbers are bool (0 or 1), integer, double and decimal. NumberOrder.swift describes how different
// kinds compare, and why the comparison is exact. "None" makes every ordering comparison false.
// `!=` is always the negation of `==`.
//
// VC1. `sortOrder` is a total order. `equals` without options is true if and only if `sortOrder`
//      returns same.
// VC2. If `order` is not nil, it agrees with `sortOrder` (without options).

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The order of two values.
public enum ValueOrder: Int8, Hashable, Sendable {
  /// The left value is first.
  case ascending = -1
  /// Neither value is first.
  case same = 0
  /// The right value is first.
  case descending = 1

  /// The order with left and right exchanged.
  public var reversed: ValueOrder {
    switch self {
    case .ascending: .descending
    case .same: .same
    case .descending: .ascending
    }
  }
}

extension Value {
  /// Whether two values are equal in a predicate. Kinds that cannot be compared are not equal.
  public func equals(_ other: Value, options: StringOptions = []) -> Bool {
    switch (self, other) {
    case (.string(let left), .string(let right)): StringFolding.equal(left, right, options)
    case (.list(let left), .list(let right)):
      left.count == right.count && zip(left, right).allSatisfy { $0.equals($1, options: options) }
    default: Value.sortOrder(self, other) == .same
    }
  }

  /// The order of two values in a predicate; nil if neither `<` nor `>=` is true.
  public func order(_ other: Value, options: StringOptions = []) -> ValueOrder? {
    switch (self, other) {
    case (.string(let left), .string(let right)): StringFolding.order(left, right, options)
    case (.null, _), (.reference, _), (.objectID, _), (.list, _): nil
    case _ where kindRank != other.kindRank || isNaN || other.isNaN: nil
    default: Value.sortOrder(self, other)
    }
  }

  /// The total order for sorting: nulls first, then numbers (NaN first among them), text, dates,
  /// UUIDs, data, URLs, objects, lists, and object ids as text.
  public static func sortOrder(_ left: Value, _ right: Value) -> ValueOrder {
    switch (left, right) {
    case (.string(let a), .string(let b)): StringFolding.order(a, b, [])
    case (.date(let a), .date(let b)):
      NumberOrder.order(a.timeIntervalSinceReferenceDate, b.timeIntervalSinceReferenceDate)
    case (.uuid(let a), .uuid(let b)): orderBytes(a.uuid, b.uuid)
    case (.data(let a), .data(let b)):
      a.withUnsafeBytes { a in b.withUnsafeBytes { StringFolding.orderBytes(a, $0) } }
    case (.url(let a), .url(let b)): StringFolding.order(a.absoluteString, b.absoluteString, [])
    case (.reference(let a), .reference(let b)): order(a.rawValue, b.rawValue)
    case (.objectID(let a), .objectID(let b)): StringFolding.order(a, b, [])
    case (.list(let a), .list(let b)): orderLists(a, b)
    default:
      left.kindRank == 1 && right.kindRank == 1
        ? orderNumbers(left, right) : order(left.kindRank, right.kindRank)
    }
  }

  /// The rank of the kind in sorting. All kinds of numbers have the same rank.
  private var kindRank: Int {
    switch self {
    case .null: 0
    case .bool, .integer, .double, .decimal: 1
    case .string: 2
    case .date: 3
    case .uuid: 4
    case .data: 5
    case .url: 6
    case .reference: 7
    case .list: 8
    case .objectID: 9
    }
  }

  var isNaN: Bool {
    switch self {
    case .double(let double): double.isNaN
    case .decimal(let decimal): decimal.isNaN
    case .date(let date): date.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }

  private static func order<Number: Comparable>(_ left: Number, _ right: Number) -> ValueOrder {
    left == right ? .same : left < right ? .ascending : .descending
  }

  private static func orderBytes(_ left: uuid_t, _ right: uuid_t) -> ValueOrder {
    withUnsafeBytes(of: left) { left in
      withUnsafeBytes(of: right) { StringFolding.orderBytes(left, $0) }
    }
  }

  private static func orderLists(_ left: [Value], _ right: [Value]) -> ValueOrder {
    for (a, b) in zip(left, right) {
      let order = sortOrder(a, b)
      if order != .same { return order }
    }
    return order(left.count, right.count)
  }
}

// MARK: Numbers

extension Value {
  /// A truth value as a whole number; other values unchanged.
  private var asNumber: Value {
    if case .bool(let bool) = self { .integer(bool ? 1 : 0) } else { self }
  }

  private static func orderNumbers(_ left: Value, _ right: Value) -> ValueOrder {
    switch (left.asNumber, right.asNumber) {
    case (.integer(let a), .integer(let b)): return order(a, b)
    case (.integer(let a), .double(let b)): return NumberOrder.order(a, b)
    case (.double(let a), .integer(let b)): return NumberOrder.order(b, a).reversed
    case (.double(let a), .double(let b)): return NumberOrder.order(a, b)
    default:
      if left.isNaN || right.isNaN { return NumberOrder.order(nan: left.isNaN, right.isNaN) }
      if let infinite = left.infinity ?? right.infinity.map({ -$0 }) {
        return infinite < 0 ? .ascending : .descending
      }
      guard let a = left.scaled, let b = right.scaled else {
        preconditionFailure("Both values must be numbers.")
      }
      return NumberOrder.order(a, b)
    }
  }

  /// The sign of an infinite number. Decimal numbers are finite, so at most one of a mixed pair is
  /// infinite.
  private var infinity: Int? {
    guard case .double(let double) = self, double.isInfinite else { return nil }
    return double < 0 ? -1 : 1
  }

  private var scaled: ScaledNumber? {
    switch asNumber {
    case .integer(let integer): ScaledNumber(integer)
    case .double(let double): ScaledNumber(double)
    case .decimal(let decimal): ScaledNumber(decimal)
    default: nil
    }
  }
}
