// A view that counts what is read through it.

import Perdure
import Synchronization

final class CountingView: StoreView {
  private let view: any StoreView
  private let rows = Atomic<Int>(0)
  private let entries = Atomic<Int>(0)

  init(_ view: any StoreView) { self.view = view }

  var rowsRead: Int { rows.load(ordering: .relaxed) }
  var entriesRead: Int { entries.load(ordering: .relaxed) }

  private func countRow() { rows.wrappingAdd(1, ordering: .relaxed) }

  var sequence: UInt64 { view.sequence }

  func row(_ reference: ObjectReference) throws -> StoredRow? {
    countRow()
    return try view.row(reference)
  }

  func version(of reference: ObjectReference) throws -> RowVersion? { try view.version(of: reference) }
  func rowCount(entity: UInt16) -> Int { view.rowCount(entity: entity) }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws {
    try view.visitRows(entity: entity, descending: descending) {
      countRow()
      return try body($0, $1)
    }
  }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws {
    try view.visitReferences(entity: entity, from: first, body)
  }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws {
    try view.rows(references) {
      countRow()
      try body($0, $1)
    }
  }

  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int {
    try view.entryCount(index, range)
  }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    try view.visitEntries(index, range, descending: descending) {
      entries.wrappingAdd(1, ordering: .relaxed)
      return try body($0, $1)
    }
  }

  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws {
    try view.appendReferences(under: owner, in: index, to: &found)
  }

  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws {
    try view.readAhead(references, bytesMax: bytesMax) {
      countRow()
      try body($0, $1)
    }
  }
}
