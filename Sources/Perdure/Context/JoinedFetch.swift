// A fetch over several stores: one fetch for each store that has the entity, put together here.
//
// Each store is asked for as many objects as the window reaches, by its own plan; all of them are put in order by the
// keys that a single store sorts by, and the window is cut then. Without an order the stores follow each other.
// Objects that are equal in every criterion come in the order of their stores, then of their ids; the other way round
// where the first criterion descends.

internal import PerdurePredicates

/// One fetch, of each of several stores.
struct JoinedFetch {
  /// By store; each without offset, and with the end of the window as its limit.
  let parts: [(store: String, executor: FetchExecutor)]
  let offset: Int
  let limit: Int?

  /// How many objects in order are needed to know the window; nil for all.
  private var windowEnd: Int? { PreparedFetch.windowEnd(offset: offset, limit: limit) }

  /// Hands out the objects in order; with their rows, as `FetchExecutor.visit` does.
  func visit(_ body: (ObjectReference, StoredRow?) throws -> Void) throws {
    if limit == 0 { return }
    if parts.count > 1, !parts[0].executor.fetch.order.isEmpty { return try visitMerged(body) }
    var seen = 0
    for (_, executor) in parts {
      try executor.visit { reference, row in
        seen += 1
        if seen > offset { try body(reference, row) }
        return windowEnd.map { seen < $0 } ?? true
      }
      if let windowEnd, seen >= windowEnd { return }
    }
  }

  private func visitMerged(_ body: (ObjectReference, StoredRow?) throws -> Void) throws {
    var buffer = SortBuffer(limit: windowEnd)
    for (_, executor) in parts { try executor.addAll(to: &buffer) }
    for found in buffer.sorted().dropFirst(offset) { try body(found.reference, found.row) }
  }

  func references() throws -> [ObjectReference] {
    var references: [ObjectReference] = []
    try visit { reference, _ in references.append(reference) }
    return references
  }

  func count() throws -> Int {
    let total = try parts.reduce(0) { try $0 + $1.executor.count() }
    let rest = max(0, total - offset)
    return limit.map { min($0, rest) } ?? rest
  }

  /// The plans in words, each with its store.
  var description: String {
    if parts.isEmpty { return "no store" }
    return parts.map { "store \($0.store): \($0.executor.plan.description)" }.joined(separator: "\n")
  }
}

extension ContextCore {
  /// - Parameter shown: The view to read, with the unsaved changes if they count.
  func joinedFetch(
    _ request: ClassedRequest, _ query: FetchQuery, _ shown: any StoreView
  ) throws -> JoinedFetch {
    var query = query
    let (offset, limit) = (query.offset, query.limit)
    guard offset >= 0, limit ?? 0 >= 0 else {
      throw FetchError(
        .invalidWindow, "The request has a negative limit or offset. Use 0 or more.",
        entity: graph.shape(numbered: query.entity).name)
    }
    let end = limit.map { offset.addingReportingOverflow($0) }
    query.limit = end.flatMap { $0.overflow ? nil : $0.partialValue }
    query.offset = 0
    var parts: [(store: String, executor: FetchExecutor)] = []
    for shape in try wanted(graph.shape(numbered: query.entity).name, request.request.affectedStores) {
      try throwRefreshFailure(ofPlace: graph.place(ofEntity: shape.number))
      query.entity = shape.number
      try checkClass(request, of: query.entity)
      let prepared = try prepared(query)
      let plan = FetchPlanner.plan(prepared, FetchStatistics(shown))
      let executor = FetchExecutor(
        prepared, plan, view: shown, cancellation: FetchCancellation(flag: cancellation))
      parts.append((shape.identity.storeIdentifier, executor))
    }
    return JoinedFetch(parts: parts, offset: offset, limit: limit)
  }

  /// The entity in the stores that a request asks.
  private func wanted(_ name: String, _ affected: [LoadedStore]?) throws(FetchError) -> [EntityShape] {
    let shapes = graph.shapes(named: name)
    guard let affected else { return shapes }
    for store in affected where !graph.stores.contains(where: { $0.identifier == store.identifier }) {
      throw FetchError(
        .unknownStore,
        "affectedStores names the store \(store.identifier), which this context does not have. Name stores of its "
          + "container.", entity: name)
    }
    let identifiers = Set(affected.map(\.identifier))
    return shapes.filter { identifiers.contains($0.identity.storeIdentifier) }
  }
}
