public import PerdureModel
public import PerdurePredicates

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The identity of an object: its store, its entity and its number.
///
/// An object gets its id when it is inserted. The id of a new object changes only if
/// `ManagedObjectContext.assign(_:to:)` chooses another store, or if a save merges the object into
/// another one (`mergedObjectIDs`). Unlike the object, an id may be sent to any isolation and
/// stored permanently: its coded form is its URI.
public struct ManagedObjectID: Sendable {
  let entity: EntityIdentity
  let number: UInt64
  /// Whether the object had no row in the store when this id was requested. This property is not
  /// part of the identity: ids that differ only in this property are equal.
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

  /// The identity as a URL: the text form, with all characters escaped except letters, digits and
  /// `-._~`.
  public func uriRepresentation() -> URL? {
    let (store, entity) = (Self.escaped(entity.storeIdentifier), Self.escaped(entity.entityName))
    return URL(string: "\(Self.scheme)\(store)/\(entity)/p\(number)")
  }

  private static let scheme = "x-perdure://"

  /// Reads the text form.
  ///
  /// - Returns: Nil if the text does not have that form. The existence of the store, the entity and
  ///   the object is not checked.
  public init?(uri: String) {
    self.init(parts: Self.parts(of: uri).map(String.init))
  }

  /// The parts between the slashes after the scheme; empty for another scheme.
  private static func parts(of text: String) -> [Substring] {
    guard text.hasPrefix(scheme) else { return [] }
    return text.dropFirst(scheme.count).split(separator: "/", omittingEmptySubsequences: false)
  }

  private init?(parts: [String]) {
    guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty, parts[2].first == "p",
      let number = UInt64(parts[2].dropFirst()), number > 0, number >> 48 == 0,
      parts[2].dropFirst() == String(number)
    else { return nil }
    self.init(
      EntityIdentity(storeIdentifier: parts[0], entityName: parts[1], number: 0), number: number)
  }

  /// Reads the text form from a URL; like `init(uri:)`.
  public init?(uriRepresentation url: URL) {
    // The text is split before it is unescaped, because an escaped character may be a slash.
    let parts = Self.parts(of: url.absoluteString)
    let names = parts.compactMap(Self.unescaped)
    guard names.count == parts.count else { return nil }
    self.init(parts: names)
  }

  /// A part of a URL, escaped. A percent sign is escaped too. Otherwise, `init(uriRepresentation:)`
  /// reads a name with a percent sign as another name.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for byte in text.utf8 {
      let character = Character(UnicodeScalar(byte))
      if byte < 128, character.isLetter || character.isNumber || "-._~".contains(character) {
        escaped.append(character)
      } else {
        escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }
    return escaped
  }

  /// A part of a URL, unescaped; nil if an escape or the resulting UTF-8 is invalid.
  private static func unescaped(_ part: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = part.utf8
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = digit(rest.popFirst()), let low = digit(rest.popFirst()) else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8?) -> UInt8? {
    guard let value = byte.flatMap({ Character(UnicodeScalar($0)).hexDigitValue }) else { return nil }
    return UInt8(value)
  }
}

extension ManagedObjectID: Hashable {
  /// Whether both identify the same object.
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
  /// - Throws: `DecodingError` for any other text or value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let id = ManagedObjectID(uri: text) else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "\"\(text.shortened)\" is not an object id: "
          + "x-perdure://store/Entity/p1 is one.")
    }
    self = id
  }

  /// Writes the text form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(uri)
  }
}

extension ManagedObjectID: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .objectID }
  /// The id that is read if an attribute has no value. No store has an object with this id, and no
  /// save accepts it.
  public static var zeroValue: ManagedObjectID { absent }

  /// The id of no object. The identifier of a store is a UUID, so no store has the identifier
  /// "none".
  static let absent = ManagedObjectID(
    EntityIdentity(storeIdentifier: "none", entityName: "none", number: 0), number: 1)
  /// Reads the id from a stored value; nil if the value is of another kind, or if its text is not
  /// an id.
  public init?(attributeValue: Value) {
    guard case .objectID(let text) = attributeValue else { return nil }
    self.init(uri: text)
  }
}

extension ManagedObjectID: PredicateArgument {
  /// The identity as a value. A fetch rejects an id of another store, except in the list of `IN`
  /// and as an operand of `!=`.
  public var predicateValue: Value { .objectID(uri) }
}
