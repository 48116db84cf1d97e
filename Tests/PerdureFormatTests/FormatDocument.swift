import Foundation
import Testing

/// The parts of FORMAT.md that tests compare with the code.
struct FormatDocument {
  /// A line of a layout table.
  struct Field: Hashable {
    var offset: Int
    var size: Int
    var type: String
    var name: String
    var meaning: String

    var range: Range<Int> { offset..<(offset + size) }
  }

  struct Layout {
    var length: Int
    var fields: [Field]

    subscript(name: String) -> Field? { fields.first { $0.name == name } }
  }

  /// A row of the table of feature flags.
  struct Feature {
    var field: String
    var bit: Int
    var name: String
    var isReserved: Bool
  }

  /// A file of the worked example.
  struct HexBlock {
    var bytes: [UInt8]
    /// The offsets at which lines begin.
    var lineOffsets: [Int]
  }

  enum Flaw: Error { case missing(String), malformed(String) }

  private(set) var layouts: [String: Layout] = [:]
  private(set) var features: [Feature] = []
  private(set) var limits: [String: UInt64] = [:]
  private(set) var hexBlocks: [String: HexBlock] = [:]
  /// The rows of the table at the end of the worked example.
  private(set) var exampleRows: [[String]] = []
  let text: String

  static let path = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("FORMAT.md").path

  /// The bytes of each line in the code block with this name, without the remarks.
  func bytes(inBlock name: String) -> [[UInt8]] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let block = lines.drop { $0 != "```\(name)" }.dropFirst().prefix { $0 != "```" }
    return block.map { line in
      line.prefix { $0 != ";" }.split(separator: " ").compactMap { UInt8($0, radix: 16) }
    }
  }

  init() throws {
    text = try String(contentsOfFile: Self.path, encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("<!-- layout: ") {
        let (name, length) = try Self.layoutTitle(line)
        layouts[name] = Layout(length: length, fields: try Self.fields(Self.tableRows(lines[(index + 1)...])))
      } else if line.hasPrefix("```hex ") {
        let title = line.dropFirst("```hex ".count).split(separator: " ")
        guard title.count == 2, let length = Int(title[1]) else { throw Flaw.malformed(line) }
        let body = lines[(index + 1)...].prefix { !$0.hasPrefix("```") }
        hexBlocks[String(title[0])] = try Self.hexBlock(Array(body), length: length)
      } else if line == "<!-- features -->" {
        features = try Self.tableRows(lines[(index + 1)...]).map { row in
          guard row.count == 5, let bit = Int(row[1]) else { throw Flaw.malformed(row.description) }
          return Feature(
            field: row[0].trimmingCharacters(in: ["`"]), bit: bit, name: row[2],
            isReserved: row[4].hasPrefix("reserved"))
        }
      } else if line == "## 17. Limits" {
        for row in Self.tableRows(lines[(index + 1)...]) {
          guard let value = UInt64(row[1].replacingOccurrences(of: ",", with: "")) else {
            throw Flaw.malformed(row[1])
          }
          limits[row[0].trimmingCharacters(in: ["`"])] = value
        }
      } else if line.hasPrefix("| id | address | value |") {
        exampleRows = Self.tableRows(lines[index...])
      }
    }
  }

  func layout(_ name: String) throws -> Layout {
    guard let layout = layouts[name] else { throw Flaw.missing(name) }
    return layout
  }

  func hexBlock(_ name: String) throws -> HexBlock {
    guard let block = hexBlocks[name] else { throw Flaw.missing(name) }
    return block
  }

  private static func layoutTitle(_ line: String) throws -> (String, Int) {
    let title = line.dropFirst("<!-- layout: ".count)
    let parts = title.split(separator: ",")
    guard parts.count == 2, let length = Int(parts[1].split(separator: " ")[0]) else {
      throw Flaw.malformed(line)
    }
    return (String(parts[0]), length)
  }

  /// The rows of the next table, without its header.
  private static func tableRows(_ lines: ArraySlice<String>) -> [[String]] {
    lines.drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.dropFirst(2).map { line in
      line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
        .map { $0.trimmingCharacters(in: [" "]) }
    }
  }

  private static func fields(_ rows: [[String]]) throws -> [Field] {
    try rows.map { row in
      guard row.count == 5, let offset = Int(row[0]), let size = Int(row[1]) else {
        throw Flaw.malformed(row.joined(separator: "|"))
      }
      return Field(offset: offset, size: size, type: row[2], name: row[3], meaning: row[4])
    }
  }

  /// Lines of the form `offset: bytes ; remark`. Bytes that no line lists are zero.
  private static func hexBlock(_ lines: [String], length: Int) throws -> HexBlock {
    var block = HexBlock(bytes: [UInt8](repeating: 0, count: length), lineOffsets: [])
    for line in lines where !line.isEmpty {
      let content = line.split(separator: ";", maxSplits: 1)[0]
      let parts = content.split(separator: ":")
      guard parts.count == 2, let start = Int(parts[0], radix: 16) else { throw Flaw.malformed(line) }
      guard start >= block.lineOffsets.last ?? 0 else { throw Flaw.malformed(line) }
      block.lineOffsets.append(start)
      for (index, digits) in parts[1].split(separator: " ").enumerated() {
        guard let byte = UInt8(digits, radix: 16), digits.count == 2, start + index < length else {
          throw Flaw.malformed(line)
        }
        block.bytes[start + index] = byte
      }
    }
    return block
  }
}
