internal import PerdurePredicates

extension Value {
  /// The value in the Swift type of a field; nil for null, a reference, a list, and a text that is
  /// not an id. A number of 64 bits is an `Int` if an `Int` can hold it.
  func swiftValue(of kind: FieldKind) -> Any? {
    switch self {
    case .null, .reference, .list: nil
    case .objectID(let text): ManagedObjectID(uri: text)
    case .bool(let bool): bool
    case .integer(let integer):
      switch kind {
      case .int16: Int16(truncatingIfNeeded: integer)
      case .int32: Int32(truncatingIfNeeded: integer)
      default: Int(exactly: integer).map { $0 as Any } ?? integer
      }
    case .double(let double): kind == .float ? Float(double) as Any : double
    case .decimal(let decimal): decimal
    case .string(let text): text
    case .date(let date): date
    case .uuid(let uuid): uuid
    case .data(let data): data
    case .url(let url): url
    }
  }
}
