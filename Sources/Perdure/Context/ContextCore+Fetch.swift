// Fetches: planned on the view, run on rows, with the unsaved changes laid over.

internal import PerdurePredicates

extension ContextCore {
  func fetch<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [T] {
    let executor = try executor(request)
    var objects: [T] = []
    try executor.visit { reference, row in
      let object = typedInstance(of: reference, T.self)
      if let row { adopt(row, object) }
      objects.append(object)
      return true
    }
    if let readFailure { throw readFailure }
    return objects
  }

  func fetchIDs<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [ManagedObjectID] {
    let references = try executor(request).references()
    if let readFailure { throw readFailure }
    return references.map(objectID)
  }

  func count<T: ManagedObject>(_ request: FetchRequest<T>) throws -> Int {
    let count = try executor(request).count()
    if let readFailure { throw readFailure }
    return count
  }

  func explain<T: ManagedObject>(_ request: FetchRequest<T>) throws -> String {
    try executor(request).plan.description
  }

  private func executor<T: ManagedObject>(_ request: FetchRequest<T>) throws -> FetchExecutor {
    checkOwner()
    if request.includesPendingChanges { propagateDeletes() }
    if let readFailure { throw readFailure }
    let className = graph.shape(of: T.self)?.name ?? (request.entityName == nil ? T._entityName : "")
    let query = try request.query(graph.store, entityOfClass: className)
    let prepared = try PreparedFetch(query, graph.store)
    let plan = FetchPlanner.plan(prepared, FetchStatistics(view))
    let pending = request.includesPendingChanges && !tracker.isEmpty ? ContextChanges(self) : nil
    return FetchExecutor(prepared, plan, view: view, pending: pending)
  }

  /// Gives a fault the row that a fetch has at hand anyway.
  private func adopt(_ stored: StoredRow, _ object: ManagedObject) {
    guard object.header.pointee.row == nil, object.overlay == nil,
      let row = try? graph.store.rows.view(stored.bytes, of: object.reference)
    else { return }
    object.header.pointee.setRow(row, version: stored.version)
    object.header.pointee.epoch = epoch
  }
}

/// The unsaved changes of a context, as a fetch asks for them.
final class ContextChanges: PendingChanges {
  private let core: ContextCore

  init(_ core: ContextCore) {
    self.core = core
  }

  func isTouched(_ reference: ObjectReference) -> Bool { core.tracker[reference] != nil }

  func touches(entity: UInt16) -> Bool { core.tracker.touches(entity: entity) }

  func changedObjects(of entity: UInt16) -> [ObjectReference] {
    core.tracker.overlays(ofEntity: entity).filter { !$0.isDeleted }.map(\.reference)
  }

  func touchedObjects(of entity: UInt16) -> [ObjectReference] {
    core.tracker.overlays(ofEntity: entity).map(\.reference)
  }

  func source(of reference: ObjectReference) -> any PropertySource {
    PendingSource(core, reference)
  }

  /// An object with its unsaved changes. Makes no instance.
  private struct PendingSource: PropertySource {
    let core: ContextCore
    let identity: ObjectReference
    let shape: EntityShape

    init(_ core: ContextCore, _ reference: ObjectReference) {
      self.core = core
      identity = reference
      shape = core.graph.shape(of: reference)
    }

    var reference: ObjectReference? { identity }

    func value(of property: String) throws(PredicateEvaluationError) -> PropertyResult {
      guard let slot = shape.storage.slot(named: property) else { return .unknown }
      switch shape.properties[slot] {
      case .attribute: return .value(core.columnValue(identity, slot))
      case .count(let counted):
        return .value(.integer(Int64(core.targetCount(of: identity, shape.relationship(counted)))))
      case .relationship(let relationship):
        let targets = core.targets(of: identity, relationship).map { PendingSource(core, $0) }
        return relationship.isToMany ? .toMany(targets) : .toOne(targets.first)
      }
    }

    func reachesMany(through relationship: String, then path: ArraySlice<String>) -> Bool {
      core.graph.store.reachesMany(shape.storage, through: relationship, then: path)
    }
  }
}
