internal import PerdureModel
internal import PerdurePredicates

extension ContextCore {
  func insert<T: ManagedObject>(_ type: T.Type) -> T {
    let object = T(seedForInserting(type))
    didInsert(object)
    return object
  }

  func insertNewObject(
    forEntityName entityName: String, _ file: StaticString = #fileID, _ line: UInt = #line
  ) -> ManagedObject {
    guard let shape = graph.shape(named: entityName) else {
      stop(graph.complaint(about: entityName), file: file, line: line)
    }
    let object = shape.objectClass.init(seed(shape, file, line))
    didInsert(object)
    return object
  }

  func delete(_ object: ManagedObject) {
    checkOwner()
    guard let context = object.contextForChange() else { return }
    if context !== self { stopAsForeign(object) }
    // Preparations may delete what leads back here.
    if tracker.isDeleted(object.reference) {
      // A delete rule may have taken it along: from now on it is deleted by itself.
      tracker[object.reference]?.deletedWith = nil
      return
    }
    guard preparing.insert(object.reference).inserted else {
      deletedInPreparation.insert(object.reference)
      return
    }
    if object.shape.lifeCycle.contains(.prepareForDeletion) { object.prepareForDeletion() }
    preparing.remove(object.reference)
    deletedInPreparation.remove(object.reference)
    if object.context === self { markDeleted(object.reference) }
    // What the delete rules change belongs to the undo group of this task.
    if recorder?.hasTaskGroups == true { propagateDeletes() }
  }

  // MARK: Called by ManagedObject

  func seedForInserting(_ type: ManagedObject.Type) -> ObjectSeed {
    guard let shape = graph.shape(of: type) else {
      stop(graph.complaint(about: type))
    }
    return seed(shape)
  }

  func didInsert(_ object: ManagedObject) {
    let overlay = ObjectOverlay(object.reference, object.shape, isNew: true, in: memory)
    recordInsertion(overlay)
    tracker.insert(overlay)
    attach(overlay, to: object)
    object.uncountedShape._withUnsafeGuaranteedRef { shape in
      if shape.followsRow { object.header.pointee.wakefulness = .awake }
      if shape.lifeCycle.contains(.awakeFromInsert) { object.awakeFromInsert() }
    }
  }

  /// Stops a program that passes an object of another context.
  @inline(never)
  func stopAsForeign(_ object: ManagedObject) -> Never {
    stop(
      "\(object.objectID) belongs to another context. Use the instance of this context: "
        + "context.object(with: objectID).")
  }

  private func seed(
    _ shape: EntityShape, _ file: StaticString = #fileID, _ line: UInt = #line
  ) -> ObjectSeed {
    checkOwner()
    if shape.schema.isAbstract {
      stop("\(shape.name) is abstract. Insert an object of a subentity.", file: file, line: line)
    }
    return ObjectSeed(core: self, shape: shape, reference: newReference(shape.number))
  }

  /// The reference of a new object. Where the store has no id for it, a save refuses the object
  /// (ContextCore+Stores.swift), and nothing else is the worse for it.
  private func newReference(_ entity: UInt16) -> ObjectReference {
    do {
      return try allocator.next(entity, from: store)
    } catch {
      return allocator.provisional(entity, because: error)
    }
  }

  // MARK: Overlays

  /// The overlay of an object that is about to change, made when there is none.
  func overlay(for reference: ObjectReference) -> ObjectOverlay {
    if let overlay = tracker[reference] { return overlay }
    let overlay = ObjectOverlay(reference, graph.shape(of: reference), isNew: false, in: memory)
    tracker.insert(overlay)
    if !eventStarts.isEmpty, let start = eventStarts.removeValue(forKey: reference) {
      overlay.resumeEvent(start)
    }
    if let object = identityMap.object(reference) { attach(overlay, to: object) }
    return overlay
  }

  /// Lets go of an overlay in which nothing is left.
  func dropIfUnchanged(_ overlay: ObjectOverlay) {
    if overlay.hasDeltas || overlay.isToBeWritten || overlay.changesTransients { return }
    if !overlay.isBeforeEvent, let start = overlay.eventStart { eventStarts[overlay.reference] = start }
    // Not by way of the overlay, which does not know its object once the context is given up.
    identityMap.object(overlay.reference)?.header.pointee.overlay = nil
    tracker.remove(overlay.reference)
  }

  /// Changes an attribute for who touches the object.
  @inline(__always)
  func setAttribute(of object: ManagedObject, _ slot: Int, _ value: Value) {
    if let overlay = object.overlay, overlay.changesRow {
      if overlay.isDiscarded, isDiscarded(object) { return refuseChange(of: object, slot, value) }
      overlay.setValue(value, slot)
    } else if object.header.pointee.wakefulness.contains(.waking) {
      setRowValue(of: object, slot, value)
    } else {
      setFirstAttribute(of: object, slot, value)
    }
  }

  @inline(never)
  private func setFirstAttribute(of object: ManagedObject, _ slot: Int, _ value: Value) {
    guard loadRow(of: object) else { return refuseChange(of: object, slot, value) }
    // Runs the refresh hook before the new value is applied.
    if object.header.pointee.wakefulness.contains(.drowsy), !wake(object) {
      return refuseChange(of: object, slot, value)
    }
    setColumn(of: object, slot, value)
  }

