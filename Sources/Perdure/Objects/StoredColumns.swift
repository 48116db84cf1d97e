// The committed values of an object.

internal import PerdurePredicates

/// The columns of an object in the store; the initial values of a new object. The row is read when
/// the first column is asked for, and once.
struct StoredColumns {
  let context: ContextCore
  private let shape: EntityShape
  private let reference: ObjectReference
  /// The initial values of a new object.
  private let beginning: [Value]?
  private var isRead = false
  private var row: LeasedRow?

  init(_ context: ContextCore, _ object: ManagedObject) {
    self.context = context
    shape = object.shape
    reference = object.reference
    beginning = object.overlay?.beginning
  }

  mutating func value(_ slot: Int) -> Value {
    if let beginning { return beginning[slot] }
    if !isRead { row = context.viewState.leasedRow(reference) }
    isRead = true
    guard let row, let layouts = shape.storage.layouts else { return .null }
    return row.withRow { stored in
      // Checked when it was read.
      guard let row = try? context.graph.store.rows.view(stored.bytes, of: reference) else { return .null }
      return layouts.value(slot, of: row)
    }
  }
}

extension ViewState {
  /// The checked row of an object in the store; valid as long as the view is the same.
  fileprivate func leasedRow(_ reference: ObjectReference) -> LeasedRow? {
    do {
      return try view.withRow(reference) { stored in
        guard let stored else { return nil }
        _ = try graph.store.rows.view(stored.bytes, of: reference)
        return LeasedRow(stored, of: view)
      }
    } catch {
      noteReadFailure(error, reference)
      return nil
    }
  }
}
