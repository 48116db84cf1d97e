import FoundationEssentials
import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Ordered keys")
struct OrderedKeyTests {
  static let kinds = FieldKind.allCases.filter { $0 != .absent }

  private func key(_ value: Value, _ kind: FieldKind, descending: Bool = false) -> [UInt8] {
    var key = OrderedKey()
    key.append(value, as: kind, descending: descending)
    return key.bytes
  }

  private func order(_ left: [UInt8], _ right: [UInt8]) -> ValueOrder {
    left == right ? .same : left.lexicographicallyPrecedes(right) ? .ascending : .descending
  }

  @Test("Keys of every kind sort like their values", arguments: kinds)
  func order(kind: FieldKind) {
    var random = SeededGenerator.forTest("key order, \(kind)")
    for _ in 0..<4000 {
      let left = random.chance(5) ? Value.null : RandomValue.of(kind, &random)
      let right = random.chance(5) ? Value.null : RandomValue.of(kind, &random)
      let expected = Value.sortOrder(left, right)
      #expect(order(key(left, kind), key(right, kind)) == expected, "\(left) and \(right)")
      let descending = order(key(left, kind, descending: true), key(right, kind, descending: true))
      #expect(descending == expected.reversed, "\(left) and \(right), descending")
    }
  }

  @Test("Compound keys compare component by component, each in its direction")
  func compound() {
    var random = SeededGenerator.forTest("compound keys")
    for _ in 0..<10_000 {
      let shape = (0..<3).map { _ in (kind: random.pick(Self.kinds), isDescending: random.chance(50)) }
      func values() -> [Value] {
        shape.map { random.chance(10) ? .null : RandomValue.of($0.kind, &random) }
      }
      let left = values()
      // About half of the components are equal, so that later components also decide.
      let right = zip(left, values()).map { random.chance(50) ? $0 : $1 }
      var expected = ValueOrder.same
      for (position, component) in shape.enumerated() where expected == .same {
        let order = Value.sortOrder(left[position], right[position])
        expected = component.isDescending ? order.reversed : order
      }
      func key(_ values: [Value]) -> [UInt8] {
        var key = OrderedKey()
        for (value, component) in zip(values, shape) {
          key.append(value, as: component.kind, descending: component.isDescending)
        }
        return key.bytes
      }
      #expect(order(key(left), key(right)) == expected, "\(left) and \(right) under \(shape)")
    }
  }

  @Test("A key made from a row equals the key of the value")
  func fromRow() throws {
    var random = SeededGenerator.forTest("keys of rows")
    let layouts = RowTests.layouts()
    for _ in 0..<300 {
      let values = RowTests.columns.map {
        random.chance(25) ? Value.null : RandomValue.of($0.kind, &random)
      }
      let bytes = RowWriter(layouts).row { .value(values[$0]) }
      try bytes.withUnsafeBytes { bytes in
        let row = try RowView(checking: bytes, layouts)
        for (slot, column) in RowTests.columns.enumerated() {
          var taken = OrderedKey()
          taken.append(row, slot, default: .null, descending: slot % 2 == 1)
          #expect(taken.bytes == key(values[slot], column.kind, descending: slot % 2 == 1))
        }
      }
    }
  }

  @Test("A key begins with a prefix key if and only if its text has that prefix")
  func prefixes() {
    for prefix in RandomValue.texts {
      var start = OrderedKey()
      start.appendPrefix(ofText: prefix)
      let range = KeyRange.prefix(start.bytes)
      let folded = StringFolding.fold(prefix, [])
      for text in RandomValue.texts {
        let isIn = range.contains(key(.string(text), .string))
        #expect(isIn == StringFolding.fold(text, []).starts(with: folded), "\(prefix) in \(text)")
      }
    }
  }

  @Test("Keys have the documented bytes")
  func golden() {
    #expect(key(.null, .string) == [0])
    #expect(key(.integer(-2), .int16) == [1, 0x7F, 255, 255, 255, 255, 255, 255, 254])
    #expect(key(.integer(1), .int64, descending: true) == [254, 0x7F, 255, 255, 255, 255, 255, 255, 254])
    #expect(key(.double(1), .float) == [1, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0])
    #expect(key(.double(-0.0), .double) == [1, 0x80, 0, 0, 0, 0, 0, 0, 0])
    #expect(key(.double(.nan), .double) == [1, 0, 0, 0, 0, 0, 0, 0, 0])
    #expect(key(.string("a\u{0}é"), .string) == [1, 0x61, 0, 255, 0x65, 0xCC, 0x81, 0, 0])
    #expect(key(.decimal(Decimal(string: "-12.5")!), .decimal) == [1, 1, 0xBF, 0xFD, 242, 204, 255])
    #expect(key(.decimal(0), .decimal) == [1, 2])
    #expect(key(.reference(ObjectReference(entity: 2, id: 3)), .reference) == [1, 0, 2, 0, 0, 0, 0, 0, 3])
  }

  @Test("Ranges contain exactly the keys within their bounds")
  func ranges() {
    #expect([UInt8]([1, 0xFF]).afterPrefix() == [2])
    #expect([UInt8]([0xFF, 0xFF]).afterPrefix() == nil)
    #expect(KeyRange.equal([1]).contains([1]))
    #expect(!KeyRange.equal([1]).contains([1, 0]))
    #expect(KeyRange.prefix([1]).contains([1, 0xFF]))
    #expect(!KeyRange.prefix([1]).contains([2]))
    #expect(KeyRange.none.isEmpty)
    #expect(!KeyRange.all.isEmpty)
    let both = KeyRange(lower: [1], upper: [5]).intersection(KeyRange(lower: [3], upper: nil))
    #expect(both == KeyRange(lower: [3], upper: [5]))
  }
}
