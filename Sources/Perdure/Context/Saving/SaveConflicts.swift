// Converts conflicts and errors of the store to errors that name objects.

internal import PerdurePredicates

extension PerdureError {
  /// The error of a commit that the store could not write or make durable.
  static func saveFailed(_ cause: any Error, outcome: String = nothingSaved) -> PerdureError {
    let uncertain = cause as? UncertainCommit
    var error = PerdureError(
      .saveFailed,
      uncertain == nil
        ? "The store could not write. \(outcome)."
        : "The store could not write, or could not sync what it wrote, so the outcome is unknown. Open the store "
          + "again, and check what was saved before you save once more.")
    error.isOutcomeUnknown = uncertain != nil
    error.cause = uncertain?.cause ?? cause
    return error
  }

  private static let nothingSaved = "Nothing was saved"

  /// The error for a commit that a store has refused.
  ///
  /// - Parameter outcome: The result of the save, as the beginning of a sentence.
  static func refusal(
    _ error: any Error, in context: ContextReading, outcome: String = nothingSaved
  ) -> PerdureError {
    if let conflict = error as? StoreConflict { return .conflict(conflict, in: context, outcome: outcome) }
    // The container may have been closed during the save.
    do { try context.viewState.checkIsOpen() } catch { return error }
    return .saveFailed(error, outcome: outcome)
  }

  /// The error if some stores have committed and another one has not.
  static func incomplete(_ incomplete: IncompleteCommit, in context: ContextReading) -> PerdureError {
    let stores = context.graph.stores
    let refusal = refusal(
      incomplete.cause, in: context, outcome: "The changes for this store were not saved")
    let saved = incomplete.committed.map { stores[$0].identifier }
    var error = PerdureError(
      .incompleteSave,
      "The changes in \(counted(saved.count, "store")) are saved (\(saved.joined(separator: ", "))). Those in the "
        + "store \(stores[incomplete.failed].identifier) and in the stores after it are still pending. Remove the "
        + "cause and save again, or roll back.")
    error.savedStoreIdentifiers = saved
    error.conflicts = refusal.conflicts
    error.isOutcomeUnknown = refusal.isOutcomeUnknown
    error.cause = refusal
    return error
  }

  static func conflict(
    _ conflict: StoreConflict, in context: ContextReading, outcome: String = nothingSaved
  ) -> PerdureError {
    if !conflict.failed.isEmpty {
      return merge(conflict.failed.compactMap { Conflict($0, context) }, in: context, outcome)
    }
    let conflicts = conflict.duplicates.map { Conflict($0, context) }
    let constraints = Set(conflict.duplicates.map { context.graph.store.name(ofConstraint: $0.index) })
      .sorted().joined(separator: " and ")
    var error = PerdureError(
      .constraintConflict,
      "\(constraints) must be unique, and another object has the same value. The error's `conflicts` name both objects. "
        + "\(outcome); change the value, or delete the object, and save again.")
    error.conflicts = conflicts
    return error
  }

  private static func merge(
    _ conflicts: [Conflict], in context: ContextReading, _ outcome: String = nothingSaved
  ) -> PerdureError {
    var error = PerdureError(
      .mergeConflict,
      "Another context has saved changes that this save did not take into account. \(outcome). "
        + advice(conflicts, in: context) + " Or roll back.")
    var seen: Set<Conflict> = []
    error.conflicts = conflicts.filter { seen.insert($0).inserted }
    return error
  }

