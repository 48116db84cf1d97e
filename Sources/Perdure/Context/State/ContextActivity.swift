// What a context is doing: calls of the program's hooks may come back in the middle of it.

internal import PerdurePredicates

/// What is under way in a context.
final class ContextActivity {
  /// Whether a save is running, its hooks included.
  var isSaving = false
  /// Whether the validation of the program's classes is running.
  var isValidating = false
  /// Whether a save is validating and planning: then no hook runs (W2 in ObjectHooks.swift).
  var isPlanning = false
  /// Whether delete rules are being applied.
  var isPropagating = false
  /// The objects whose `prepareForDeletion` is running.
  var preparing: Set<ObjectReference> = []
  /// Those of them that were deleted by it.
  var deletedInPreparation: Set<ObjectReference> = []
  /// The object whose `didTurnIntoFault` is running.
  var turnedIntoFault: ObjectReference?
  /// The cancellation flag of the running `BackgroundContext.perform`; nil at other times.
  var cancellation: CancellationFlag?

  /// Whether no save, validation or delete rule is under way.
  var isIdle: Bool { !isSaving && !isValidating && !isPropagating }
}
