// From the store's refusal to an error that names objects.

internal import PerdurePredicates

extension PerdureError {
  /// Rows that had changed before the commit was even tried.
  static func stale(_ references: [ObjectReference], in context: ContextCore) -> PerdureError {
    merge(references.map { Conflict(kind: .changed, objectID: context.objectID(of: $0)) }, in: context)
  }

  static func conflict(_ conflict: StoreConflict, in context: ContextCore) -> PerdureError {
    if !conflict.failed.isEmpty {
      return merge(conflict.failed.compactMap { Conflict($0, context) }, in: context)
    }
    let conflicts = conflict.duplicates.map { Conflict($0, context) }
    let constraints = Set(conflict.duplicates.map { context.graph.store.name(ofConstraint: $0.index) })
      .sorted().joined(separator: " and ")
    var error = PerdureError(
      .constraintConflict,
      "\(constraints) must be unique, and another object has the same value. The conflicts say which. "
        + "Nothing was saved; change the value, or delete the object, and save again.")
    error.conflicts = conflicts
    return error
  }

  private static func merge(_ conflicts: [Conflict], in context: ContextCore) -> PerdureError {
    var error = PerdureError(
      .mergeConflict,
      "Another context has saved changes that this save did not take into account. Nothing was saved. "
        + advice(conflicts, in: context) + " Or roll back.")
    var seen: Set<Conflict> = []
    error.conflicts = conflicts.filter { seen.insert($0).inserted }
    return error
  }

  /// What helps, for each kind of conflict that there is: what is gone does not come back by a refresh.
  private static func advice(_ conflicts: [Conflict], in context: ContextCore) -> String {
    let missing = conflicts.contains { $0.kind == .targetMissing }
    let gone = conflicts.contains { $0.kind == .changed && isGone($0, in: context) }
    let other = conflicts.contains { $0.kind != .targetMissing && !isGone($0, in: context) }
    var sentences: [String] = []
    if other { sentences.append("Refresh the objects in question and save again.") }
    if missing {
      sentences.append(
        "What is linked to and gone stays gone, whatever is refreshed: link to something else or to nothing, "
          + "or delete what is linked to it, and save again.")
    }
    if gone {
      sentences.append(
        "Delete what was changed here and is gone, or discard its changes with "
          + "refresh(_:mergeChanges: false), and save again.")
    }
    return sentences.joined(separator: " ")
  }

  /// Whether another context has removed the object. What cannot be looked up is not gone.
  private static func isGone(_ conflict: Conflict, in context: ContextCore) -> Bool {
    guard let reference = context.graph.reference(of: conflict.objectID) else { return false }
    do { return try context.store.view().version(of: reference) == nil } catch { return false }
  }
}

extension PerdureError.Conflict {
  /// What a failed precondition says; nil for one that names no object.
  init?(_ precondition: Precondition, _ context: ContextCore) {
    switch precondition {
    case .rowUnchanged(let reference, _):
      self.init(kind: .changed, objectID: context.objectID(of: reference))
    case .rowExists(let reference):
      self.init(kind: .targetMissing, objectID: context.objectID(of: reference))
    case .rangeUnchanged(_, let range):
      guard let reference = ObjectReference(bareKey: range.lower) else { return nil }
      self.init(kind: .linksChanged, objectID: context.objectID(of: reference))
    }
  }

  init(_ duplicate: StoreConflict.DuplicateKey, _ context: ContextCore) {
    let shape = context.graph.shape(of: duplicate.rejected)
    let slots = (context.graph.store.definition(duplicate.index).components ?? []).compactMap {
      shape.storage.slot(ofProperty: $0.property)
    }
    self.init(
      kind: .duplicate(
        constraint: slots.map { shape.propertyName($0) }, existing: context.objectID(of: duplicate.existing)),
      objectID: context.objectID(of: duplicate.rejected))
    values = slots.map { context.columnValue(duplicate.rejected, $0) }
  }
}

extension ObjectReference {
  /// The reference that a bare key of eight bytes stands for.
  init?(bareKey key: [UInt8]) {
    guard key.count == 8 else { return nil }
    self.init(rawValue: key.reduce(0) { $0 << 8 | UInt64($1) })
  }
}
