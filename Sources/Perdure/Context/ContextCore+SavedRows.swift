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
      if let rows { try takeRows(instances, rows) } else { try readRows(instances) }
    } catch {
      // Instances without a row report the error when they are used, and at once if they are awake.
    }
    for instance in instances where instance.object.isAwake && !instance.isDrowsy {
      if loadRow(of: instance.object) { stayAwake(instance.object) }
    }
  }

  private func takeRows(_ instances: [SavedInstance], _ rows: WrittenRows) throws {
    let references = instances.map(\.object.reference)
    var versions = [RowVersion?](repeating: nil, count: references.count)
    statistics.rowRequestCount += 1
    try view.versions(of: references) { versions[$0] = $1 }
    let positions = Dictionary(uniqueKeysWithValues: zip(references, references.indices))
    try rows.forEach { reference, bytes in
      guard let position = positions[reference], let version = versions[position] else { return }
      try show(StoredRow(bytes: bytes, version: version), in: instances[position].object)
    }
  }

  private func readRows(_ instances: [SavedInstance]) throws {
    statistics.rowRequestCount += 1
    try view.rows(instances.map(\.object.reference)) { position, row in
      guard let row else { return }
      try show(row, in: instances[position].object)
      statistics.rowCount += 1
    }
  }

  private func show(_ stored: StoredRow, in object: ManagedObject) throws {
    guard object.header.pointee.row == nil, !object.header.pointee.isGone else { return }
    let row = try graph.store.rows.view(stored.bytes, of: object.reference)
    object.header.pointee.setRow(row, version: stored.version)
    object.header.pointee.rowArrived(epoch)
  }
}
