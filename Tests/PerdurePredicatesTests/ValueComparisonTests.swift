import Foundation
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Comparison of values") struct ValueComparisonTests {
  /// Values of all types in sort order. The values of an inner array are equal.
  private static let ordered: [[Value]] = [
    [.null],
    [.double(.nan), .decimal(.nan)],
    [.double(-.infinity)],
    [.double(-1e300)],
    [.integer(.min), .double(-0x1p63), .decimal(Decimal(Int64.min))],
    [.double(-1.5), .decimal(Decimal(string: "-1.5")!)],
    [.integer(-1), .double(-1), .decimal(-1)],
    [.integer(0), .bool(false), .double(0), .double(-0.0), .decimal(0)],
    [.double(.leastNonzeroMagnitude)],
    [.decimal(Decimal(string: "1e-128")!)],
    [.double(0.1.nextDown)],
    [.double(0.1), .decimal(Decimal(string: "0.1")!)],
    // The first 37 digits of the exact value of the double 0.1.
    [.decimal(Decimal(string: "0.1000000000000000055511151231257827021")!)],
    [.double(0.1.nextUp), .decimal(Decimal(string: "0.10000000000000002")!)],
    [.integer(1), .bool(true), .double(1), .decimal(1)],
    [.double(4_503_599_627_370_495.5), .decimal(Decimal(string: "4503599627370495.5")!)],
    [.integer(1 << 53), .double(0x1p53), .decimal(Decimal(1 << 53))],
    [.integer(1 << 53 + 1), .decimal(Decimal(1 << 53 + 1))],
    [.integer(1 << 60), .double(0x1p60), .decimal(Decimal(1 << 60))],
    [.decimal(Decimal(string: "1152921504606847000")!)],
    [.integer(.max), .decimal(Decimal(Int64.max))],
    [.double(0x1p63), .decimal(Decimal(string: "9223372036854775808")!)],
    [.decimal(Decimal(string: "1e127")!)],
    [.double(1e127.nextUp)],
    [.double(.greatestFiniteMagnitude)],
    [.double(.infinity)],
    [.string("")], [.string("A")], [.string("a")], [.string("é"), .string("e\u{301}")],
    [.date(.distantPast)], [.date(Date(timeIntervalSinceReferenceDate: 0))],
    [.uuid(UUID(uuidString: "00000000-0000-0000-0000-000000000001")!)],
    [.uuid(UUID(uuidString: "80000000-0000-0000-0000-000000000000")!)],
    [.data(Data())], [.data(Data([1]))], [.data(Data([1, 0]))], [.data(Data([0x80]))],
    [.url(URL(string: "http://a")!)], [.url(URL(string: "http://b")!)],
    [.reference(ObjectReference(rawValue: 1))], [.reference(ObjectReference(rawValue: .max))],
    [.list([])], [.list([.integer(1)]), .list([.double(1)])], [.list([.integer(1), .null])],
    [.list([.integer(2)])],
  ]

  @Test("The sort order is total and agrees with equality")
  func totalOrder() {
    let ranked = Self.ordered.enumerated().flatMap { rank, values in values.map { (rank, $0) } }
    for (leftRank, left) in ranked {
      for (rightRank, right) in ranked {
        let expected: ValueOrder =
          leftRank == rightRank ? .same : leftRank < rightRank ? .ascending : .descending
        #expect(Value.sortOrder(left, right) == expected, "\(left) and \(right)")
        #expect(left.equals(right) == (leftRank == rightRank), "\(left) and \(right)")
        if let order = left.order(right) { #expect(order == expected) }
      }
    }
  }

  @Test("Null, NaN, objects, lists and values of different types have no order")
  func noOrder() {
    let values: [Value] = [
      .null, .double(.nan), .reference(ObjectReference(rawValue: 1)), .list([]), .string("1"), .integer(1),
    ]
    for (index, left) in values.enumerated() {
      for (other, right) in values.enumerated() where index != other {
        #expect(left.order(right) == nil, "\(left) and \(right)")
      }
    }
    for value in values.prefix(4) { #expect(value.order(value) == nil) }
    #expect(Value.integer(1).order(.bool(false)) == .descending)
    #expect(Value.string("a").order(.string("B"), options: .caseInsensitive) == .ascending)
  }

  @Test("Numbers of different types compare exactly")
  func exactNumbers() {
    var generator = SeededGenerator.forTest("numbers")
    for _ in 0..<5_000 {
      let whole = Int64(truncatingIfNeeded: generator.next()) >> Int64.random(in: 0...62, using: &generator)
      let near = Double(whole) + Double(Int.random(in: -2...2, using: &generator)) / 2
      let decimal = Decimal(whole) + Decimal(Int.random(in: -2...2, using: &generator)) / 2
      // A decimal with 38 digits represents each of these numbers exactly.
      let exact = abs(near) < 0x1p62 ? Decimal(Int64(near)) + Decimal(near - Double(Int64(near))) : nil
      if let exact {
        let expected: ValueOrder =
          Decimal(whole) == exact ? .same : Decimal(whole) < exact ? .ascending : .descending
        #expect(Value.integer(whole).order(.double(near)) == expected, "\(whole) \(near)")
        let mixed: ValueOrder = exact == decimal ? .same : exact < decimal ? .ascending : .descending
        #expect(Value.double(near).order(.decimal(decimal)) == mixed, "\(near) \(decimal)")
      }
    }
  }

  @Test("Structural equality distinguishes types and is consistent with hashing")
  func structure() {
    #expect(Value.integer(1) != .double(1))
    #expect(Value.double(.nan) == .double(.nan))
    #expect(Set([Value.double(.nan), .double(.nan), .double(0), .double(-0.0)]).count == 2)
    #expect(Set(Self.ordered.joined()).count == Self.ordered.joined().count - 1)
    #expect(Value.string("é") != .string("e\u{301}"))
  }
}
