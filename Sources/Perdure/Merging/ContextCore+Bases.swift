// The rows that unsaved changes were made to, for the three-way comparison.
//
// While the context sees the state that a change was made in, the row is there to be read. Moving
// on, by a refresh of something else, it would be lost. So each change is looked at when the
// context moves on: where others have not changed the same columns, it counts as made to the newest
// row from then on; only where they have, the row is kept.

internal import PerdurePredicates

extension ContextCore {
  /// Keeps what a changed row was, before the context moves on to a newer state, if others have
  /// changed the same of it, or removed it. Otherwise its changes are made to the newest row now.
  ///
  /// - Complexity: two reads of the row where others have written it, none of more than its version
  ///   elsewhere.
  func keepBase(_ overlay: ObjectOverlay, before newest: any StoreView) {
    guard overlay.changesRow, !overlay.isDeleted, let version = overlay.baseVersion,
      overlay.keptBase?.version != version
    else { return }
    do {
      let newVersion = try newest.version(of: overlay.reference)
      guard newVersion != version, let old = try baseRow(of: overlay, version) else { return }
      let versions = ObjectVersions(
        local: overlay.changedColumns, base: try old.withRow { try columns(of: $0, overlay) },
        store: try newest.withRow(overlay.reference) { try $0.map { try columns(of: $0, overlay) } })
      if let newVersion, versions.store != nil, versions.contested.isEmpty {
        overlay.baseVersion = newVersion
        identityMap.object(overlay.reference)?.header.pointee.dropRow()
      } else {
        overlay.keptBase = KeptRow(version: version, bytes: old.withRow { Array($0.bytes) })
      }
    } catch {
      noteReadFailure(error, overlay.reference)
    }
  }

  /// The row of the view, if it has the version that changes were made to: without a request if the
  /// instance has a copy of it.
  func baseRow(of overlay: ObjectOverlay, _ version: RowVersion) throws -> LeasedRow? {
    if let header = identityMap.object(overlay.reference)?.header, header.pointee.isCurrent,
      !header.pointee.wakefulness.contains(.rewritten), let row = header.pointee.row(ofVersion: version)
    {
      let bytes = UnsafeRawBufferPointer(start: row.base, count: row.count)
      return LeasedRow(StoredRow(bytes: bytes, version: version), isKept: false)
    }
    guard let row = try view.leasedRow(overlay.reference), row.row.version == version else { return nil }
    return row
  }

  /// As `keepBase`, for a deletion: one of what others have written as it was is made to the newest
  /// row. So it is with all that a child sees of its parent's changes, once the parent is saved.
  ///
  /// - Complexity: as `keepBase`.
  func keepDeletion(_ overlay: ObjectOverlay, before newest: any StoreView) {
    guard overlay.isDeleted, let version = overlay.baseVersion else { return }
    do {
      let newVersion = try newest.version(of: overlay.reference)
      guard let newVersion, newVersion != version, let old = try baseRow(of: overlay, version) else {
        return
      }
      try old.withRow { old in
        let isSame = try newest.withRow(overlay.reference) { $0?.bytes.elementsEqual(old.bytes) == true }
        if isSame { try makeDeletion(overlay, of: old, version: newVersion) }
      }
    } catch {
      noteReadFailure(error, overlay.reference)
    }
  }

  /// Makes a deletion one of a newer version of the same row.
  private func makeDeletion(_ overlay: ObjectOverlay, of row: StoredRow, version: RowVersion) throws {
    overlay.baseVersion = version
    guard let object = identityMap.object(overlay.reference), object.header.pointee.row != nil else {
      return
    }
    object.header.pointee.setRow(
      try graph.store.rows.view(row.bytes, of: overlay.reference), version: version)
  }

  /// What an object was before it was changed here, by slot; empty where that is not known any
  /// more.
  func baseColumns(_ overlay: ObjectOverlay) throws -> [Int: Value] {
    guard let version = overlay.baseVersion else { return [:] }
    if let kept = overlay.keptBase, kept.version == version {
      return try kept.bytes.withUnsafeBytes {
        try columns(of: StoredRow(bytes: $0, version: version), overlay)
      }
    }
    return try view.withRow(overlay.reference) { row in
      guard let row, row.version == version else { return [:] }
      return try columns(of: row, overlay)
    }
  }

  /// The columns of a row by slot.
  func columns(of row: StoredRow, _ overlay: ObjectOverlay) throws -> [Int: Value] {
    guard let layouts = overlay.shape.storage.layouts else { return [:] }
    let view = try graph.store.rows.view(row.bytes, of: overlay.reference)
    var values: [Int: Value] = [:]
    for slot in overlay.shape.properties.indices where overlay.shape.isColumn(slot) {
      values[slot] = layouts.value(slot, of: view)
    }
    return values
  }
}

extension ObjectOverlay {
  /// The changed columns by slot.
  var changedColumns: [Int: Value] { content.columns ?? [:] }
}
