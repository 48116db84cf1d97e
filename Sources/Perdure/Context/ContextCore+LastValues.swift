// What an object reads as when the context no longer has it: the values that it had last.

internal import PerdurePredicates

extension ContextCore {
  // MARK: New objects that go without a row

  /// The columns of a new object as a row.
  func lastRow(of overlay: ObjectOverlay) -> [UInt8]? {
    guard let layouts = overlay.shape.storage.layouts else { return nil }
    var bytes: [UInt8] = []
    overlay.withColumns { values, marks in
      let held = values.indices.map { fitting(values[$0], overlay.shape, $0) }
      held.withUnsafeBufferPointer {
        RowWriter(layouts).append(to: &bytes, base: nil, $0, isGiven: marks)
      }
    }
    return bytes
  }

  /// Takes a new object out of the context: it was deleted, or a save has merged it into another.
  ///
  /// - Parameter row: What its instance shows from now on.
  func retireNew(_ overlay: ObjectOverlay, _ row: [UInt8]?) {
    noteGone(overlay)
    tracker.remove(overlay.reference)
    linksChanged()
    guard let object = identityMap.object(overlay.reference) else { return }
    object.header.pointee.hasVanished = true
    retire(object)
    if let row { showLastRow(row, RowVersion(rawValue: 0), object) }
  }

  /// Gives an object that is gone a row to be read from.
  func showLastRow(_ bytes: [UInt8], _ version: RowVersion, _ object: ManagedObject) {
    do {
      try bytes.withUnsafeBytes {
        object.header.pointee.setRow(try graph.store.rows.view($0, of: object.reference), version: version)
      }
    } catch {
      preconditionFailure("A row that was written or read before does not read.")
    }
  }

  // MARK: Objects that others have removed

  /// Keeps the row of an object with unsaved changes that others have removed.
  func keepLastRow(of object: ManagedObject) {
    guard let overlay = object.overlay, overlay.keptBase == nil, let row = object.header.pointee.loadedRow
    else {
      return
    }
    let bytes = UnsafeRawBufferPointer(start: row.base, count: row.count)
    overlay.keptBase = KeptRow(version: object.header.pointee.version, bytes: Array(bytes))
  }

  /// What a column was when unsaved changes were made to the object, if others have removed it since.
  func lastValue(_ slot: Int, of object: ManagedObject) -> Value {
    guard let overlay = object.overlay, let kept = overlay.keptBase,
      overlay.isDeleted || hasVanished(object.reference), let layouts = object.shape.storage.layouts
    else { return .null }
    do {
      return try kept.bytes.withUnsafeBytes {
        layouts.value(slot, of: try graph.store.rows.view($0, of: object.reference))
      }
    } catch {
      preconditionFailure("A row that was read before does not read.")
    }
  }

  /// What a to-one relationship that must have an object leads to where it shows none: the object that it had, or one
  /// without values. nil where the program has never set it.
  func lastTarget(of owner: ManagedObject, _ relationship: RelationshipShape) -> ManagedObject? {
    if relationship.form == .column, case .reference(let target) = owner.heldColumnValue(relationship.slot) {
      return lastInstance(of: target)
    }
    let isAbsent = owner.header.pointee.isGone || readFailure != nil || isRemovedElsewhere(owner)
    return isAbsent ? absentInstance(of: relationship.destination) : nil
  }

  /// The instance that an object which is gone leads to: one that is gone too, if the program holds it.
  func lastInstance(of reference: ObjectReference) -> ManagedObject {
    if let object = identityMap.object(reference) { return object }
    return removedInstances[reference]?.takeUnretainedValue() ?? instance(of: reference)
  }

  /// Called when an instance that is gone is freed.
  func forgetRemoved(_ object: ManagedObject) {
    guard removedInstances[object.reference]?.toOpaque() == Unmanaged.passUnretained(object).toOpaque() else {
      return
    }
    removedInstances[object.reference] = nil
  }

  // MARK: Objects that a save has deleted

  /// The row of an object that is deleted, with the attributes that were changed; nil where the loaded row says it all.
  private func lastRow(of object: ManagedObject, _ overlay: ObjectOverlay) -> [UInt8]? {
    let loaded = object.header.pointee.loadedRow
    guard let layouts = overlay.shape.storage.layouts, overlay.changesRow || loaded == nil else { return nil }
    func row(base: RowView) -> [UInt8] {
      RowWriter(layouts).row(base: base) { slot in
        if overlay.shape.isRelationship(slot) { return .copied }
        return overlay.value(slot).map { .value(fitting($0, overlay.shape, slot)) } ?? .copied
      }
    }
    if let loaded { return row(base: loaded) }
    do {
      return try overlay.keptBase?.bytes.withUnsafeBytes {
        row(base: try graph.store.rows.view($0, of: overlay.reference))
      }
    } catch {
      preconditionFailure("A row that was read before does not read.")
    }
  }

  /// Takes a deleted object out of the context. Its attributes show what they showed before the save, its relationships
  /// what its row had: delete rules have taken the others away.
  func retireDeleted(_ object: ManagedObject, _ overlay: ObjectOverlay) {
    let row = lastRow(of: object, overlay)
    retire(object)
    removedInstances[object.reference] = .passUnretained(object)
    if let row { showLastRow(row, RowVersion(rawValue: 0), object) }
  }

  /// An instance of an object that does not exist: without values, and deleted.
  private func absentInstance(of entity: UInt16) -> ManagedObject? {
    guard let number = graph.store.entity(entity).concrete.first else { return nil }
    let shape = graph.shape(numbered: number)
    let reference = ObjectReference(entity: number, id: 0)
    let object =
      identityMap.object(reference)
      ?? shape.objectClass.init(
        ObjectSeed(core: self, shape: shape, reference: reference))
    vanish(object)
    return object
  }
}
