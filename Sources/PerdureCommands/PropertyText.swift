import Perdure
import PerdureText

extension InspectedObject.Property {
  /// The whole value for JSON. Bytes are always an object with the member `hex`. So a reader can
  /// distinguish text from bytes that are valid UTF-8.
  var json: JSONText {
    switch self {
    case .none: .null
    case .bool(let value): .bool(value)
    case .integer(let value): .integer(value)
    case .double(let value): .double(value)
    case .text(let value): .string(value)
    case .data(let value): .hex(value)
    case .object(let entity, let id): .string("\(entity)/p\(id)")
    case .list(let values): .array(values.map(\.json))
    }
  }

  /// The whole value as a CSV field; nil if there is no value.
  var field: String? {
    switch self {
    case .none: nil
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .double(let value): "\(value)"
    case .text(let value): value
    case .data(let value): "0x" + Hexadecimal.digits(value)
    case .object(let entity, let id): "\(entity)/p\(id)"
    case .list: json.text
    }
  }

  /// The value as a table cell of at most `limit` characters. A missing value is an empty cell, and
  /// an empty string is `""`.
  func cell(limit: Int) -> String {
    switch self {
    case .text(""): "\"\""
    case .text(let value): TextTable.cell(value, limit: limit)
    case .data(let bytes): Self.cell(bytes, limit)
    case .list(let values):
      TextTable.cell(
        "[" + values.prefix(limit).map { $0.cell(limit: limit) }.joined(separator: ", ") + "]", limit: limit)
    default: TextTable.cell(field ?? "", limit: limit)
    }
  }

  private static func cell(_ bytes: [UInt8], _ limit: Int) -> String {
    if 2 + 2 * bytes.count <= limit { return "0x" + Hexadecimal.digits(bytes) }
    let more = "… (\(counted(bytes.count, "byte")))"
    return "0x" + Hexadecimal.digits(bytes.prefix(max(0, (limit - 2 - more.count) / 2))) + more
  }
}
