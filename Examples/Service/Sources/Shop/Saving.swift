import Perdure

extension PersistentContainer {
  /// Runs `body` in a new context and saves. If another request was faster, both are repeated.
  ///
  /// - Parameters:
  ///   - attempts: How often `body` runs at most.
  ///   - body: Changes objects, and has no other effects.
  /// - Returns: The result of the run that was saved. The save is durable.
  /// - Throws: The error of `body` or of the save; then nothing was saved. If the error is a
  ///   conflict, every attempt met one.
  func performAndSave<T: Sendable>(
    attempts: Int = 100, _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    var attempt = 1
    while true {
      do {
        return try await performBackgroundTask { context in
          let result = try body(context)
          try context.save()
          return result
        }
      } catch let error as PerdureError where error.isConflict && attempt < attempts {
        attempt += 1  // the next context sees the save that was faster
      }
    }
  }
}

extension PerdureError {
  /// Whether another save was faster, with the same property or the same unique value.
  var isConflict: Bool { code == .mergeConflict || code == .constraintConflict }
}
