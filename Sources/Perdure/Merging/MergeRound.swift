// Finds the conflicts of a commit, and decides them by the policy (MG1 in SaveRun.swift). Changes
// no object.

internal import PerdurePredicates

/// One decision about unsaved changes. It is applied after the view has advanced.
enum MergeStep {
  /// Changed columns get merged values; nil means the store's value.
  case merge(ObjectOverlay, [Int: Value?])
  /// Unsaved changes of an object are dropped. If its deletion is pending, the deletions that it
  /// has cascaded to are dropped too.
  case asStored(ObjectReference)
  /// The object is removed, and its unsaved changes are dropped.
  case gone(ObjectReference)
  /// The object is inserted again. Columns without changes get their base values.
  case insertAgain(ObjectOverlay, base: [Int: Value])
  /// A link of an object to a removed object is dropped.
  case dropLink(ObjectReference, to: ObjectReference)
  /// A to-one relationship gets its stored target.
  case setBack(ObjectReference, RelationshipShape)
  /// A many-to-many relationship gets these targets.
  case setTargets(ObjectReference, RelationshipShape, Set<ObjectReference>)
  /// Members of an ordered relationship get their stored positions.
  case dropMoves(ObjectReference, RelationshipShape, [ObjectReference])
  /// A new object is merged into another one.
  case upsert(ObjectReference, into: ObjectReference, StoreConflict.DuplicateKey)
  /// A new object is not inserted.
  case withdraw(ObjectReference)
  /// The check of an unchanged object ends, because the policy permits that another context has
  /// changed it.
  case unwatch(ObjectReference)
}

/// The comparison of the unsaved changes with one newest state.
struct MergeRound {
  let reading: ContextReading
  let rebase: PendingRebase
  let mergeRules: MergeRules
  /// The state with which the unsaved changes are compared.
  let newest: any StoreView
  /// The layouts with which the rows of that state are decoded.
  private let newestRows: RowChecks
  private(set) var steps: [MergeStep] = []
  /// The conflicts that remain.
  var unresolved = StoreConflict()
  /// The versions of the objects of `unresolved`, for the error.
  var versions: [ObjectReference: ObjectVersions] = [:]
  /// Objects with a final step, which need no other decision.
  private var decided: Set<ObjectReference> = []
  /// The objects of `decided` that are inserted again.
  private var insertedAgain: Set<ObjectReference> = []
  /// The objects that another context has removed, and whose unsaved changes have no effect.
  private var removedUnchanged: [ObjectReference] = []
  /// The overlays with unsaved links to each target, in order. Computed once.
  private lazy var sourcesByTarget = reading.pending.sourcesByTarget()

  /// - Throws: The conflicts that remain, or the error of a store that could not be read.
  init(
    _ conflict: StoreConflict, _ reading: ContextReading, rebase: PendingRebase, mergeRules: MergeRules
  ) throws(PerdureError) {
    (self.reading, self.rebase, self.mergeRules) = (reading, rebase, mergeRules)
    let newest = reading.viewState.store.view()
    (self.newest, newestRows) = (newest, newest.schema.rows)
    do {
      for overlay in reading.pending.ordered.joined() { try judgeRow(overlay) }
      removeUnchanged()
      for precondition in conflict.failed { try judge(precondition) }
      judge(conflict.duplicates)
    } catch {
      var failure = PerdureError(
        .readFailed,
        "The newest values of the changed objects could not be read. Nothing was saved. Save again, or verify the "
          + "store.")
      failure.cause = error
      throw failure
    }
    if !unresolved.failed.isEmpty || !unresolved.duplicates.isEmpty { throw error() }
  }

  mutating func add(_ step: MergeStep) {
    switch step {
    case .asStored(let reference), .gone(let reference), .withdraw(let reference),
      .upsert(let reference, _, _):
      guard decided.insert(reference).inserted else { return }
    case .insertAgain(let overlay, _):
      decided.insert(overlay.reference)
      insertedAgain.insert(overlay.reference)
    default: break
    }
    steps.append(step)
  }

  func isDecided(_ reference: ObjectReference) -> Bool { decided.contains(reference) }

  /// Whether the save will write the unsaved links of an object, as far as is decided.
  func keepsLinks(_ reference: ObjectReference) -> Bool {
    !isDecided(reference) || insertedAgain.contains(reference)
  }

  /// The overlays with unsaved links to an object, in order.
  mutating func sources(of target: ObjectReference) -> [ObjectOverlay] { sourcesByTarget[target] ?? [] }

  // MARK: Rows

