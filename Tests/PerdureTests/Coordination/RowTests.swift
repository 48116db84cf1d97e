import FoundationEssentials
import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Rows")
struct RowTests {
  static let kinds = FieldKind.allCases.filter { $0 != .absent }

  /// Two slots of each kind, so that a row has several properties of variable length.
  static let columns = (kinds + kinds).enumerated().map {
    RowColumn(property: UInt32($0 + 1), kind: $1)
  }
  static let slots = columns.map(\.property)

  static func layouts(_ columns: [RowColumn] = columns, defaults: [Value] = []) -> RowLayouts {
    let layout = RowLayout(number: 7, columns: columns, slots: slots, standIns: defaults)
    return RowLayouts(current: layout, all: [layout])
  }

  private func view<R>(_ bytes: [UInt8], _ layouts: RowLayouts, _ body: (RowView) throws -> R) throws -> R {
    try bytes.withUnsafeBytes { try body(try RowView(checking: $0, layouts)) }
  }

  @Test("Present and absent values of every kind are read as they were written")
  func roundTrip() throws {
    var random = SeededGenerator.forTest("row round trip")
    let layouts = Self.layouts()
    for _ in 0..<300 {
      let values = Self.columns.map { random.chance(25) ? Value.null : RandomValue.of($0.kind, &random) }
      let bytes = RowWriter(layouts).row { .value(values[$0]) }
      try view(bytes, layouts) { row in
        for (slot, value) in values.enumerated() { #expect(row.value(slot) == value) }
      }
    }
  }

  @Test("Rows with equal content have equal bytes, even if fields are copied from an older row")
  func copying() throws {
    var random = SeededGenerator.forTest("row copying")
    let layouts = Self.layouts()
    for _ in 0..<200 {
      var values = Self.columns.map { random.chance(25) ? Value.null : RandomValue.of($0.kind, &random) }
      let old = RowWriter(layouts).row { .value(values[$0]) }
      let changed = Set(values.indices.filter { _ in random.chance(20) })
      for slot in changed { values[slot] = RandomValue.of(Self.columns[slot].kind, &random) }
      let copied = try view(old, layouts) { row in
        RowWriter(layouts).row(base: row) { changed.contains($0) ? .value(values[$0]) : .copied }
      }
      #expect(copied == RowWriter(layouts).row { .value(values[$0]) })
    }
  }

  @Test("If an older layout lacks a property, the property is read and rewritten as its default")
  func olderLayout() throws {
    let standIns: [Value] = [.integer(5), .null, .null]
    let old = RowLayout(
      number: 1, columns: [RowColumn(property: 2, kind: .string)], slots: [1, 2, 3], standIns: standIns)
    let new = RowLayout(
      number: 2,
      columns: [
        RowColumn(property: 1, kind: .int64), RowColumn(property: 2, kind: .string),
        RowColumn(property: 3, kind: .string),
      ], slots: [1, 2, 3], standIns: standIns)
    let before = RowLayouts(current: old, all: [old])
    let after = RowLayouts(current: new, all: [old, new])
    let bytes = RowWriter(before).row { _ in .value(.string("kept")) }
    try view(bytes, after) { row in
      #expect((0..<3).map { row.value($0) } == [.integer(5), .string("kept"), .null])
      let rewritten = RowWriter(after).row(base: row) { _ in .copied }
      try view(rewritten, after) { row in
        #expect((0..<3).map { row.value($0) } == [.integer(5), .string("kept"), .null])
      }
    }
  }

  @Test("Any bytes are decoded as a row or cause an error, and a decoded row is completely readable")
  func hostileBytes() throws {
    var random = SeededGenerator.forTest("hostile rows")
    let layouts = Self.layouts()
    let good = RowWriter(layouts).row { .value(RandomValue.of(Self.columns[$0].kind, &random)) }
    var passed = 0
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if random.chance(30) { bytes.removeLast(Int.random(in: 0...bytes.count, using: &random)) }
      // The array ends with the row, so that a sanitizer detects reads beyond the end.
      do {
        try view(bytes, layouts) { row in
          passed += 1
          for slot in Self.columns.indices {
            _ = row.value(slot)
            var key = OrderedKey()
            key.append(row, slot, default: .null)
          }
        }
      } catch is RowError {}
    }
    #expect(passed > 0)
  }

  @Test("Each kind of error in the structure of a row has its own code")
  func faults() {
    let layouts = Self.layouts([RowColumn(property: 1, kind: .string), RowColumn(property: 2, kind: .string)])
    let good: [UInt8] = [7, 0, 0, 0, 3, 3, 1, 0, 0, 0, 2, 0, 0, 0, 0x61, 0x62]
    func code(_ change: (inout [UInt8]) -> Void) -> RowError.Code? {
      var bytes = good
      change(&bytes)
      do {
        try view(bytes, layouts) { _ in }
        return nil
      } catch { return (error as? RowError)?.code }
    }
    #expect(code { _ in } == nil)
    #expect(code { $0 = [] } == .truncated)
    #expect(code { $0.removeLast(5) } == .truncated)
    #expect(code { $0[0] = 8 } == .unknownLayout)
    #expect(code { $0[2] = 1 } == .reservedBytes)
    #expect(code { $0[6] = 3 } == .endOffsets)
    #expect(code { $0.append(0) } == .endOffsets)
  }

  @Test("Decimals are split into parts and joined again without loss")
  func decimals() {
    for text in RandomValue.decimals + ["NaN", "-0.00", "1.50", "-340282366920938463463374607431768211455"] {
      let decimal = Decimal(string: text) ?? .nan
      let parts = DecimalParts(decimal)
      #expect(parts.isNaN == decimal.isNaN)
      if !decimal.isNaN { #expect(parts.decimal == decimal, "\(text)") }
    }
    #expect(DecimalParts(Decimal(string: "1.50")!) == DecimalParts(Decimal(string: "1.5")!))
    #expect(Value.decimal(Decimal(string: "-9223372036854775808")!).wholeNumber == .min)
    #expect(Value.decimal(Decimal(string: "9223372036854775808")!).wholeNumber == nil)
    #expect(Value.decimal(Decimal(string: "0.5")!).wholeNumber == nil)
  }
}
