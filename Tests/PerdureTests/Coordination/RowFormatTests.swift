import Foundation
import PerdurePredicates
import Testing

@testable import Perdure

@Suite("FORMAT.md on rows and keys")
struct RowFormatTests {
  /// The lines of a fenced block of bytes; what stands behind a semicolon is for people.
  private func lines(_ fence: String) throws -> [[UInt8]] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("FORMAT.md").path
    let text = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    let start = try #require(text.firstIndex(of: "```\(fence)"))
    return text[(start + 1)...].prefix { $0 != "```" }.map { line in
      line.prefix { $0 != ";" }.split(separator: " ").compactMap { UInt8($0, radix: 16) }
    }
  }

  @Test("The row is the one that a writer makes")
  func row() throws {
    let kinds: [FieldKind] = [.string, .int16, .string, .bool]
    let columns = kinds.enumerated().map { RowColumn(property: UInt32($0 + 1), kind: $1) }
    let layout = RowLayout(number: 258, columns: columns, slots: [1, 2, 3, 4])
    let values: [Value] = [.string("ab"), .integer(-2), .string("é"), .null]
    let bytes = RowWriter(RowLayouts(current: layout, all: [layout])).row { .value(values[$0]) }
    #expect(try lines("row").flatMap { $0 } == bytes)
  }

  @Test("The keys are those of their values")
  func keys() throws {
    let values: [(Value, FieldKind, Bool)] = [
      (.null, .string, false), (.integer(-2), .int16, false), (.integer(1), .int64, true),
      (.double(1), .double, false), (.string("a\u{0}é"), .string, false),
      (.decimal(Decimal(string: "-12.5")!), .decimal, false),
      (.reference(ObjectReference(entity: 2, id: 3)), .reference, false),
    ]
    let keys = values.map { value, kind, isDescending in
      var key = OrderedKey()
      key.append(value, as: kind, descending: isDescending)
      return key.bytes
    }
    #expect(try lines("keys") == keys)
  }
}
