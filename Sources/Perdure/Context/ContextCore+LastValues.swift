// The last values of an object, which its instance shows after the context has lost the object.

internal import PerdurePredicates

extension ContextCore {
  // MARK: New objects that never had a row

  /// Removes a new object from the context after it was deleted or merged into another object.
  ///
  /// - Parameter row: The values that its instance shows from now on.
  func retireNew(_ overlay: ObjectOverlay, _ row: [UInt8]?) {
    noteGone(overlay)
    tracker.remove(overlay.reference)
    linksChanged()
    guard let object = identityMap.object(overlay.reference) else { return }
    object.header.pointee.hasVanished = true
    retire(object)
    removedInstances[object.reference] = .passUnretained(object)
    if let row { showLastRow(row, RowVersion(rawValue: 0), object) }
  }

  /// Gives an instance whose object is gone a row to read its values from.
  func showLastRow(_ bytes: [UInt8], _ version: RowVersion, _ object: ManagedObject) {
    do {
      try bytes.withUnsafeBytes {
        object.header.pointee.setRow(try graph.store.rows.view($0, of: object.reference), version: version)
      }
    } catch {
      preconditionFailure("A row that was written or read before cannot be read.")
    }
  }

  // MARK: Objects that other contexts have removed

  /// Keeps the row of an object with unsaved changes that another context has removed.
  func keepLastRow(of object: ManagedObject) {
    guard let overlay = object.overlay, overlay.keptBase == nil, let row = object.header.pointee.loadedRow
    else {
      return
    }
    let bytes = UnsafeRawBufferPointer(start: row.base, count: row.count)
    overlay.keptBase = KeptRow(version: object.header.pointee.version, bytes: Array(bytes))
  }

  /// The value of a column in the kept row of an object with unsaved changes. Null unless the
  /// object is deleted or another context has removed it.
  func lastValue(_ slot: Int, of object: ManagedObject) -> Value {
    if let probedReads { return probedReads.value(slot, of: object) }
    guard let overlay = object.overlay, let kept = overlay.keptBase,
      overlay.isDeleted || hasVanished(object.reference), let layouts = object.shape.storage.layouts
    else { return .null }
    do {
      return try kept.bytes.withUnsafeBytes {
        layouts.value(slot, of: try graph.store.rows.view($0, of: object.reference))
      }
    } catch {
      preconditionFailure("A row that was read before cannot be read.")
    }
  }

  /// The target of a required to-one relationship that has no object: the object that it had last,
  /// or a deleted object without values. nil if no entity can have such an object.
  func lastTarget(of owner: ManagedObject, _ relationship: RelationshipShape) -> ManagedObject? {
    if relationship.form == .column, case .reference(let target) = owner.heldColumnValue(relationship.slot) {
      return lastInstance(of: target)
    }
    return absentInstance(of: relationship.destination)
  }

  /// The instance that a relationship of a gone object leads to. It may itself be gone, if the
  /// program still holds it.
  func lastInstance(of reference: ObjectReference) -> ManagedObject {
    if let object = identityMap.object(reference) { return object }
    return removedInstances[reference]?.takeUnretainedValue() ?? instance(of: reference)
  }

  /// Removes an instance from `removedInstances` when it is freed.
  func forgetRemoved(_ object: ManagedObject) {
    guard removedInstances[object.reference]?.toOpaque() == Unmanaged.passUnretained(object).toOpaque() else {
      return
    }
    removedInstances[object.reference] = nil
  }

  // MARK: Objects that a save has deleted

  /// The row of a deleted object with its changed attributes; nil if the loaded row needs no
  /// change. Without a row that was read, the other attributes have no values.
  private func lastRow(of object: ManagedObject, _ overlay: ObjectOverlay) -> [UInt8]? {
    let loaded = object.header.pointee.loadedRow
    guard let layouts = overlay.shape.storage.layouts, overlay.changesRow || loaded == nil else { return nil }
    func row(base: RowView?) -> [UInt8] {
      RowWriter(layouts).row(base: base) { slot in
        let value = overlay.shape.isRelationship(slot) ? nil : overlay.value(slot)
        if let value { return .value(fitting(value, overlay.shape, slot)) }
        return base == nil ? .value(.null) : .copied
      }
    }
    if let loaded { return row(base: loaded) }
    guard let kept = overlay.keptBase else { return overlay.changesRow ? row(base: nil) : nil }
    do {
      return try kept.bytes.withUnsafeBytes {
        row(base: try graph.store.rows.view($0, of: overlay.reference))
      }
    } catch {
      preconditionFailure("A row that was read before cannot be read.")
    }
  }

  /// Removes a deleted object from the context. Its attributes show the values of before the save.
  /// Its relationships show only the targets that its row had, because delete rules have removed
  /// the others.
  func retireDeleted(_ object: ManagedObject, _ overlay: ObjectOverlay) {
    let row = lastRow(of: object, overlay)
    retire(object)
    removedInstances[object.reference] = .passUnretained(object)
    if let row { showLastRow(row, RowVersion(rawValue: 0), object) }
  }

  /// A deleted instance without values, for an object that does not exist.
  func absentInstance(of entity: UInt16) -> ManagedObject? {
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
