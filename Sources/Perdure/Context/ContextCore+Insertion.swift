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
    // A hook may delete objects whose delete rules delete this object too.
    if pending.isDeleted(object.reference) {
      // A delete rule may have deleted the object. Now the program also requests the deletion.
      pending[object.reference]?.deletedWith = nil
      return
    }
    guard activity.preparing.insert(object.reference).inserted else {
      activity.deletedInPreparation.insert(object.reference)
      return
    }
    if object.shape.lifeCycle.contains(.prepareForDeletion) {
      activity.callProgram { object.prepareForDeletion() }
    }
    activity.preparing.remove(object.reference)
    activity.deletedInPreparation.remove(object.reference)
    if object.context === self { editing.objectEditor.markDeleted(object.reference) }
    // Changes by the delete rules belong to the undo group of this task.
    if editing.recording.recorder?.hasTaskGroups == true { editing.deleteRules.propagateDeletes() }
  }

  // MARK: Called by ManagedObject

  func seedForInserting(_ type: ManagedObject.Type) -> ObjectSeed {
    guard let shape = graph.shape(of: type) else {
      stop(graph.complaint(about: type))
    }
    return seed(shape)
  }

  func didInsert(_ object: ManagedObject) {
    let overlay = ObjectOverlay(object.reference, object.shape, isNew: true, in: registry.memory)
    editing.recording.recordInsertion(overlay)
    pending.insert(overlay)
    registry.attach(overlay, to: object)
    object.uncountedShape._withUnsafeGuaranteedRef { shape in
      if shape.followsRow { object.header.pointee.wakefulness = .awake }
      if shape.lifeCycle.contains(.awakeFromInsert) {
        activity.callProgram { object.awakeFromInsert() }
      }
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

  /// The reference of a new object. If the store has no id for it, a save refuses the object
  /// (StoreAssignment.swift). Other objects are not affected.
  private func newReference(_ entity: UInt16) -> ObjectReference {
    do {
      return try pending.allocator.next(entity, from: store)
    } catch {
      return pending.allocator.provisional(entity, because: error)
    }
  }
}
