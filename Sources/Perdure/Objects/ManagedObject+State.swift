public import PerdureModel
internal import PerdurePredicates

extension ManagedObject {
  /// The context, as long as it exists and has the object. Nil, for example, after `reset()`, after
  /// a saved deletion, and after an insertion was rolled back.
  public var managedObjectContext: ManagedObjectContext? {
    header.pointee.savedState == nil ? context?.eventHub.handle : core.eventHub.handle
  }

  /// The object's identity. An insertion sets it. Only `ManagedObjectContext.assign(_:to:)`, and a
  /// save that merges a new object into another one (`mergedObjectIDs`), change it.
  public var objectID: ManagedObjectID {
    ManagedObjectID(
      shape.identity, number: header.pointee.reference.id, isTemporary: overlay?.hasTemporaryID ?? false)
  }

  /// The description of the object's entity, which is not abstract.
  public var entity: EntityDescription { shape.description }

  /// Whether the object is new, so that the next save creates its row.
  public var isInserted: Bool { shownState == .inserted }

  /// Whether the object is not new and has unsaved changes, including changes of relationships. If
  /// another context has removed the object (`isDeleted`), the changes stay, and the save rejects
  /// them. Changes of transient attributes count too, until a save or a refresh. A save does not
  /// write them.
  public var isUpdated: Bool { shownState == .updated }

  /// Whether the next save removes the object, or another context has removed it. False after a
  /// save that removed the object.
  ///
  /// It stays true in three cases:
  ///
  /// - Another context has removed the object.
  /// - The object was deleted before its first save.
  /// - A save has merged the object into one with another instance in this context
  ///   (`mergedObjectIDs`).
  public var isDeleted: Bool { shownState == .deleted || core.reading.rows.countsAsDeleted(self) }

  /// Whether the object is inserted, updated or deleted.
  public var hasChanges: Bool { shownState.isPending }

  /// Whether the row is not loaded yet. False for a new object, and for an object that is no longer
  /// in its context. Reading this property does not load the row.
  public var isFault: Bool {
    if header.pointee.isGone || overlay?.isNew == true { return false }
    core.reading.rows.dropStaleRow(of: self)
    return header.pointee.row == nil
  }

  /// The state of the object in its context.
  var state: ObjectState {
    if header.pointee.isGone {
      core.reading.retirement.probedReads?.noteOther()
      return .gone
    }
    return overlay?.state ?? .stored
  }

  /// The state that the public properties return. In `didSave` it is the state before the save,
  /// unless the object has been deleted since.
  private var shownState: ObjectState {
    let state = state
    return state == .deleted ? state : header.pointee.savedState ?? state
  }

  // These references are unmanaged, because code reads them for each of many objects. A context
  // exists as long as any of its instances (`ContextCore.didMake`), and its schema as long as the
  // context.

  var uncountedShape: Unmanaged<EntityShape> {
    @inline(__always) get { header.pointee.shape }
  }

  var uncountedCore: Unmanaged<ContextCore> {
    @inline(__always) get { header.pointee.memory.pointee.core.unsafelyUnwrapped }
  }

  var shape: EntityShape { uncountedShape.takeUnretainedValue() }

  var core: ContextCore { uncountedCore.takeUnretainedValue() }

  var reference: ObjectReference { header.pointee.reference }

  /// The context of the object; nil if the object is gone.
  var context: ContextCore? { header.pointee.isGone ? contextOfGone() : core }

  /// Returns nil. If a key path is probed, notes that it reads something other than a property with
  /// a value (`ProbedReads.noteOther`).
  @inline(never)
  private func contextOfGone() -> ContextCore? {
    core.reading.retirement.probedReads?.noteOther()
    return nil
  }

  var overlay: ObjectOverlay? { header.pointee.overlay?.takeUnretainedValue() }
}
