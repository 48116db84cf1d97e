// The coding of snapshots. Each value is encoded with its kind, so that decoding returns the same
// value in any format. Plain JSON has one kind of number, and encodes most other kinds as text.
//
//     {"id": "x-perdure://…/Worker/p1",
//      "properties": {"name": {"string": "Ada"}, "salary": {"double": 1000.5},
//                     "born": {"null": true}, "company": {"id": "x-perdure://…/Company/p7"},
//                     "boss": {"none": true}, "seen": {"objectID": "x-perdure://…"},
//                     "projects": {"objects": [{"id": …, "properties": {…}}]}}}
//
// Users store this form, so the names do not change. Integers are numbers. Decimals are text with
// all their digits. Dates are seconds since 2001. Data is base64. NaN and infinities are text.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension ObjectSnapshot: Codable {
  private enum Key: String, CodingKey { case id, properties }

  /// Decodes the form that `encode(to:)` writes.
  /// - Throws: `DecodingError` for other content.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    objectID = try container.decode(ManagedObjectID.self, forKey: .id)
    properties = try container.decode([String: Property].self, forKey: .properties)
  }

  /// Writes the identity and all properties, with the kinds of their values. Use an encoder with
  /// sorted keys if equal snapshots must give equal text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(objectID, forKey: .id)
    try container.encode(properties, forKey: .properties)
  }
}

extension ObjectSnapshot.Property: Codable {
  private enum Kind: String, CodingKey {
    case null, bool, integer, double, decimal, string, date, uuid, data, url, objectID
    case id, none, object, nothing, objects
  }

  /// Decodes the form that `encode(to:)` writes.
  /// - Throws: `DecodingError` for other content.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Kind.self)
    guard container.allKeys.count == 1, let kind = container.allKeys.first else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: container.codingPath, debugDescription: "A property has one value of one kind."))
    }
    if [.null, .none, .nothing].contains(kind), try !container.decode(Bool.self, forKey: kind) {
      throw DecodingError.dataCorruptedError(
        forKey: kind, in: container, debugDescription: "A null, none or nothing must be true.")
    }
    switch kind {
    case .id: self = .reference(try container.decode(ManagedObjectID.self, forKey: kind))
    case .none: self = .reference(nil)
    case .object: self = .object(try container.decode(ObjectSnapshot.self, forKey: kind))
    case .nothing: self = .object(nil)
    case .objects: self = .objects(try container.decode([ObjectSnapshot].self, forKey: kind))
    default: self = .attribute(try Self.value(container, kind))
    }
  }

  private static func value(
    _ container: KeyedDecodingContainer<Kind>, _ kind: Kind
  ) throws -> Value {
    func text<T>(_ parse: (String) -> T?) throws -> T {
      let text = try container.decode(String.self, forKey: kind)
      if let value = parse(text) { return value }
      throw DecodingError.dataCorruptedError(
        forKey: kind, in: container,
        debugDescription: "\"\(text.shortened)\" is not a value of the kind \(kind.rawValue).")
    }
    func number() throws -> Double {
      if let number = try? container.decode(Double.self, forKey: kind) { return number }
      return try text { ["nan": Double.nan, "inf": .infinity, "-inf": -.infinity][$0] }
    }
    return switch kind {
    case .bool: .bool(try container.decode(Bool.self, forKey: kind))
    case .integer: .integer(try container.decode(Int64.self, forKey: kind))
    case .double: .double(try number())
    case .decimal: .decimal(try text { $0 == "NaN" ? Decimal.nan : Self.decimal($0) })
    case .string: .string(try container.decode(String.self, forKey: kind))
    case .date: .date(Date(timeIntervalSinceReferenceDate: try number()))
    case .uuid: .uuid(try text(UUID.init(uuidString:)))
    case .data: .data(try text { Data(base64Encoded: $0) })
    case .url: .url(try text { URL(string: $0) })
    case .objectID: .objectID(try text { ManagedObjectID(uri: $0)?.uri })
    default: .null
    }
  }

  /// Checks the characters first, because `Decimal` ignores text after a number.
  private static func decimal(_ text: String) -> Decimal? {
    let isNumber = text.utf8.allSatisfy { (48...57).contains($0) || "+-.eE".utf8.contains($0) }
    return isNumber ? Decimal(string: text) : nil
  }

  /// Writes the value under the name of its kind.
  /// - Throws: `EncodingError` for a value that no attribute can have: a reference or a list.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Kind.self)
    switch self {
    case .attribute(let value): try Self.encode(value, to: &container)
    case .reference(let id?): try container.encode(id, forKey: .id)
    case .reference(nil): try container.encode(true, forKey: .none)
    case .object(let object?): try container.encode(object, forKey: .object)
    case .object(nil): try container.encode(true, forKey: .nothing)
    case .objects(let objects): try container.encode(objects, forKey: .objects)
    }
  }

  private static func encode(_ value: Value, to container: inout KeyedEncodingContainer<Kind>) throws {
    func encode(_ number: Double, _ kind: Kind) throws {
      if number.isFinite { return try container.encode(number, forKey: kind) }
      try container.encode(number.isNaN ? "nan" : number > 0 ? "inf" : "-inf", forKey: kind)
    }
    switch value {
    case .bool(let bool): try container.encode(bool, forKey: .bool)
    case .integer(let integer): try container.encode(integer, forKey: .integer)
    case .double(let double): try encode(double, .double)
    case .decimal(let decimal): try container.encode(decimal.description, forKey: .decimal)
    case .string(let text): try container.encode(text, forKey: .string)
    case .date(let date): try encode(date.timeIntervalSinceReferenceDate, .date)
    case .uuid(let uuid): try container.encode(uuid.uuidString, forKey: .uuid)
    case .data(let data): try container.encode(data.base64EncodedString(), forKey: .data)
    case .url(let url): try container.encode(url.absoluteString, forKey: .url)
    case .objectID(let text): try container.encode(text, forKey: .objectID)
    case .null: try container.encode(true, forKey: .null)
    case .reference, .list:
      throw EncodingError.invalidValue(
        value, .init(codingPath: container.codingPath, debugDescription: "No attribute holds this."))
    }
  }
}
