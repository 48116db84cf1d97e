package import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension DefaultValue {
  /// The default as a value of the query language and of rows. Null for `now` and `newUUID`, which
  /// give each object its own value.
  package var value: Value {
    switch self {
    case .bool(let value): .bool(value)
    case .integer(let value): .integer(value)
    case .double(let value): .double(value)
    case .decimal(let value): .decimal(value)
    case .string(let value): .string(value)
    case .date(let value): .date(value)
    case .uuid(let value): .uuid(value)
    case .data(let value): .data(value)
    case .url(let value): .url(value)
    case .now, .newUUID: .null
    }
  }

  /// Whether each object gets its own value, as with `now` and `newUUID`.
  package var isMade: Bool { self == .now || self == .newUUID }

  /// The default value of an object that is being inserted.
  package func made() -> Value {
    switch self {
    case .now: .date(Date())
    case .newUUID: .uuid(UUID())
    default: value
    }
  }

  /// The default for a value; nil for a kind of value that no attribute can have.
  package init?(_ value: Value) {
    switch value {
    case .bool(let value): self = .bool(value)
    case .integer(let value): self = .integer(value)
    case .double(let value): self = .double(value)
    case .decimal(let value): self = .decimal(value)
    case .string(let value): self = .string(value)
    case .date(let value): self = .date(value)
    case .uuid(let value): self = .uuid(value)
    case .data(let value): self = .data(value)
    case .url(let value): self = .url(value)
    case .null, .reference, .objectID, .list: return nil
    }
  }
}