  private mutating func judgeRow(_ overlay: ObjectOverlay) throws {
    if overlay.isInsertedAgain { return try judgeInsertion(overlay) }
    guard let version = overlay.baseVersion, !overlay.isNew else { return }
    let (rebase, rows) = (rebase, newestRows)
    let stored = try newest.withRow(overlay.reference) { row -> (isSame: Bool, columns: [Int: Value]?) in
      if row?.version == version { return (true, nil) }
      guard let row else { return (false, nil) }
      return (false, rebase.columns(of: try rows.view(row.bytes, of: overlay.reference), overlay))
    }
    if stored.isSame { return }
    let found = ObjectVersions(
      local: overlay.changedColumns, base: try rebase.baseColumns(overlay),
      store: stored.columns,
      isDeletedHere: overlay.isDeleted, hasLinks: overlay.hasStoredDeltas)
    judge(overlay, found, .rowUnchanged(overlay.reference, version))
  }

  /// Decides about an object that this context inserts again, if another context has inserted it
  /// again and saved it.
  private mutating func judgeInsertion(_ overlay: ObjectOverlay) throws {
    guard let stored = try rebase.columns(of: overlay, in: newest) else { return }
    let found = ObjectVersions(
      local: overlay.columns(differingFrom: stored), base: [:], store: stored,
      isDeletedHere: overlay.isDeleted, hasLinks: overlay.hasStoredDeltas)
    judge(overlay, found, .rowAbsent(overlay.reference))
  }

  private mutating func judge(
    _ overlay: ObjectOverlay, _ found: ObjectVersions, _ precondition: Precondition
  ) {
    switch rules(overlay).outcome(found) {
    case .conflict(let slots):
      unresolved.failed.append(precondition)
      var named = found
      if !slots.isEmpty { named.local = found.local.filter { slots.contains($0.key) } }
      versions[overlay.reference] = named
    case .merged(let values): add(.merge(overlay, values))
    case .asStored: add(.asStored(root(of: overlay)))
    case .gone where found.isUnchangedHere: removedUnchanged.append(overlay.reference)
    case .gone: add(.gone(overlay.reference))
    case .deleted: add(.merge(overlay, [:]))
    case .insertedAgain: add(.insertAgain(overlay, base: found.base))
    }
  }

  /// Decides about the removed objects whose unsaved changes have no effect. The policy has not
  /// decided to remove them, so their sources decide about the links to them, as about those to
  /// objects without unsaved changes.
  private mutating func removeUnchanged() {
    for reference in removedUnchanged {
      if !sources(of: reference).isEmpty { judgeLinks(to: reference, .rowExists(reference)) }
      add(.gone(reference))
    }
  }

  /// The object whose deletion was requested and has cascaded to this one; this one if its own
  /// deletion was requested.
  func root(of overlay: ObjectOverlay) -> ObjectReference {
    var (reference, seen) = (overlay.reference, Set<ObjectReference>())
    while seen.insert(reference).inserted, let parent = reading.pending[reference]?.deletedWith,
      reading.pending.isDeleted(parent)
    {
      reference = parent
    }
    return reference
  }

  /// The policy for an object, with its rules for properties.
  func rules(_ overlay: ObjectOverlay) -> EntityMergeRules {
    mergeRules.rules(overlay.shape, overlay.reference)
  }

  func general(_ overlay: ObjectOverlay) -> MergePolicy.General {
    mergeRules.mergePolicy.general(reading.graph.lineage(of: overlay.shape))
  }

  // MARK: The error

  private func error() -> PerdureError {
    var error = PerdureError.conflict(unresolved, in: reading)
    for position in error.conflicts.indices {
      guard let reference = reading.graph.reference(of: error.conflicts[position].objectID) else { continue }
      switch error.conflicts[position].kind {
      case .changed:
        guard let found = versions[reference] else { continue }
        error.conflicts[position].properties = mergeRules.propertyVersions(found, reference)
        error.conflicts[position].isDeletedHere = found.isDeletedHere
        error.conflicts[position].isDeletedInStore = found.store == nil
      case .duplicate(let constraint, _):
        error.conflicts[position].properties = taken(constraint, by: reference)
      case .targetMissing, .linksChanged: break
      }
    }
    return error
  }

  /// The versions of a constraint's changed properties. Another object already has their values.
  private func taken(_ constraint: [String], by reference: ObjectReference) -> [PropertyVersions] {
    guard let overlay = reading.pending[reference] else { return [] }
    var base: [Int: Value] = [:]
    if let beginning = overlay.beginning {
      for slot in beginning.indices { base[slot] = beginning[slot] }
    } else {
      do { base = try rebase.baseColumns(overlay) } catch {
        // The error is thrown without the base values, because it reports another problem.
        base = [:]
      }
    }
    let local = overlay.changedColumns.filter { constraint.contains(overlay.shape.propertyName($0.key)) }
    return mergeRules.propertyVersions(ObjectVersions(local: local, base: base, store: local), reference)
  }
}
