// Reports the edits of a context to the recorder of its undo manager, before they are made.

internal import PerdurePredicates

/// Records the content of each place (`EditedPlace`) that an edit will change. Overlays report
/// edits of columns themselves.
final class EditRecording {
  private let registry: ObjectRegistry
  private let graph: GraphSchema
  @Shared private var reading: ContextReading

  init(_ reading: Shared<ContextReading>) {
    registry = reading.registry
    graph = reading.graph
    _reading = reading
  }

  /// The recorder of the undo manager; nil for a context without one.
  var recorder: EditRecorder? { registry.memory.pointee.recorder?.takeUnretainedValue() }

  /// Records the insertion of an object.
  func recordInsertion(_ overlay: ObjectOverlay) {
    guard let recorder else { return }
    if recorder.noteInsertion(overlay.reference) { overlay.noteInsertionInGroup() }
  }

  /// Records an object before it is deleted or removed.
  func recordDeletion(_ reference: ObjectReference) {
    recorder?.note(.object(reference)) { reading.contents.objectContent(reference) }
  }

  /// Records a link before it changes. The link must not be stored in a column.
  func recordLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    guard let recorder else { return }
    let place = relationship.canonicalEnd(owner, target, inverse: graph.inverse(of: relationship, at: target))
    recorder.note(place) { reading.links.contains(owner, relationship, target) ? .linked : .absent }
  }

  /// Records the position of a member before it changes.
  ///
  /// - Parameters:
  ///   - delta: The unsaved changes of the order.
  ///   - isSpread: Whether the change only makes space for another member.
  func recordPosition(
    of member: ObjectReference, in owner: ObjectReference, _ relationship: RelationshipShape,
    _ delta: OrderDelta, isSpread: Bool = false
  ) {
    recorder?.note(.position(of: member, in: owner, slot: relationship.slot), isSpread: isSpread) {
      if let placement = delta.placed[member] { return .key(placement.key) }
      return delta.hidden[member] == nil ? .stored : .absent
    }
  }

  /// Records a transient attribute before it is set.
  func recordTransient(_ reference: ObjectReference, _ slot: Int) {
    let place = EditedPlace.transient(reference, slot: slot)
    recorder?.note(place) { reading.contents.content(of: place) }
  }

  /// Runs a closure whose changes cannot be undone. If it advances the view, call
  /// `readUndoContents()` first.
  func excludingFromUndo<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    // The same recorder ends the exclusion, even if the body sets another manager.
    let recorder = recorder
    recorder?.beginExclusion()
    defer { recorder?.endExclusion() }
    return try body()
  }

  /// Runs a closure that applies delete rules of a deletion again (ReopenedGroups.swift).
  func applyingRulesAgain(of deleted: ObjectReference, _ body: () -> Void) {
    guard let recorder else { return body() }
    recorder.applyRulesAgain(ofDeleted: deleted, body)
  }

  /// Calls the hooks of a save. Their changes belong to the groups of their objects
  /// (HookGroups.swift).
  func callingSaveHooks<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    // The same recorder ends the calls, even if a hook sets another manager.
    let recorder = recorder
    recorder?.beginHooks(reading.contents)
    defer { recorder?.endHooks(reading.contents) }
    return try body()
  }

  /// Runs the hook of an object.
  func callHook(of reference: ObjectReference, _ hook: () -> Void) {
    guard let recorder else { return hook() }
    recorder.callHook(of: reference, hook)
  }

  /// Completes the groups to which delete rules have added changes.
  func closeReopenedGroups() { recorder?.closeReopenedGroups(reading.contents) }

  /// Reads the contents that open groups have not read yet. Called before the view advances, before
  /// a save is planned, and before an operation decides whether it reverts its edits.
  func readUndoContents() { recorder?.readContents(reading.contents) }

  /// Replaces the reference of a new object, which must have no links.
  func rename(_ old: ObjectReference, _ new: ObjectReference) {
    recorder?.rename(ReferenceChange(old: old, new: new, graph: graph))
  }
}
