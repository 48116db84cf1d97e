internal import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The smaller parts of a stored model; StoredModel+Coding.swift has the grammar.

// MARK: - Rules

extension ByteWriter {
  mutating func rule(_ rule: ValidationRule) {
    switch rule {
    case .minimum(let bound):
      integer(UInt8(0))
      value(bound)
    case .maximum(let bound):
      integer(UInt8(1))
      value(bound)
    case .minimumLength(let count):
      integer(UInt8(2))
      integer(UInt32(count))
    case .maximumLength(let count):
      integer(UInt8(3))
      integer(UInt32(count))
    case .pattern(let pattern):
      integer(UInt8(4))
      string(pattern)
    case .predicate(let predicate, let message):
      integer(UInt8(5))
      string(predicate.predicateFormat)
      string(message)
    case .unreadablePredicate(let text, let message):
      integer(UInt8(5))
      string(text)
      string(message)
    }
  }
}

extension ByteReader {
  mutating func rule() throws(ModelError) -> ValidationRule {
    switch try integer(UInt8.self) {
    case 0: return .minimum(try value())
    case 1: return .maximum(try value())
    case 2: return .minimumLength(Int(clamping: try integer(UInt32.self)))
    case 3: return .maximumLength(Int(clamping: try integer(UInt32.self)))
    case 4: return .pattern(try string())
    case 5: return Self.predicate(try string(), message: try string())
    case let kind: throw fail("\(kind) is not a kind of validation rule")
    }
  }

  /// Rows can be read without the rules, so an unreadable predicate is kept as text.
  private static func predicate(_ text: String, message: String) -> ValidationRule {
    readable(text).map { .predicate($0, message: message) } ?? .unreadablePredicate(text, message: message)
  }

  /// The parsed predicate; nil if this version cannot parse the text, because a later version wrote
  /// it.
  static func readable(_ text: String) -> FetchPredicate? {
    do throws(PredicateSyntaxError) {
      return try FetchPredicate(format: text)
    } catch {
      return nil
    }
  }
}

// MARK: - User info, identifiers, configurations

extension Sequence {
  /// The elements sorted by bytes, because the order of bytes does not depend on the Unicode
  /// version.
  func sortedByBytes(_ key: (Element) -> String) -> [Element] {
    sorted { key($0).utf8.lexicographicallyPrecedes(key($1).utf8) }
  }
}

extension ByteWriter {
  mutating func info(_ userInfo: [String: String], _ modifier: String?) {
    table(userInfo)
    optional(modifier) { $0.string($1) }
  }

  mutating func table(_ texts: [String: String]) {
    list(texts.sortedByBytes(\.key)) { writer, pair in
      writer.string(pair.key)
      writer.string(pair.value)
    }
  }
}

extension ByteReader {
  /// Reads the user info and the hash modifier. Version 1 has neither.
  mutating func info() throws(ModelError) -> (userInfo: [String: String], modifier: String?) {
    guard version >= 2 else { return ([:], nil) }
    let userInfo = try texts()
    return (userInfo, try optional(readString))
  }

  mutating func texts() throws(ModelError) -> [String: String] {
    try table { reader throws(ModelError) in try reader.string() }
  }

  mutating func identifiers() throws(ModelError) -> Set<String> {
    var previous: String?
    var result: Set<String> = []
    for _ in 0..<(try count(minimumSizeBytes: 4)) {
      let name = try next(after: &previous)
      guard result.insert(name).inserted else { throw fail("\"\(name)\" occurs twice") }
    }
    return result
  }

  mutating func configurations() throws(ModelError) -> [String: [String]] {
    try table { reader throws(ModelError) in try reader.list(minimumSizeBytes: 4, readString) }
  }

  private mutating func table<T>(
    _ read: (inout ByteReader) throws(ModelError) -> T
  ) throws(ModelError) -> [String: T] {
    var previous: String?
    var result: [String: T] = [:]
    for _ in 0..<(try count(minimumSizeBytes: 8)) {
      let key = try next(after: &previous)
      guard result.updateValue(try read(&self), forKey: key) == nil else {
        throw fail("\"\(key)\" occurs twice")
      }
    }
    return result
  }

  private mutating func next(after previous: inout String?) throws(ModelError) -> String {
    let text = try string()
    if let previous, !previous.utf8.lexicographicallyPrecedes(text.utf8) {
      throw fail("\"\(text)\" is out of order")
    }
    previous = text
    return text
  }
}

// MARK: - Default values

extension ByteWriter {
  mutating func value(_ value: DefaultValue) {
    switch value {
    case .bool(let value):
      integer(UInt8(0))
      bool(value)
    case .integer(let value):
      integer(UInt8(1))
      integer(value)
    case .double(let value):
      integer(UInt8(2))
      integer(value.bitPattern)
    case .decimal(let value):
      integer(UInt8(3))
      string(value.description)
    case .string(let value):
      integer(UInt8(4))
      string(value)
    case .date(let value):
      integer(UInt8(5))
      integer(value.timeIntervalSinceReferenceDate.bitPattern)
    case .uuid(let value):
      integer(UInt8(6))
      withUnsafeBytes(of: value.uuid) { for byte in $0 { integer(byte) } }
    case .data(let value):
      integer(UInt8(7))
      data(value)
    case .url(let value):
      integer(UInt8(8))
      string(value.absoluteString)
    case .now: integer(UInt8(9))
    case .newUUID: integer(UInt8(10))
    }
  }
}

extension ByteReader {
  mutating func value() throws(ModelError) -> DefaultValue {
    switch try integer(UInt8.self) {
    case 0: return .bool(try bool())
    case 1: return .integer(try integer(Int64.self))
    case 2: return .double(Double(bitPattern: try integer(UInt64.self)))
    case 3: return .decimal(try decimal())
    case 4: return .string(try string())
    case 5:
      let seconds = Double(bitPattern: try integer(UInt64.self))
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case 6: return .uuid(try uuid())
    case 7: return .data(Data(try bytes(try count())))
    case 8:
      guard let url = URL(string: try string()) else { throw fail("text is not a URL") }
      return .url(url)
    case 9 where version >= 3: return .now
    case 10 where version >= 3: return .newUUID
    case let kind: throw fail("\(kind) is not a kind of value")
    }
  }

  private mutating func decimal() throws(ModelError) -> Decimal {
    guard let value = Decimal(string: try string()) else { throw fail("text is not a decimal number") }
    return value
  }

  private mutating func uuid() throws(ModelError) -> UUID {
    let content = Array(try bytes(16))
    return content.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}
