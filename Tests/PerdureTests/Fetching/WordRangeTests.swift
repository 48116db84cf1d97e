import Foundation
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Ranges of words that compare with a constant")
struct WordRangeTests {
  private static let operators: [FetchComparison.Operator] = [
    .equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
  ]

  private func value(_ word: UInt64, _ domain: WordDomain) -> Value {
    let number = word >> 63 == 0 ? ~word : word ^ 1 << 63
    return switch domain {
    case .integer: .integer(Int64(bitPattern: word ^ 1 << 63))
    case .reference: .reference(ObjectReference(rawValue: word))
    case .double: .double(Double(bitPattern: number))
    case .date: .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: number)))
    }
  }

  private func holds(_ op: FetchComparison.Operator, _ left: Value, _ right: Value) -> Bool {
    if op == .equal { return left.equals(right) }
    guard let order = left.order(right) else { return false }
    return switch op {
    case .lessThan: order == .ascending
    case .lessThanOrEqual: order != .descending
    case .greaterThan: order == .descending
    default: order != .ascending
    }
  }

  private func constants(_ random: inout SeededGenerator) -> [Value] {
    var doubles: [Double] = [
      0, -0.0, 1, -1, 0.5, -0.5, .infinity, -.infinity, .nan, .leastNonzeroMagnitude, 9.3e18, -9.3e18,
      .greatestFiniteMagnitude,
    ]
    var integers: [Int64] = [0, 1, -1, .max, .min, .max - 1, 1 << 53, (1 << 53) + 1]
    for _ in 0..<10 {
      doubles.append(Double.random(in: -1e6...1e6, using: &random))
      doubles.append(Double(bitPattern: random.next()))
      integers.append(Int64(bitPattern: random.next()))
    }
    return doubles.map(Value.double) + integers.map(Value.integer)
      + doubles.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
      + [
        .bool(true), .bool(false), .reference(ObjectReference(rawValue: random.next())), .string("1"),
        .list([]),
      ]
      + ["0.1", "-7.5", "123456789012345678901234567890"].compactMap { Decimal(string: $0) }.map(
        Value.decimal)
  }

  @Test("A word is in the range if and only if its value satisfies the comparison with the constant")
  func membership() {
    var random = SeededGenerator.forTest("ranges of words")
    for domain in [WordDomain.integer, .double, .date, .reference] {
      for constant in constants(&random) {
        for op in Self.operators { check(domain, op, constant, using: &random) }
      }
    }
  }

  private func check(
    _ domain: WordDomain, _ op: FetchComparison.Operator, _ constant: Value,
    using random: inout SeededGenerator
  ) {
    let words = domain.words(op, constant)
    var probes = (0..<6).map { _ in random.next() }
    if let own = domain.word(constant) { probes += [own &- 1, own, own &+ 1] }
    if let words {
      probes += [words.lowerBound, words.upperBound, words.lowerBound &- 1, words.upperBound &+ 1]
    }
    for probe in probes {
      let value = value(probe, domain)
      // Skips words that represent NaN, which has no order.
      if domain != .integer, domain != .reference, value.order(value) == nil { continue }
      #expect(
        (words?.contains(probe) ?? false) == holds(op, value, constant),
        "\(value) \(op) \(constant) in \(domain)")
    }
  }
}
