// The kind of row field for each type of attribute.

internal import PerdureModel
internal import PerdurePredicates

extension FieldKind {
  init(_ type: AttributeType) {
    switch type {
    // Rows have no field for such an attribute.
    case .undefined: self = .absent
    case .boolean: self = .bool
    case .int16: self = .int16
    case .int32: self = .int32
    case .int64: self = .int64
    case .float: self = .float
    case .double: self = .double
    case .date: self = .date
    case .uuid: self = .uuid
    case .decimal: self = .decimal
    case .string: self = .string
    case .binary: self = .data
    case .uri: self = .url
    case .transformable: self = .data
    case .objectID: self = .reference
    }
  }
}
