internal import PerdurePredicates

extension ObjectOverlay {
  /// The changed columns by slot.
  var changedColumns: [Int: Value] { content.columns ?? [:] }
}
