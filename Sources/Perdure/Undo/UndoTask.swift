/// The token of an asynchronous closure of `undoGroup`.
final class UndoTask: Sendable {
  /// The token of the innermost closure of the current task.
  @TaskLocal static var token: UndoTask?

  /// The token of the enclosing closure; nil if there is none.
  let outer = UndoTask.token
}
