// Reverts operations if a read of the store fails.
//
// A read that fails in an accessor cannot throw. The context then demands a rollback, because the
// program may have used a wrong value in an edit. An undo, a merge and a child's save also read the
// store while they edit. Without a reversal, they apply a part of their edits and return success.
// Then the demanded rollback discards all unsaved edits.
//
// Invariants:
//   VR1. If a read of such an operation fails, the operation throws. The unsaved changes, their
//        undo groups and the view are then as before, and the context demands no rollback.
//        Exception: a hook has saved, rolled back or reset the context meanwhile.

internal import PerdurePredicates

/// Runs operations that throw and change nothing if a read fails.
final class EditReversal {
  private let reading: ContextReading
  private let eventHub: EventHub
  private let stores: StoreAssignment
  private let recording: EditRecording
  private let undoGroups: UndoGroups

  init(
    _ reading: ContextReading, _ eventHub: EventHub, stores: StoreAssignment, recording: EditRecording,
    undoGroups: UndoGroups
  ) {
    self.reading = reading
    self.eventHub = eventHub
    self.stores = stores
    self.recording = recording
    self.undoGroups = undoGroups
  }

  /// The end of the error's message: the consequence of the failed read, and advice.
  enum Operation: String {
    case save = "Nothing was saved. Save again, or verify the store."
    case edit = "Nothing was changed. Try again, or verify the store."
  }

  /// Runs edits of the context (VR1).
  ///
  /// - Throws: The error of the first read that has failed, now or before.
  /// - Complexity: that of the edits. Unsaved changes that they do not change are not copied.
  func run(_ operation: Operation, _ body: () throws -> Void) throws(PerdureError) {
    try reading.viewState.throwReadFailure()
    let before = copy()
    do { try body() } catch { reading.viewState.noteReadFailure(error, nil) }
    // The end of a group also reads the contents, but cannot throw.
    recording.readUndoContents()
    guard let failure = reading.viewState.readFailure else { return before.forget() }
    guard before.isRestorable else {
      before.forget()
      throw failure
    }
    restore(before)
    throw failure.ofReverted(operation)
  }

  /// Runs code that changes nothing. Expects that no read has failed before.
  ///
  /// - Throws: The error of the first read that has failed. It replaces other errors.
  func check<R>(
    _ operation: Operation, _ body: () throws(PerdureError) -> R
  ) throws(PerdureError) -> R {
    do throws(PerdureError) {
      let result = try body()
      try reading.viewState.throwReadFailure()
      return result
    } catch {
      guard let failure = reading.viewState.readFailure else { throw error }
      reading.viewState.readFailure = nil
      reading.viewState.beginEpoch()
      throw failure.ofReverted(operation)
    }
  }

  /// Copies the unsaved changes, for a reversal.
  func copy() -> PendingCopy { PendingCopy(reading, eventHub, stores, undo: undoGroups.manager) }

  /// Restores the context. Notifies the observers, because objects may have other values.
  func restore(_ before: PendingCopy) {
    let news = recording.excludingFromUndo { before.restore() }
    before.restoreUndoGroups(of: undoGroups.manager)
    if eventHub.isObserved { eventHub.tell(news) }
  }
}

extension PerdureError {
  /// The end of the message of a failed read in an accessor.
  static let demandOfRollback = " The context cannot fetch or save until it is rolled back or reset."

  /// The error of a failed read, after the operation that needed it was reverted (VR1).
  func ofReverted(_ operation: EditReversal.Operation) -> PerdureError {
    guard message.hasSuffix(Self.demandOfRollback) else { return self }
    var error = PerdureError(
      code, "\(message.dropLast(Self.demandOfRollback.count)) \(operation.rawValue)")
    error.cause = cause
    return error
  }
}
