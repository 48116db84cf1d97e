// The closed list of values that a predicate can contain or compare.
//
// Two relations are defined on values. `==` of this type is structural (same kind, same content),
// so that trees can be compared. A *predicate* compares and sorts with the relations of the table
// in `Value+Comparison.swift`, in which 1 equals 1.0.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The identity of an object. The query language can only compare and hash it.
public struct ObjectReference: RawRepresentable, Hashable, Sendable {
  /// The number that the owner of the objects assigned to this object.
  public let rawValue: UInt64

  /// Wraps a number given by the owner of the objects.
  @inlinable
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Hashes with two multiplications. A save uses many sets and dictionaries of references.
  /// Collisions are harmless: the store assigns the references, so a caller cannot choose them.
  @inlinable
  public func _rawHashValue(seed: Int) -> Int {
    let mixed = (rawValue ^ UInt64(bitPattern: Int64(seed))) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: (mixed ^ mixed >> 32) &* 0xD6E8_FEB8_6659_FD93)
  }
}

/// A value in a predicate: a constant, an argument, or a property's value.
///
/// `==` is structural: `.integer(1)` and `.double(1)` are different values of this type. Two texts
/// of different bytes are different too. A predicate may nevertheless find such values equal (see
/// ``equals(_:options:)``).
public enum Value: Sendable {
  /// No value.
  case null
  /// A truth value; compares with numbers as 0 or 1.
  case bool(Bool)
  /// A whole number.
  case integer(Int64)
  /// A binary floating-point number; NaN equals itself.
  case double(Double)
  /// A decimal number, exact to 38 digits.
  case decimal(Decimal)
  /// Text.
  case string(String)
  /// A point in time.
  case date(Date)
  /// A universally unique identifier; ordered by its bytes.
  case uuid(UUID)
  /// Bytes; ordered as unsigned bytes.
  case data(Data)
  /// A URL; compared by its absolute string.
  case url(URL)
  /// The identity of an object.
  case reference(ObjectReference)
  /// The identity of an object as text. A fetch looks it up in the store before it compares values.
  case objectID(String)
  /// Several values, in order.
  case list([Value])
}

extension Value: Hashable {
  /// Whether two values have the same kind and the same content.
  public static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.integer(let a), .integer(let b)): a == b
    case (.double(let a), .double(let b)): a == b || (a.isNaN && b.isNaN)
    case (.decimal(let a), .decimal(let b)): a == b || (a.isNaN && b.isNaN)
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.date(let a), .date(let b)): a == b || (a.isNone && b.isNone)
    case (.uuid(let a), .uuid(let b)): a == b
    case (.data(let a), .data(let b)): a == b
    case (.url(let a), .url(let b)): a.absoluteString == b.absoluteString
    case (.reference(let a), .reference(let b)): a == b
    case (.objectID(let a), .objectID(let b)): a == b
    case (.list(let a), .list(let b)): a == b
    default: false
    }
  }

  /// Hashes the kind and the content.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(kindNumber)
    switch self {
    case .null: break
    case .bool(let bool): hasher.combine(bool)
    case .integer(let integer): hasher.combine(integer)
    case .double(let double): hasher.combine(double.isNaN ? .nan : double)
    case .decimal(let decimal): if !decimal.isNaN { hasher.combine(decimal) }
    case .string(var string): string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    case .date(let date): if !date.isNone { hasher.combine(date) }
    case .uuid(let uuid): hasher.combine(uuid)
    case .data(let data): hasher.combine(data)
    case .url(let url): hasher.combine(url.absoluteString)
    case .reference(let reference): hasher.combine(reference)
    case .objectID(let text): hasher.combine(text)
    case .list(let list): hasher.combine(list)
    }
  }

  private var kindNumber: UInt8 {
    switch self {
    case .null: 0
    case .bool: 1
    case .integer: 2
    case .double: 3
    case .decimal: 4
    case .string: 5
    case .date: 6
    case .uuid: 7
    case .data: 8
    case .url: 9
    case .reference: 10
    case .list: 11
    case .objectID: 12
    }
  }
}

extension Value {
  /// Whether this is `.null`.
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// Whether this is a number or a truth value. Both kinds can be compared with each other.
  package var isNumber: Bool {
    switch self {
    case .bool, .integer, .double, .decimal: true
    default: false
    }
  }

  /// The number as a signed integer of 64 bits. Nil if it is not whole or does not fit, and for
  /// values that are not numbers.
  package var wholeNumber: Int64? {
    switch self {
    case .bool(let bool): bool ? 1 : 0
    case .integer(let integer): integer
    case .double(let double): Int64(exactly: double)
    case .decimal(let decimal): Conversion.wholeDigits(decimal).flatMap { Int64($0) }
    default: nil
    }
  }

  /// The kind in words, for messages: "a number", "text".
  package var kindName: String {
    switch self {
    case .null: "NULL"
    case .bool: "a truth value"
    case .integer, .double, .decimal: "a number"
    case .string: "text"
    case .date: "a date"
    case .uuid: "a UUID"
    case .data: "data"
    case .url: "a URL"
    case .reference, .objectID: "an object"
    case .list: "a list"
    }
  }
}

extension Date {
  /// Whether the date is NaN, so that it is not a point in time.
  fileprivate var isNone: Bool { timeIntervalSinceReferenceDate.isNaN }
}
