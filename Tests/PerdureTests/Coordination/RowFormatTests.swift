import Foundation
import PerdureModel
import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Rows and keys have the format in FORMAT-GRAPH.md")
struct RowFormatTests {
  /// The lines of a fenced block of bytes. The text after a semicolon is a remark.
  private func lines(_ fence: String) throws -> [[UInt8]] {
    let text = try text()
    let start = try #require(text.firstIndex(of: "```\(fence)"))
    return text[(start + 1)...].prefix { $0 != "```" }.map { line in
      line.prefix { $0 != ";" }.split(separator: " ").compactMap { UInt8($0, radix: 16) }
    }
  }

  private func text() throws -> [Substring] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("FORMAT-GRAPH.md").path
    return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
  }

  @Test("The writer creates the documented bytes of the example row")
  func row() throws {
    let kinds: [FieldKind] = [.string, .int16, .string, .bool]
    let columns = kinds.enumerated().map { RowColumn(property: UInt32($0 + 1), kind: $1) }
    let layout = RowLayout(number: 258, columns: columns, slots: [1, 2, 3, 4])
    let values: [Value] = [.string("ab"), .integer(-2), .string("é"), .null]
    let bytes = RowWriter(RowLayouts(current: layout, all: [layout])).row { .value(values[$0]) }
    #expect(try lines("row").flatMap { $0 } == bytes)
  }

  @Test("Each attribute type has the row field and the kinds of default in the documented table")
  func types() throws {
    let fields: [String: FieldKind] = [
      "none": .absent, "16-bit integer": .int16, "32-bit integer": .int32, "64-bit integer": .int64,
      "decimal": .decimal, "double": .double, "float": .float, "string": .string, "bool": .bool,
      "date": .date,
      "data": .data, "UUID": .uuid, "URL": .url, "object id": .reference,
    ]
    let defaults: [DefaultValue] = [
      .bool(true), .integer(1), .double(1), .decimal(1), .string("a"), .date(.distantPast), .uuid(UUID()),
      .data(Data([1])), .url(try #require(URL(string: "a:b"))), .now, .newUUID,
    ]
    let rows = try text().compactMap { line -> [String]? in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return line.hasPrefix("| ") && cells.count == 4 && fields[cells[2]] != nil ? cells : nil
    }
    #expect(rows.map { $0[0] } == AttributeType.allCases.map { "\($0.rawValue)" })
    for (row, type) in zip(rows, AttributeType.allCases) {
      #expect(row[1] == "\(type)" && fields[row[2]] == FieldKind(type), "\(row)")
      let taken = defaults.indices.filter { kind in
        let attribute = AttributeDescription("a", type, defaultValue: defaults[kind])
        return (try? ManagedObjectModel([EntityDescription("E", properties: [.attribute(attribute)])])) != nil
      }
      #expect(row[3] == (taken.isEmpty ? "none" : taken.map { "\($0)" }.joined(separator: ", ")), "\(row)")
    }
  }

  @Test("Keys have the documented bytes")
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
