// What index components and comparisons are about.

internal import PerdurePredicates

/// A property of the object itself, or what a function makes of its text.
struct IndexColumn: Hashable {
  let slot: Int
  var function: TextFunction?
}

extension EntityStorage {
  /// The column that an expression is, and the kind of its values; nil when it is no column.
  func column(_ expression: FetchExpression) -> (column: IndexColumn, kind: FieldKind)? {
    switch expression {
    case .keyPath(let path):
      guard path.aggregate == nil, let slot = slot(named: path.names.joined(separator: ".")) else {
        return nil
      }
      return column(ofSlot: slot)
    case .function(let function, let arguments):
      guard let function = TextFunction(function), arguments.count == 1,
        let (inner, kind) = column(arguments[0]), inner.function == nil, kind == .string
      else { return nil }
      return (IndexColumn(slot: inner.slot, function: function), .string)
    default: return nil
    }
  }

  /// The column that a property is; that of a derived function of an own text is that function of it.
  func column(ofSlot slot: Int) -> (column: IndexColumn, kind: FieldKind)? {
    switch properties[slot].form {
    case .attribute(let kind): return (IndexColumn(slot: slot), kind)
    case .toOne: return (IndexColumn(slot: slot), .reference)
    case .count: return (IndexColumn(slot: slot), .int64)
    case .inverse: return nil
    case .derived(let derived):
      guard let function = derived.function.flatMap({ TextFunction($0) }), derived.path.aggregate == nil,
        derived.slots.count == 1, case .attribute(.string) = properties[derived.slots[0]].form
      else { return nil }
      return (IndexColumn(slot: derived.slots[0], function: function), .string)
    }
  }

  /// What a component of an index is about; nil when the entity does not have it.
  func column(_ component: IndexComponent) -> IndexColumn? {
    slot(ofProperty: component.property).map { IndexColumn(slot: $0, function: component.function) }
  }

  /// The columns that a comparison with a constant bounds, with what it says of each: of the one that it is about,
  /// and, when that is text, of the text without case and marks.
  func bounds(_ comparison: FetchComparison, withCanonical: Bool = true) -> [IndexColumn: SearchBounds] {
    guard case .constant(let value) = comparison.right, let (column, kind) = column(comparison.left) else {
      return [:]
    }
    var found: [IndexColumn: SearchBounds] = [:]
    found[column] = SearchBounds(column.function, kind, comparison.op, value, comparison.options)
    if withCanonical, column.function == nil, kind == .string {
      found[IndexColumn(slot: column.slot, function: .canonical)] = SearchBounds(
        canonicalOf: comparison.op, value, comparison.options)
    }
    return found
  }
}
