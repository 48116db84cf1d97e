// The kinds of fields in a row, and their sizes in the fixed section.

/// The form of one property in a row. The order of the cases is not stored.
@usableFromInline package enum FieldKind: UInt8, Sendable, CaseIterable {
  /// The layout does not contain the property. A read of the property returns its stand-in
  /// (RowLayout.swift).
  case absent
  case bool
  case int16
  case int32
  case int64
  case float
  case double
  case date
  case uuid
  case decimal
  case reference
  case string
  case data
  case url

  /// Whether both are the same kind. Written by hand, because the compiler's `==` is not inlinable,
  /// and inlined reads of properties need it (ManagedObject+InlinedReading.swift).
  @inlinable @inline(__always)
  package static func == (left: FieldKind, right: FieldKind) -> Bool {
    // An enumeration without payloads and with fewer than 256 cases is one byte.
    unsafeBitCast(left, to: UInt8.self) == unsafeBitCast(right, to: UInt8.self)
  }

  /// Bytes in the fixed section; 0 for kinds in the variable section.
  package var fixedSizeBytes: Int {
    switch self {
    case .absent, .string, .data, .url: 0
    case .bool: 1
    case .int16: 2
    case .int32, .float: 4
    case .int64, .double, .date, .reference: 8
    case .uuid: 16
    case .decimal: 24
    }
  }

  package var isVariable: Bool {
    switch self {
    case .string, .data, .url: true
    default: false
    }
  }

  /// Whether the values are whole numbers.
  package var isInteger: Bool {
    switch self {
    case .int16, .int32, .int64: true
    default: false
    }
  }

  /// Whether the values are numbers or truth values, which compare with each other by value.
  package var isNumeric: Bool {
    switch self {
    case .bool, .int16, .int32, .int64, .float, .double, .decimal: true
    default: false
    }
  }
}
