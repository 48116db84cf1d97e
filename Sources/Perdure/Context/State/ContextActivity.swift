// The running operations of a context. The program's hooks may call the context during these
// operations.

internal import PerdurePredicates

/// The operations that are running in a context.
final class ContextActivity {
  /// Whether a save is running, its hooks included.
  var isSaving = false
  /// Whether the validation of the program's classes is running.
  var isValidating = false
  /// Whether rules are checked or a save is planned: then no hook runs (OH2 in ObjectHooks.swift).
  var isPlanning = false
  /// Whether delete rules are being applied.
  var isPropagating = false
  /// The objects whose `prepareForDeletion` is running.
  var preparing: Set<ObjectReference> = []
  /// The objects in `preparing` that the hook has deleted.
  var deletedInPreparation: Set<ObjectReference> = []
  /// The object whose `didTurnIntoFault` is running.
  var turnedIntoFault: ObjectReference?
  /// The cancellation flag of the running `BackgroundContext.perform`; nil at other times.
  var cancellation: CancellationFlag?

  /// The nesting depth of calls of hooks and observers (`callProgram`).
  private var programCallDepth = 0

  /// Whether no save, validation or application of delete rules is running.
  var isIdle: Bool { !isSaving && !isValidating && !isPropagating }

  /// Whether the end of an undo group, or of a child's save, ends the event. It does not in a hook
  /// or an observer: the event then continues until the program ends it elsewhere. Otherwise an
  /// observer that edits is called without end, and observers get events of operations that are not
  /// complete.
  var operationsEndEvents: Bool { isIdle && programCallDepth == 0 }

  /// Calls observers, or a hook that is not part of a save.
  func callProgram(_ body: () -> Void) {
    programCallDepth += 1
    defer { programCallDepth -= 1 }
    body()
  }
}
