// Visits every row of an entity, including unreadable rows: the inspection of a damaged store
// continues after them.

internal import PerdurePredicates

extension StateReader {
  /// Visits the rows of one concrete entity in order of their ids, until `body` returns false. For
  /// an unreadable row, `body` receives the error.
  func visitEveryRow(
    entity: UInt16, _ body: (ObjectReference, Result<StoredRow, any Error>) throws -> Bool
  ) throws {
    var next: UInt64 = 0
    var failure: (any Error)?
    do {
      try visitRows(entity: entity, descending: false) { reference, row in
        next = reference.id &+ 1
        do {
          return try body(reference, .success(row))
        } catch {
          failure = error
          return false
        }
      }
    } catch {
      // Continue after the last row that was visited, one reference at a time.
      try visitReferences(entity: entity, from: next) { reference in
        do {
          return try withRow(reference) { row in
            guard let row else { return true }
            do { return try body(reference, .success(row)) } catch {
              failure = error
              return false
            }
          }
        } catch {
          return try body(reference, .failure(error))
        }
      }
    }
    if let failure { throw failure }
  }
}
