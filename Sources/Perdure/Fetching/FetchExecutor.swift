// Running a plan on a view: candidates, filter, unsaved changes, order, window.
//
//   1. The access path hands out candidates, with their rows where it passes them anyway. Rows of index
//      candidates are read in batches, in whatever order is fastest, and handed on in the order of the index.
//   2. Touched objects are left out here: their rows are not what the context shows.
//   3. The program filters. When candidates come in order, this stops as soon as the window's end is known.
//   4. Changed and inserted objects are asked by the reference evaluator and put among the others.
//   5. Sorting where needed, then the window.
//
// When unsaved changes touch an entity that the predicate or the order reaches through a relationship, rows
// cannot be trusted for anything: then every object is asked as the context shows it.

package import PerdurePredicates

/// Runs one plan on one view. Not shared between threads.
package struct FetchExecutor {
  let fetch: PreparedFetch
  let plan: FetchPlan
  let graph: RowGraph
  let pending: (any PendingChanges)?
  private let program: RowProgram

  /// - Parameter view: The one that the plan's numbers are from; any other gives right results too.
  package init(
    _ fetch: PreparedFetch, _ plan: FetchPlan, view: any StoreView, pending: (any PendingChanges)? = nil
  ) {
    self.fetch = fetch
    self.plan = plan
    self.pending = pending
    graph = RowGraph(schema: fetch.schema, view: view)
    program = PredicateCompiler.program(
      plan.residual, schema: fetch.schema, entity: fetch.entity, now: fetch.now)
  }

  /// Hands out the objects in order until `body` returns false; with their rows, which stay valid while the
  /// view lives, but for objects that are shown from unsaved changes.
  package func visit(_ body: (ObjectReference, StoredRow?) throws -> Bool) throws {
    if let pending {
      for found in try overlaid(pending) {
        guard try body(found.reference, found.row) else { return }
      }
    } else if plan.isOrdered {
      try visitInOrder(body)
    } else {
      for found in try window(sorted()) {
        guard try body(found.reference, found.row) else { return }
      }
    }
  }

  /// The objects in order.
  package func references() throws -> [ObjectReference] {
    var references: [ObjectReference] = []
    try visit { reference, _ in
      references.append(reference)
      return true
    }
    return references
  }

  /// How many objects there are, without reading rows where the access path knows it.
  package func count() throws -> Int {
    var total = 0
    if let pending {
      total = try countOverlaid(pending)
    } else if program.acceptsAll, !plan.filtersEntities, !plan.mayRepeat, let known = knownCount() {
      total = known
    } else {
      try visitMatches(needsRows: false) { _ in
        total += 1
        return fetch.windowEnd.map { total < $0 } ?? true
      }
    }
    let rest = max(0, total - fetch.offset)
    return fetch.limit.map { min($0, rest) } ?? rest
  }

  private func knownCount() -> Int? {
    switch plan.access {
    case .scan, .countOrder: fetch.concrete.reduce(0) { $0 + graph.view.rowCount(entity: $1) }
    case .index(let index, let ranges): ranges.reduce(0) { $0 + graph.view.entryCount(index, $1) }
    case .references, .join: nil
    }
  }

  // MARK: Without unsaved changes

  private func visitInOrder(_ body: (ObjectReference, StoredRow?) throws -> Bool) throws {
    if fetch.limit == 0 { return }
    let (offset, end) = (fetch.offset, fetch.windowEnd ?? .max)
    var seen = 0
    try visitMatches(needsRows: true) { found in
      seen += 1
      if seen > offset, try !body(found.reference, found.row) { return false }
      return seen < end
    }
  }

  private func sorted() throws -> [FoundObject] {
    var buffer = SortBuffer(limit: fetch.windowEnd)
    try addMatches(to: &buffer)
    return buffer.sorted()
  }

  private func addMatches(to buffer: inout SortBuffer) throws {
    let keys = SortKeys(fetch: fetch, graph: graph)
    let end = plan.isOrdered ? fetch.windowEnd ?? .max : .max
    let graph = graph
    var key = OrderedKey()
    var added = 0
    try visitMatches(needsRows: true) { found in
      guard let row = found.row else { return true }
      key.bytes.removeAll(keepingCapacity: true)
      try keys.append(try graph.check(row, found.reference), found.reference, &key)
      buffer.add(key.bytes, found)
      added += 1
      return added < end
    }
  }

  private func window(_ all: [FoundObject]) -> ArraySlice<FoundObject> {
    let rest = all.dropFirst(fetch.offset)
    return fetch.limit.map { rest.prefix($0) } ?? rest
  }

  // MARK: With unsaved changes

  private func overlaid(_ pending: any PendingChanges) throws -> ArraySlice<FoundObject> {
    let changed = try changedMatches(pending)
    if fetch.order.isEmpty {
      var found: [FoundObject] = []
      try visitUntouched(pending) { found.append($0) }
      return window(found + changed)
    }
    let keys = SortKeys(fetch: fetch, graph: graph)
    var buffer = SortBuffer(limit: fetch.windowEnd)
    if isReached(pending) {
      try visitUntouched(pending) { found in
        buffer.add(try keys.key(of: pending.source(of: found.reference), found.reference), found)
      }
    } else {
      try addMatches(to: &buffer)
    }
    for found in changed {
      buffer.add(try keys.key(of: pending.source(of: found.reference), found.reference), found)
    }
    return window(buffer.sorted())
  }

  private func countOverlaid(_ pending: any PendingChanges) throws -> Int {
    var total = try changedMatches(pending).count
    try visitUntouched(pending) { _ in total += 1 }
    return total
  }

  /// Whether rows alone do not tell what predicate and order give.
  private func isReached(_ pending: any PendingChanges) -> Bool {
    fetch.reached.contains { pending.touches(entity: $0) }
  }

  /// The changed and inserted objects that satisfy the predicate.
  private func changedMatches(_ pending: any PendingChanges) throws -> [FoundObject] {
    let evaluator = PredicateEvaluator(fetch.predicate, now: fetch.now)
    var matches: [FoundObject] = []
    for entity in fetch.concrete {
      for reference in pending.changedObjects(of: entity).sorted(by: { $0.rawValue < $1.rawValue })
      where try evaluator.evaluate(with: pending.source(of: reference)) {
        matches.append(FoundObject(reference: reference, row: nil))
      }
    }
    return matches
  }

  /// The other objects that satisfy the predicate, asked by their rows when these can be trusted.
  private func visitUntouched(_ pending: any PendingChanges, _ body: (FoundObject) throws -> Void) throws {
    guard isReached(pending) else {
      return try visitMatches(needsRows: true) {
        try body($0)
        return true
      }
    }
    let evaluator = PredicateEvaluator(fetch.predicate, now: fetch.now)
    for entity in fetch.concrete {
      try graph.view.visitRows(entity: entity, descending: false) { reference, row in
        if !pending.isTouched(reference), try evaluator.evaluate(with: pending.source(of: reference)) {
          try body(FoundObject(reference: reference, row: row))
        }
        return true
      }
    }
  }

  // MARK: Matches

  /// Hands out the untouched candidates that satisfy the predicate, as they come.
  func visitMatches(needsRows: Bool, _ body: (FoundObject) throws -> Bool) throws {
    let readsRows = needsRows || !program.acceptsAll || plan.namesObjects
    let matches = try matcher(readsRows)
    if pending == nil, !plan.filtersEntities, !plan.mayRepeat {
      return try visitCandidates(readsRows: readsRows) { reference, row in
        guard try matches(reference, row) else { return true }
        return try body(FoundObject(reference: reference, row: row))
      }
    }
    var seen: Set<ObjectReference> = []
    try visitCandidates(readsRows: readsRows) { reference, row in
      if plan.filtersEntities, !fetch.concrete.contains(reference.entityNumber) { return true }
      if let pending, pending.isTouched(reference) { return true }
      if plan.mayRepeat, !seen.insert(reference).inserted { return true }
      guard try matches(reference, row) else { return true }
      return try body(FoundObject(reference: reference, row: row))
    }
  }

  /// Whether a candidate satisfies the residual. An entry without a row is a reference that was named but is
  /// gone.
  private func matcher(_ readsRows: Bool) throws -> (ObjectReference, StoredRow?) throws -> Bool {
    if program.acceptsAll { return { _, row in row != nil || !readsRows } }
    // Captured one by one, so that a row costs no copy of the plan.
    let (program, graph, view) = (program, graph, graph.view)
    return { reference, row in
      guard let row else { return false }
      return try program.matches(try graph.check(row, reference), reference, view)
    }
  }
}
