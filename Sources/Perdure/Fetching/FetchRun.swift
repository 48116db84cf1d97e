// Runs a fetch on a reader in this process. If one range of an index gives the whole result,
// `FetchRun` reads this range (IndexedRange.swift). Otherwise it makes and runs plans.

internal import PerdurePredicates

/// A fetch on a reader.
struct FetchRun {
  private let fetch: CompiledFetch
  private let reader: any StateReader
  private let schema: StoreSchema
  private let range: IndexedRange?

  init(_ fetch: CompiledFetch, _ reader: any StateReader) {
    self.fetch = fetch
    self.reader = reader
    schema = reader.schema
    range = fetch.range(schema)
  }

  /// Passes the objects to `body` in order, until `body` returns false.
  ///
  /// - Parameter needsRows: If true, `body` gets the row of each object, and objects without a row
  ///   are skipped. If false, `body` gets only the rows that were read to find the objects.
  func visit(needsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool) throws {
    if let found = try range?.references(in: reader) {
      return try pass(found, needsRows: needsRows, body)
    }
    if fetch.entities.count == 1 { return try plan().visit(needsRows: needsRows, body) }
    try parts().visit(needsRows: needsRows, body)
  }

  func count() throws -> Int {
    if let count = try range?.count(in: reader) { return count }
    if fetch.entities.count == 1 { return try plan().count() }
    return try parts().count()
  }

  /// The plans in words, one for each entity.
  func descriptions() throws -> [String] {
    fetch.entities.count == 1 ? [try plan().plan.description] : try parts().descriptions
  }

  private func plan() throws -> FetchExecutor {
    FetchExecutor(planning: try fetch.preparedAlone(schema), on: reader, fetch.cancellation)
  }

  private func parts() throws -> FetchParts {
    FetchParts(try fetch.preparedParts(schema), on: reader, fetch.cancellation)
  }

  /// The maximum number of rows in each of the first two batches. Later batches are larger.
  private static let batchMax = 256

  private func pass(
    _ references: [ObjectReference], needsRows: Bool,
    _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    if needsRows, references.count == 1 {
      return try reader.row(references[0]) { _ = try body(references[0], $0) }
    }
    func passOn(_ reference: ObjectReference, _ row: StoredRow?) throws -> Bool {
      try row == nil && needsRows || body(reference, row)
    }
    if needsRows, references.count <= Self.batchMax {
      var batch = RowBatch(reader, reading: references)
      _ = try batch.flush(passOn)
      return
    }
    var batch = RowBatch(reader, readsRows: needsRows, sizeMax: Self.batchMax)
    for reference in references {
      guard try batch.add(reference, passOn) else { return }
    }
    _ = try batch.flush(passOn)
  }
}
