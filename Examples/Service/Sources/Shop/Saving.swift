import Perdure

extension PersistentContainer {
  /// Runs `body` in a new context and saves. If another save was earlier and conflicts, repeats
  /// both.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of runs of `body`.
  ///   - body: Changes objects, and has no other effects.
  /// - Returns: The result of the run that was saved. The save is durable.
  /// - Throws: The error of `body` or of the save; then nothing was saved. A conflict is thrown
  ///   only if every attempt met one.
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
        attempt += 1  // the next context sees the other save
      }
    }
  }
}

extension PerdureError {
  /// Whether an earlier save changed the same property or used the same unique value.
  var isConflict: Bool { code == .mergeConflict || code == .constraintConflict }
}
