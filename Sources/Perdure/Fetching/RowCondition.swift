// The condition of a partial index, checked for rows when indexes are updated.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Checks whether a predicate holds for a row. The predicate uses only columns of the row and
/// constants, so the result depends only on the row.
// Unchecked: the program does not change, and the clauses of such a predicate store nothing between
// rows.
final class RowCondition: @unchecked Sendable {
  private let program: RowProgram

  init(_ predicate: FetchPredicate, schema: StoreSchema, entity: EntityStorage) {
    program = PredicateCompiler.program(
      predicate, schema: schema, entity: entity, now: Date(timeIntervalSinceReferenceDate: 0))
  }

  /// Whether the condition holds for a row; false if it cannot be evaluated. A fetch with the same
  /// predicate then throws.
  func holds(_ row: RowView) -> Bool {
    do {
      return try program.matches(row, ObjectReference(rawValue: 0), NoReader.only)
    } catch {
      return false
    }
  }
}

/// The reader for conditions. No condition reads with it.
private final class NoReader: StateReader, Sendable {
  static let only = NoReader()

  private func refuse() -> Never {
    preconditionFailure("The condition of an index uses only its row.")
  }

  var schema: StoreSchema { refuse() }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws { refuse() }
  func rowCount(entity: UInt16) throws -> Int { refuse() }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws { refuse() }

  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int { refuse() }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws { refuse() }

  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void
  ) throws { refuse() }
}