  /// Changes an attribute without anybody being told. Of an object that is pending it is saved with the rest, and
  /// rolled back with it; of any other it is the instance's alone.
  func setPrimitive(of object: ManagedObject, _ slot: Int, _ value: Value) {
    guard let overlay = object.overlay else { return setRowValue(of: object, slot, value) }
    if overlay.changesRow { return overlay.setPrimitiveValue(value, slot) }
    if object.header.pointee.wakefulness.contains(.waking) { return setRowValue(of: object, slot, value) }
    let wasTouched = overlay.isTouched
    setFirstColumn(of: object, slot, value)
    overlay.isTouched = wasTouched
  }

  /// Gives an instance another value than its row in the store has, which is no change: it is gone with the
  /// row, and saved if something else makes the row be written.
  private func setRowValue(of object: ManagedObject, _ slot: Int, _ value: Value) {
    let header = object.header
    guard loadRow(of: object), let row = header.pointee.loadedRow, let layouts = object.shape.storage.layouts
    else { return }
    let bytes = RowWriter(layouts).row(base: row) { $0 == slot ? .value(value) : .copied }
    let epoch = header.pointee.epoch
    let isAltered =
      !header.pointee.wakefulness.contains(.waking)
      || header.pointee.wakefulness.contains(.altered)
    do {
      try bytes.withUnsafeBytes {
        let row = try graph.store.rows.view($0, of: object.reference)
        header.pointee.setRow(row, version: header.pointee.version)
      }
    } catch {
      preconditionFailure("A row that was just written cannot be read.")
    }
    header.pointee.epoch = epoch
    header.pointee.wakefulness.insert(.rewritten)
    if isAltered { header.pointee.wakefulness.insert(.altered) }
  }

  /// Changes a column of an object that has an instance.
  @inline(__always)
  func setColumn(of object: ManagedObject, _ slot: Int, _ value: Value) {
    if let overlay = object.overlay, overlay.changesRow {
      overlay.setValue(value, slot)
    } else {
      setFirstColumn(of: object, slot, value)
    }
  }

  @inline(never)
  private func setFirstColumn(of object: ManagedObject, _ slot: Int, _ value: Value) {
    guard loadRow(of: object) else { return }
    let overlay = overlay(for: object.reference)
    overlay.setValue(value, slot)
    overlay.baseVersion = overlay.baseVersion ?? object.header.pointee.version
    object.header.pointee.shut()
  }

  /// Changes a column of an object that may have no instance.
  func setColumn(_ reference: ObjectReference, _ slot: Int, _ value: Value) {
    if let overlay = tracker[reference], overlay.changesRow {
      overlay.setValue(value, slot)
      return
    }
    if let object = identityMap.object(reference) {
      setColumn(of: object, slot, value)
      return
    }
    guard let version = viewVersion(of: reference) else { return }
    let overlay = overlay(for: reference)
    overlay.setValue(value, slot)
    overlay.baseVersion = overlay.baseVersion ?? version
  }

  /// Marks an object as deleted, with or without an instance.
  func markDeleted(_ reference: ObjectReference) {
    let object = identityMap.object(reference)
    // What has changes on a row that is gone can be deleted: then a refresh forgets it.
    if let object, tracker[reference]?.baseVersion == nil, hasRow(object) != true { return }
    guard tracker[reference] != nil || viewVersion(of: reference) != nil else { return }
    if tracker.isDeleted(reference) { return }
    recordDeletion(reference)
    let overlay = overlay(for: reference)
    overlay.isDeleted = true
    overlay.deletedWith = nil
    overlay.isTouched = true
    if !overlay.isNew, overlay.baseVersion == nil {
      overlay.baseVersion = loadedVersion(object) ?? viewVersion(of: reference)
    }
    tracker.propagateLater(overlay)
  }

  /// Takes the mark of a deletion back. The other changes of the object stay.
  func unmarkDeleted(_ overlay: ObjectOverlay) {
    recorder?.note(.object(overlay.reference)) { .absent }
    overlay.isDeleted = false
    overlay.isPropagated = false
    overlay.deletedWith = nil
  }

  /// Whether an instance can be deleted or connected: it is new, or has a row. Reads no row. nil when the store
  /// cannot say, which is noted: that is no reason to take the object for gone.
  func hasRow(_ object: ManagedObject) -> Bool? {
    if object.overlay?.isNew == true { return true }
    dropStaleRow(of: object)
    if object.header.pointee.isGone { return false }
    if object.header.pointee.row != nil { return true }
    do { return try view.version(of: object.reference) != nil } catch {
      noteReadFailure(error, object.reference)
      return nil
    }
  }

  /// The version of a row in the view; nil when there is none. When the store cannot say, that is noted.
  func viewVersion(of reference: ObjectReference) -> RowVersion? {
    if let header = identityMap.object(reference)?.header, header.pointee.row != nil, header.pointee.isCurrent
    {
      return header.pointee.version
    }
    do { return try view.version(of: reference) } catch {
      noteReadFailure(error, reference)
      return nil
    }
  }

  private func loadedVersion(_ object: ManagedObject?) -> RowVersion? {
    guard let object, object.header.pointee.row != nil else { return nil }
    return object.header.pointee.version
  }
}
