// Runs a plan on a view: candidates, filter, order, window.
//
//   1. The access path produces candidates, with rows if it reads them anyway. The rows of index
//      candidates are read in batches, in the fastest order, and passed on in the order of the
//      index.
//   2. The compiled predicate (`program`) filters candidates. If candidates are in order, the
//      executor stops at the end of the window.
//   3. Other results are sorted, and then the window is cut.
//
// The view may be a `LayeredView` with unsaved changes. The executor reads both kinds of view in
// the same way.

package import PerdurePredicates

/// Runs one plan on one view. Not shared between threads.
package struct FetchExecutor {
  let fetch: PreparedFetch
  let plan: FetchPlan
  let graph: RowGraph
  private let cancellation: FetchCancellation
  let program: RowProgram

  /// - Parameter view: Usually the view from which the planner took its counts. Results are also
  ///   correct for any other view.
  package init(_ fetch: PreparedFetch, _ plan: FetchPlan, view: any StateReader) {
    self.init(fetch, plan, view: view, cancellation: FetchCancellation(flag: nil))
  }

  /// Plans a fetch for a reader.
  ///
  /// - Parameter leads: As for `FetchPlanner.plan`.
  init(
    planning fetch: PreparedFetch, on reader: any StateReader, _ cancellation: FetchCancellation,
    leads: Bool = true
  ) {
    let plan = FetchPlanner.plan(fetch, FetchStatistics(reader), leads: leads)
    self.init(fetch, plan, view: reader, cancellation: cancellation)
  }

  /// - Parameter cancellation: Checked at each object.
  init(
    _ fetch: PreparedFetch, _ plan: FetchPlan, view: any StateReader, cancellation: FetchCancellation
  ) {
    self.cancellation = cancellation
    self.fetch = fetch
    self.plan = plan
    graph = RowGraph(schema: fetch.schema, view: view)
    program = PredicateCompiler.program(
      plan.residual, schema: fetch.schema, entity: fetch.entity, now: fetch.now)
  }

  /// Passes the objects to `body` in order, with their rows, until `body` returns false.
  ///
  /// - Parameter needsRows: Whether rows are also passed if they are not needed to find the
  ///   objects.
  package func visit(
    needsRows: Bool = true, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    if plan.isOrdered {
      try visitInOrder(needsRows: needsRows, body)
    } else {
      for found in try window(sorted()) {
        guard try found.passOn(body) else { return }
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

  /// The number of objects in the window. Reads no rows if counts of rows or index entries give the
  /// number.
  package func count() throws -> Int {
    var total = 0
    if program.acceptsAll, !plan.filtersEntities, !plan.mayRepeat, let known = try knownCount() {
      total = known
    } else if case .scan = plan.access, fetch.windowEnd == nil {
      total = try countScanned()
    } else {
      try visitMatches(needsRows: false) { _ in
        total += 1
        return fetch.windowEnd.map { total < $0 } ?? true
      }
    }
    let rest = max(0, total - fetch.offset)
    return fetch.limit.map { min($0, rest) } ?? rest
  }

  private func knownCount() throws -> Int? {
    switch plan.access {
    case .scan, .countOrder: try fetch.concrete.reduce(0) { try $0 + graph.view.rowCount(entity: $1) }
    case .index where plan.mayLackRows: nil
    case .index(let index, let ranges): try ranges.reduce(0) { try $0 + graph.view.entryCount(index, $1) }
    case .references, .join, .pathOrder, .union: nil
    }
  }

  /// Counts like `visitMatches` of a scan, but passes each row directly to the program.
  private func countScanned() throws -> Int {
    let (program, graph, view, cancellation) = (program, graph, graph.view, cancellation)
    var total = 0
    for entity in fetch.concrete {
      try view.visitRows(entity: entity, descending: false) { reference, row in
        try cancellation.check()
        if try program.matches(try graph.check(row, reference), reference, view) { total += 1 }
        return true
      }
    }
    return total
  }

  private func visitInOrder(
    needsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    if fetch.limit == 0 { return }
    if let skip = try IndexSkip(self) {
      let later = FetchExecutor(
        fetch.skipping(skip.offset), plan.with(skip.ranges, of: skip.index), view: graph.view,
        cancellation: cancellation)
      return try later.visitInOrder(offset: skip.offset, needsRows: needsRows, body)
    }
    try visitInOrder(offset: fetch.offset, needsRows: needsRows, body)
  }

  private func visitInOrder(
    offset: Int, needsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    let end = PreparedFetch.windowEnd(offset: offset, limit: fetch.limit) ?? .max
    var seen = 0
    try visitMatches(needsRows: needsRows) { found in
      seen += 1
      if seen > offset, try !body(found.reference, found.row) { return false }
      return seen < end
    }
  }

  private func sorted() throws -> [KeptObject] {
    var buffer = SortBuffer(limit: fetch.windowEnd, keepsRows: graph.view.keepsRows)
    if let lead = plan.lead {
      if try addAll(to: &buffer, candidatesMax: lead.candidatesMax) { return buffer.sorted() }
      return try FetchExecutor(fetch, lead.other(), view: graph.view, cancellation: cancellation).sorted()
    }
    try addAll(to: &buffer)
    return buffer.sorted()
  }

  /// Adds matching objects to a sort buffer, at least those before the end of the window.
  ///
  /// - Parameter candidatesMax: The number of candidates after which the call ends.
  /// - Returns: Whether all objects in the window were added.
  @discardableResult
  func addAll(to buffer: inout SortBuffer, candidatesMax: Int = .max) throws -> Bool {
    let keys = SortKeys(fetch: fetch, graph: graph)
    let end = plan.isOrdered ? fetch.windowEnd ?? .max : .max
    let (graph, leadsOrder) = (graph, plan.lead != nil)
    var key = OrderedKey()
    var added = 0
    let isComplete = try visitMatches(needsRows: true, candidatesMax: candidatesMax) { found in
      guard let stored = found.row else { return true }
      let row = try graph.check(stored, found.reference)
      // In a large result, most objects sort after all objects in a full buffer. Such an object
      // needs no complete key.
      if let front = keys.front(row), end == .max, buffer.isBehindAll(front) { return !leadsOrder }
      key.bytes.removeAll(keepingCapacity: true)
      let firstLength = try keys.append(row, found.reference, &key)
      if leadsOrder, buffer.isBehindAll(beginning: key.bytes.prefix(min(firstLength, Self.leadLengthMax))) {
        return false
      }
      buffer.add(key.bytes, found)
      added += 1
      return added < end
    }
    return isComplete
  }

  /// An index key has a maximum length. It always contains at least this many bytes of its first
  /// component, or the whole component.
  private static let leadLengthMax = 256

  private func window(_ all: [KeptObject]) -> ArraySlice<KeptObject> {
    let rest = all.dropFirst(fetch.offset)
    return fetch.limit.map { rest.prefix($0) } ?? rest
  }

  // MARK: Matches

  /// Passes the candidates that satisfy the predicate to `body`, in the order of the access path.
  ///
  /// - Parameter candidatesMax: The number of candidates after which the call ends.
  /// - Returns: False if there were more than `candidatesMax` candidates.
  @discardableResult
  func visitMatches(
    needsRows: Bool, candidatesMax: Int = .max, _ body: (FoundObject) throws -> Bool
  ) throws -> Bool {
    try cancellation.check()
    let readsRows = needsRows || !program.acceptsAll || plan.mayLackRows
    let matches = try matcher(readsRows)
    var left = candidatesMax
    if !plan.filtersEntities, !plan.mayRepeat {
      try visitCandidates(readsRows: readsRows) { reference, row in
        left &-= 1
        guard left >= 0 else { return false }
        guard try matches(reference, row) else { return true }
        return try body(FoundObject(reference: reference, row: row))
      }
      return left >= 0
    }
    var seen: Set<ObjectReference> = []
    try visitCandidates(readsRows: readsRows) { reference, row in
      left &-= 1
      guard left >= 0 else { return false }
      if plan.filtersEntities, !fetch.concrete.contains(reference.entityNumber) { return true }
      if plan.mayRepeat, !seen.insert(reference).inserted { return true }
      guard try matches(reference, row) else { return true }
      return try body(FoundObject(reference: reference, row: row))
    }
    return left >= 0
  }

  /// Returns the check of a candidate against the residual. A candidate without a row no longer
  /// exists.
  private func matcher(_ readsRows: Bool) throws -> (ObjectReference, StoredRow?) throws -> Bool {
    if program.acceptsAll { return { _, row in row != nil || !readsRows } }
    // Captures single parts, so that the check of a row does not copy the plan.
    let (program, graph, view, cancellation) = (program, graph, graph.view, cancellation)
    return { reference, row in
      guard let row else { return false }
      try cancellation.check()
      return try program.matches(try graph.check(row, reference), reference, view)
    }
  }
}
