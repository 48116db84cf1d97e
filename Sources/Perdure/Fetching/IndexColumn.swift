// The columns of index components and comparisons.

internal import PerdurePredicates

/// A property of the object itself, or a function of its text.
struct IndexColumn: Hashable {
  let slot: Int
  var function: TextFunction?
}

extension EntityStorage {
  /// The column of an expression, and the kind of its values; nil if the expression is no column.
  func column(_ expression: FetchExpression) -> (column: IndexColumn, kind: FieldKind)? {
    switch expression {
    case .keyPath(let path):
      guard path.aggregate == nil, let slot = slot(named: path.joinedNames) else { return nil }
      return column(ofSlot: slot)
    case .function(let function, let arguments):
      guard let function = TextFunction(function), arguments.count == 1,
        let (inner, kind) = column(arguments[0]), inner.function == nil, kind == .string
      else { return nil }
      return (IndexColumn(slot: inner.slot, function: function), .string)
    default: return nil
    }
  }

  /// The column of a property. If the property is derived as a function of a text of the object,
  /// the column is that function of the text. Nil for any other derived attribute except a count,
  /// and for a relationship outside of the row.
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

  /// The column of an index component; nil if the entity does not have the property.
  func column(_ component: IndexComponent) -> IndexColumn? {
    slot(ofProperty: component.property).map { IndexColumn(slot: $0, function: component.function) }
  }

  /// The columns that a comparison with a constant restricts, and their bounds. A comparison of a
  /// text also restricts its canonical text.
  func bounds(_ comparison: FetchComparison, withCanonical: Bool = true) -> ColumnTable<SearchBounds> {
    var found = ColumnTable<SearchBounds>()
    guard case .constant(let value) = comparison.right, let (column, kind) = column(comparison.left) else {
      return found
    }
    found[column] = SearchBounds(column.function, kind, comparison.op, value, comparison.options)
    if withCanonical, column.function == nil, kind == .string {
      found[IndexColumn(slot: column.slot, function: .canonical)] = SearchBounds(
        canonicalOf: comparison.op, value, comparison.options)
    }
    return found
  }
}

extension PropertyPath {
  /// The names joined by dots: the property name of a composite's element.
  fileprivate var joinedNames: String { names.count == 1 ? names[0] : names.joined(separator: ".") }
}
