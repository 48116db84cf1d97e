// The insertion of new objects.

internal import PerdureModel
internal import PerdurePredicates

/// Inserts new objects.
final class ObjectInsertion {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let pending: PendingChanges
  private let viewState: ViewState
  private let transientState: TransientState
  private let recording: EditRecording
  private let activity: ContextActivity

  init(_ reading: Shared<ContextReading>, _ recording: EditRecording, _ activity: ContextActivity) {
    graph = reading.graph
    registry = reading.registry
    pending = reading.pending
    viewState = reading.viewState
    transientState = reading.transientState
    self.recording = recording
    self.activity = activity
  }

  func insert<T: ManagedObject>(_ type: T.Type) -> T {
    let object = T(seed(type))
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

  /// Inserts an object again under its reference. The object has initial values, and the caller
  /// attaches an instance.
  ///
  /// If another context has removed the object, this context may have kept unsaved changes of it.
  /// Drops these, because an object has only one overlay (PC1).
  ///
  /// - Parameter wasStored: Whether the object has had a row.
  func insertAgain(
    _ reference: ObjectReference, wasStored: Bool, hasPermanentID: Bool
  ) -> ObjectOverlay {
    if let kept = pending[reference] {
      transientState.dropTransientsBefore(kept)
      registry.identityMap.object(reference)?.header.pointee.overlay = nil
      pending.remove(reference)
      viewState.linksChanged()
    }
    let overlay = ObjectOverlay(reference, graph.shape(of: reference), isNew: true, in: registry.memory)
    overlay.isInsertedAgain = wasStored
    overlay.hasPermanentID = hasPermanentID
    recording.recordInsertion(overlay)
    pending.insert(overlay)
    return overlay
  }

  // MARK: Called by ManagedObject

  func seed(_ type: ManagedObject.Type) -> ObjectSeed {
    guard let shape = graph.shape(of: type) else {
      stop(graph.complaint(about: type))
    }
    return seed(shape)
  }

  func didInsert(_ object: ManagedObject) {
    let overlay = ObjectOverlay(object.reference, object.shape, isNew: true, in: registry.memory)
    recording.recordInsertion(overlay)
    pending.insert(overlay)
    registry.attach(overlay, to: object)
    object.uncountedShape._withUnsafeGuaranteedRef { shape in
      if shape.followsRow { object.header.pointee.wakefulness = .awake }
      if shape.lifeCycle.contains(.awakeFromInsert) {
        activity.callProgram { object.awakeFromInsert() }
      }
    }
  }

  private func seed(
    _ shape: EntityShape, _ file: StaticString = #fileID, _ line: UInt = #line
  ) -> ObjectSeed {
    if shape.schema.isAbstract {
      stop("\(shape.name) is abstract. Insert an object of a subentity.", file: file, line: line)
    }
    return ObjectSeed(header: .make(newReference(shape.number), shape, in: registry.memory))
  }

  /// The reference of a new object. If the store has no id for it, each save throws until the
  /// object is deleted or the context is rolled back or reset (StoreAssignment.swift).
  private func newReference(_ entity: UInt16) -> ObjectReference {
    do {
      return try pending.allocator.next(entity, from: viewState.store)
    } catch {
      return pending.allocator.provisional(entity, because: error)
    }
  }
}
