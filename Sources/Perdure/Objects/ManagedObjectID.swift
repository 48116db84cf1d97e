public import PerdurePredicates

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The identity of an object: which store, which entity, which object.
///
/// An id is fixed when an object is inserted and never changes, also not by saving. Unlike the object it
/// names it may be sent anywhere, kept for ever, and written down: its coded form is its URI.
public struct ManagedObjectID: Sendable {
  let entity: EntityIdentity
  let number: UInt64
  /// Whether the object had no row in the store yet when this id was asked for. Says nothing about
  /// identity: ids that differ in it alone are equal.
  public let isTemporaryID: Bool

  init(_ entity: EntityIdentity, number: UInt64, isTemporary: Bool = false) {
    self.entity = entity
    self.number = number
    self.isTemporaryID = isTemporary
  }

  /// The name of the object's entity: the concrete one, never an abstract parent.
  public var entityName: String { entity.entityName }

  /// The identifier of the store that the object belongs to.
  public var storeIdentifier: String { entity.storeIdentifier }

  /// The identity as text: `x-perdure://<store>/<Entity>/p<n>`.
  public var uri: String { "x-perdure://\(entity.storeIdentifier)/\(entity.entityName)/p\(number)" }

  /// The identity as a URL; nil only when the entity's name cannot stand in one.
  public func uriRepresentation() -> URL? { URL(string: uri) }

  /// Reads the text form.
  ///
  /// - Returns: nil when the text does not have that form. Whether such a store, entity or object exists is
  ///   not asked.
  public init?(uri: String) {
    let scheme = "x-perdure://"
    guard uri.hasPrefix(scheme) else { return nil }
    let parts = uri.dropFirst(scheme.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty, parts[2].first == "p",
      let number = UInt64(parts[2].dropFirst()), number > 0, number >> 48 == 0,
      parts[2].dropFirst() == String(number)
    else { return nil }
    self.init(
      EntityIdentity(storeIdentifier: String(parts[0]), entityName: String(parts[1]), number: 0),
      number: number)
  }

  /// Reads the form as a URL; as `init(uri:)`.
  public init?(uriRepresentation url: URL) {
    guard let text = Self.withoutEscapes(url.absoluteString) else { return nil }
    self.init(uri: text)
  }

  /// What cannot stand in a URL as it is has been escaped there.
  private static func withoutEscapes(_ text: String) -> String? {
    var bytes: [UInt8] = []
    var rest = Substring(text).utf8
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let digits = String(rest.prefix(2)), digits.count == 2, let escaped = UInt8(digits, radix: 16)
      else { return nil }
      bytes.append(escaped)
      rest.removeFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

extension ManagedObjectID: Hashable {
  /// Whether both name the same object.
  public static func == (left: ManagedObjectID, right: ManagedObjectID) -> Bool {
    left.number == right.number && left.entity.isSame(as: right.entity)
  }

  /// Hashes store, entity and number.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(number)
    hasher.combine(entity.hash)
  }
}

extension ManagedObjectID: CustomStringConvertible {
  /// The text form.
  public var description: String { uri }
}

extension ManagedObjectID: Codable {
  /// Reads the text form.
  /// - Throws: `DecodingError` when it is not one.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let id = ManagedObjectID(uri: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\"\(text)\" is no object id: x-perdure://store/Entity/p1 is one.")
    }
    self = id
  }

  /// Writes the text form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(uri)
  }
}

extension ManagedObjectID: PredicateArgument {
  /// The identity as a value. A fetch looks it up, and refuses one of another store.
  public var predicateValue: Value { .objectID(uri) }
}
