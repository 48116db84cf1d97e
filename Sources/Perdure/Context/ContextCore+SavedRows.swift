// The rows of instances after a save.
//
// After a save, the instances that the program keeps show their saved rows. The bytes are those of
// the commit, so only the versions are read, in one request. If others may have committed in
// between, the rows are read instead, also in one request.

internal import PerdurePredicates

/// An instance whose row was saved.
struct SavedInstance {
  let object: ManagedObject
  /// Whether it has not been told of the row before the save (W1 in ContextCore+LifeCycle.swift).
  let isDrowsy: Bool
}

extension ContextCore {
  /// Gives instances their saved rows.
  ///
  /// - Parameter rows: The rows of the commit, if the view is the state right after it.
  func showSavedRows(_ instances: [SavedInstance], _ rows: WrittenRows?) {
    if instances.isEmpty { return }
    do {
      if let rows { try reading.rows.takeRows(instances, rows) } else { try reading.rows.readRows(instances) }
    } catch {
      // Instances without a row report the error when they are used, and at once if they are awake.
    }
    for instance in instances where instance.object.isAwake && !instance.isDrowsy {
      if reading.rows.loadRow(of: instance.object) { editing.hooks.stayAwake(instance.object) }
    }
  }
}
