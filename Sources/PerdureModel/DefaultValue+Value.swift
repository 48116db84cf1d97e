package import PerdurePredicates

extension DefaultValue {
  /// The default as the query language and the rows know it.
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
    }
  }
}