  /// The remedies for the conflicts. A refresh does not restore a removed object, but drops most
  /// links to that object.
  private static func advice(_ conflicts: [Conflict], in context: ContextReading) -> String {
    var (refreshes, relinks, discards) = (false, false, false)
    let view = context.viewState.store.view()
    for conflict in conflicts {
      guard let reference = context.graph.reference(of: conflict.objectID) else { continue }
      switch conflict.kind {
      case .targetMissing:
        let isInRow = context.pending.contains { $0.refers(to: reference) }
        relinks = relinks || isInRow
        refreshes = refreshes || !isInRow || context.pending.contains { $0.isLinked(with: reference) }
      case .changed where isGone(reference, view) && context.pending[reference]?.changesAttributes == true:
        discards = true
      default: refreshes = true
      }
    }
    var sentences: [String] = []
    if refreshes { sentences.append("Refresh the objects in question and save again.") }
    if relinks {
      sentences.append(
        (refreshes ? "A link that is still refused has a removed object as its target" : refreshDoesNotHelp)
          + ": link to another object or to nil, or delete the linking object, and save again.")
    }
    if discards {
      sentences.append(
        "Another context has removed objects that were changed here: delete them, or discard their changes with "
          + "refresh(_:mergeChanges: false), and save again.")
    }
    return sentences.joined(separator: " ")
  }

  private static let refreshDoesNotHelp =
    "A refresh does not restore the removed target of a link"

  /// Whether another context has removed the object. False if it cannot be looked up.
  private static func isGone(_ reference: ObjectReference, _ view: any StateReader) -> Bool {
    do { return try view.version(of: reference) == nil } catch { return false }
  }
}

extension ObjectOverlay {
  /// Whether the changed row has a reference to an object.
  fileprivate func refers(to other: ObjectReference) -> Bool {
    !isDeleted && shape.columnSlots.contains { reference($0) == other }
  }

  /// Whether the object has an unsaved link to another object.
  func links(to other: ObjectReference) -> Bool {
    if isDeleted { return false }
    return refers(to: other)
      || deltas.contains { !shape.relationship($0.slot).isInColumn && $0.delta.added.contains(other) }
  }

  /// Whether this object has a new link to or from `other`. A refresh drops such a link if either
  /// object was removed.
  fileprivate func isLinked(with other: ObjectReference) -> Bool {
    if isDeleted { return false }
    return deltas.contains { reference == other ? !$0.delta.added.isEmpty : $0.delta.contains(other) == true }
      || shape.columnSlots.contains { reference($0) == other && shape.relationship($0).inverseIsToOne }
  }

  /// Whether attributes have changes that a refresh keeps.
  fileprivate var changesAttributes: Bool {
    !isDeleted && shape.properties.indices.contains { value($0) != nil && !shape.isRelationship($0) }
  }
}

extension PerdureError.Conflict {
  /// The conflict of a failed precondition; nil if the precondition names no object.
  init?(_ precondition: Precondition, _ context: ContextReading) {
    switch precondition {
    case .rowUnchanged(let reference, _), .rowAbsent(let reference):
      self.init(kind: .changed, objectID: context.pending.objectID(of: reference))
    case .rowExists(let reference):
      self.init(kind: .targetMissing, objectID: context.pending.objectID(of: reference))
      linkedFrom = context.pending.ordered.joined().filter { $0.links(to: reference) }
        .map { context.pending.objectID(of: $0.reference) }
    case .rangeUnchanged(_, let range):
      guard let reference = ObjectReference(bareKey: range.lower) else { return nil }
      self.init(kind: .linksChanged, objectID: context.pending.objectID(of: reference))
    }
  }

  init(_ duplicate: StoreConflict.DuplicateKey, _ context: ContextReading) {
    let shape = context.graph.shape(of: duplicate.rejected)
    let slots = (context.graph.store.definition(duplicate.index).components ?? []).compactMap {
      shape.storage.slot(ofProperty: $0.property)
    }
    self.init(
      kind: .duplicate(
        constraint: slots.map { shape.propertyName($0) },
        existing: context.pending.objectID(of: duplicate.existing)),
      objectID: context.pending.objectID(of: duplicate.rejected))
    values = slots.map { context.rows.columnValue(duplicate.rejected, $0) }
  }
}

extension ObjectReference {
  /// The reference with which a key begins; nil if the key is too short.
  init?(bareKey key: [UInt8]) {
    guard key.count >= 8 else { return nil }
    self.init(rawValue: key.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
  }
}
