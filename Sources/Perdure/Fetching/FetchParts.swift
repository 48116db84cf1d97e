// The plans of a fetch of several stores, one for each store that has the entity.
//
// Each store runs its own plan and returns its objects before the end of the window. All of them
// are sorted by the same keys as in a fetch of one store, and then the window is cut. Without an
// order, the objects of each store follow those of the store before it. Objects that are equal in
// every criterion are in the order of their stores, then of their ids. If the first criterion
// descends, this order is reversed.

internal import PerdurePredicates

/// Plans of one fetch, ready to run.
struct FetchParts {
  private let parts: [FetchExecutor]
  private let offset: Int
  private let limit: Int?

  init(_ prepared: PreparedParts, on reader: any StateReader, _ cancellation: FetchCancellation) {
    parts = prepared.parts.map { FetchExecutor(planning: $0, on: reader, cancellation, leads: false) }
    (offset, limit) = (prepared.offset, prepared.limit)
  }

  /// The number of objects before the end of the window; nil for all.
  private var windowEnd: Int? { PreparedFetch.windowEnd(offset: offset, limit: limit) }

  /// Passes the objects to `body` in order, until `body` returns false. Passes at least the rows
  /// that `FetchExecutor.visit` passes.
  func visit(needsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool) throws {
    guard let first = parts.first, limit != 0 else { return }
    if !first.fetch.order.isEmpty { return try visitMerged(body) }
    var seen = 0
    var shouldContinue = true
    for part in parts where shouldContinue {
      try part.visit(needsRows: needsRows) { reference, row in
        seen += 1
        shouldContinue = try seen <= offset || body(reference, row)
        if let windowEnd, seen >= windowEnd { shouldContinue = false }
        return shouldContinue
      }
    }
  }

  private func visitMerged(_ body: (ObjectReference, StoredRow?) throws -> Bool) throws {
    let keepsRows = parts.allSatisfy { $0.graph.view.keepsRows }
    var buffer = SortBuffer(limit: windowEnd, keepsRows: keepsRows)
    for part in parts { try part.addAll(to: &buffer) }
    for found in buffer.sorted().dropFirst(offset) {
      guard try found.passOn(body) else { return }
    }
  }

  func count() throws -> Int {
    let total = try parts.reduce(0) { try $0 + $1.count() }
    let rest = max(0, total - offset)
    return limit.map { min($0, rest) } ?? rest
  }

  /// The descriptions of the plans, one for each entity.
  var descriptions: [String] { parts.map(\.plan.description) }
}
