// Represents numbers, truth values, dates and references as words: 64-bit numbers whose unsigned
// order is the order of the values.
//
// A comparison of a field with a constant is then a test whether a word is in a range. This holds
// for every operator and every pair of number kinds. The ends of the range are found by bisection
// with `Value.sortOrder`, so that 5 < 5.5 has only one definition. The search begins at the word of
// the number nearest to the constant, where it usually ends. Index keys contain the same words
// (OrderedKey.swift), so the same ranges bound index scans.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The kinds of fields that are compared as words.
enum WordDomain: Sendable {
  /// Bools and whole numbers.
  case integer
  /// Floats and doubles.
  case double
  case date
  case reference

  init?(_ kind: FieldKind) {
    switch kind {
    case .bool, .int16, .int32, .int64: self = .integer
    case .float, .double: self = .double
    case .date: self = .date
    case .reference: self = .reference
    case .absent, .uuid, .decimal, .string, .data, .url: return nil
    }
  }

  /// The words of values that have an order: all but NaN.
  private var ordered: ClosedRange<UInt64> {
    switch self {
    case .integer, .reference: 0 ... .max
    case .double, .date:
      OrderedKey.orderedBits(-.infinity)...OrderedKey.orderedBits(.infinity)
    }
  }

  /// The word of a value that has the domain's kind, or nil.
  func word(_ value: Value) -> UInt64? {
    switch (self, value) {
    case (.integer, .bool(let bool)): Self.word(bool ? 1 : 0)
    case (.integer, .integer(let integer)): Self.word(integer)
    case (.double, .double(let double)): OrderedKey.orderedBits(double)
    case (.date, .date(let date)): OrderedKey.orderedBits(date.timeIntervalSinceReferenceDate)
    case (.reference, .reference(let reference)): reference.rawValue
    default: nil
    }
  }

  @inline(__always)
  static func word(_ integer: Int64) -> UInt64 { UInt64(bitPattern: integer) ^ 1 << 63 }

  /// The value of a word in `ordered`.
  private func value(_ word: UInt64) -> Value {
    switch self {
    case .integer: return .integer(Int64(bitPattern: word ^ 1 << 63))
    case .reference: return .reference(ObjectReference(rawValue: word))
    case .double: return .double(Self.double(word))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Self.double(word)))
    }
  }

  private static func double(_ word: UInt64) -> Double {
    Double(bitPattern: word >> 63 == 0 ? ~word : word ^ 1 << 63)
  }

  /// The words for which a comparison with a constant holds; nil if there are none, or if the
  /// operator tests neither equality nor order.
  func words(_ op: FetchComparison.Operator, _ constant: Value) -> ClosedRange<UInt64>? {
    if op == .equal, let nan, constant.equals(nan) { return 0...0 }
    // Only equality can hold for values without an order.
    let isComparable = constant.order(constant) != nil && constant.order(value(ordered.lowerBound)) != nil
    guard isComparable || (op == .equal && self == .reference && word(constant) != nil) else { return nil }
    let near = nearestWord(constant)
    let first = bisect(near) { Value.sortOrder(value($0), constant) != .ascending }
    let end = bisect(near) { Value.sortOrder(value($0), constant) == .descending }
    switch op {
    case .equal: return range(first, end)
    case .lessThan: return range(ordered.lowerBound, first)
    case .lessThanOrEqual: return range(ordered.lowerBound, end)
    case .greaterThan: return range(end, nil)
    case .greaterThanOrEqual: return range(first, nil)
    default: return nil
    }
  }

  /// The value NaN; nil if the domain has none.
  private var nan: Value? {
    switch self {
    case .double: .double(.nan)
    case .date: .date(Date(timeIntervalSinceReferenceDate: .nan))
    case .integer, .reference: nil
    }
  }

  /// The words from `low` up to, but not including, `end`; nil is the end of the domain.
  private func range(_ low: UInt64?, _ end: UInt64?) -> ClosedRange<UInt64>? {
    guard let low else { return nil }
    let high = end.map { $0 == 0 ? nil : $0 - 1 } ?? ordered.upperBound
    guard let high, low <= high else { return nil }
    return low...high
  }

  /// The word of a value near a constant, if possible of the nearest; nil if unknown.
  private func nearestWord(_ constant: Value) -> UInt64? {
    if let word = word(constant) { return word }
    return switch (self, constant) {
    case (.integer, .double(let double)): Int64(exactly: double.rounded(.down)).map(Self.word)
    case (.double, .integer(let integer)): OrderedKey.orderedBits(Double(integer))
    case (.double, .bool(let bool)): OrderedKey.orderedBits(bool ? 1 : 0)
    default: nil
    }
  }

  /// The least word for which a condition holds; nil if there is none. The condition must hold for
  /// all greater words.
  ///
  /// - Parameter near: A word that is probably near the result.
  /// - Complexity: O(log d) calls of the condition, for d words between `near` and the result.
  private func bisect(_ near: UInt64?, _ holds: (UInt64) -> Bool) -> UInt64? {
    var (low, high) = (ordered.lowerBound, ordered.upperBound)
    guard holds(high) else { return nil }
    if let near, ordered.contains(near) {
      (low, high) = narrowed(low...high, near, holds)
    }
    while low < high {
      let middle = low + (high - low) / 2
      if holds(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// A part of the range that contains the result, found in growing steps from a word.
  private func narrowed(
    _ range: ClosedRange<UInt64>, _ near: UInt64, _ holds: (UInt64) -> Bool
  ) -> (low: UInt64, high: UInt64) {
    var step: UInt64 = 1
    var known = near
    if holds(near) {
      while known - range.lowerBound >= step, holds(known - step) {
        known -= step
        step = step.multipliedReportingOverflow(by: 2).overflow ? .max : step * 2
      }
      let isBounded = known - range.lowerBound >= step
      return (isBounded ? known - step + 1 : range.lowerBound, known)
    }
    while range.upperBound - known >= step, !holds(known + step) {
      known += step
      step = step.multipliedReportingOverflow(by: 2).overflow ? .max : step * 2
    }
    let isBounded = range.upperBound - known >= step
    return (known + 1, isBounded ? known + step : range.upperBound)
  }
}
