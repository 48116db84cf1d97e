// The condition of a partial index, asked of rows where indexes are kept.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Whether a predicate about an entity's own columns and constants holds for a row: a pure function of the row.
// Unchecked: the program is not changed once it is made, and the clauses of such a predicate keep nothing between rows.
final class RowCondition: @unchecked Sendable {
  private let program: RowProgram

  init(_ predicate: FetchPredicate, schema: StoreSchema, entity: EntityStorage) {
    program = PredicateCompiler.program(
      predicate, schema: schema, entity: entity, now: Date(timeIntervalSinceReferenceDate: 0))
  }

  /// A row for which it cannot be told is one for which it does not hold; requests with the predicate are refused
  /// then.
  func holds(_ row: RowView) -> Bool {
    do {
      return try program.matches(row, ObjectReference(rawValue: 0), NoView.only)
    } catch {
      return false
    }
  }
}

/// What a predicate about own columns alone never asks.
private final class NoView: StoreView {
  static let only = NoView()

  var sequence: UInt64 { 0 }

  private func unasked() -> Never {
    preconditionFailure("The condition of an index uses only its row.")
  }

  func row(_ reference: ObjectReference) throws -> StoredRow? { unasked() }
  func version(of reference: ObjectReference) throws -> RowVersion? { unasked() }
  func rowCount(entity: UInt16) -> Int { unasked() }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws { unasked() }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws { unasked() }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws { unasked() }
  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int { unasked() }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws { unasked() }

  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws { unasked() }

  func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool { unasked() }

  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws { unasked() }
}
