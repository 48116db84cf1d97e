internal import PerdurePredicates

/// The columns of an object in the store, or the initial values of a new object. The row is read
/// once, when the first column is needed.
struct StoredColumns {
  let context: ContextCore
  private let reference: ObjectReference
  /// The initial values of a new object.
  private let beginning: [Value]?
  private var isRead = false
  private var row: KeptRow?

  init(_ context: ContextCore, _ object: ManagedObject) {
    self.context = context
    reference = object.reference
    beginning = object.overlay?.beginning
  }

  mutating func value(_ slot: Int) -> Value {
    if let beginning { return beginning[slot] }
    if !isRead { row = context.viewState.keptRow(reference) }
    isRead = true
    return row?.value(slot) ?? .null
  }
}
