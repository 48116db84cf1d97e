// Running a plan on a view: candidates, filter, unsaved changes, order, window.
//
//   1. The access path hands out candidates, with their rows where it passes them anyway. Rows of index
//      candidates are read in batches, in whatever order is fastest, and handed on in the order of the index.
//   2. Touched objects are left out here: their rows are not what the context shows.
//   3. The program filters. When candidates come in order, this stops as soon as the window's end is known.
//   4. Changed and inserted objects are asked by the reference evaluator and put among the others.
//   5. Sorting where needed, then the window.
//
// When unsaved changes touch an entity that the predicate or the order reaches through a relationship, the
// rows of the objects that reach a touched one cannot be trusted either: these are asked as the context shows
// them (AffectedObjects.swift). When they are too many to be found one by one, all objects are.

package import PerdurePredicates

/// Runs one plan on one view. Not shared between threads.
package struct FetchExecutor {
  let fetch: PreparedFetch
  let plan: FetchPlan
  let graph: RowGraph
  let pending: (any PendingChanges)?
  private let cancellation: FetchCancellation
  private let program: RowProgram

  /// - Parameter view: The one that the plan's numbers are from; any other gives right results too.
  package init(
    _ fetch: PreparedFetch, _ plan: FetchPlan, view: any StoreView, pending: (any PendingChanges)? = nil
  ) {
    self.init(fetch, plan, view: view, pending: pending, cancellation: FetchCancellation(flag: nil))
  }

  /// - Parameter cancellation: Checked at each object.
  init(
    _ fetch: PreparedFetch, _ plan: FetchPlan, view: any StoreView, pending: (any PendingChanges)?,
    cancellation: FetchCancellation
  ) {
    self.cancellation = cancellation
    self.fetch = fetch
    self.plan = plan
    self.pending = pending
    graph = RowGraph(schema: fetch.schema, view: view)
    program = PredicateCompiler.program(
      plan.residual, schema: fetch.schema, entity: fetch.entity, now: fetch.now)
  }

  /// Hands out the objects in order until `body` returns false; with their rows, which stay valid while the
  /// view lives, but for objects that are shown from unsaved changes.
  ///
  /// - Parameter needsRows: Whether rows are wanted that it does not take to find the objects.
  package func visit(
    needsRows: Bool = true, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    if let pending {
      for found in try overlaid(pending) {
        guard try body(found.reference, found.row) else { return }
      }
    } else if plan.isOrdered {
      try visitInOrder(needsRows: needsRows, body)
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
    } else if program.acceptsAll, !plan.filtersEntities, !plan.mayRepeat, let known = try knownCount() {
      total = known
    } else if pending == nil, case .scan = plan.access, fetch.windowEnd == nil {
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
    case .scan, .countOrder: fetch.concrete.reduce(0) { $0 + graph.view.rowCount(entity: $1) }
    case .index(let index, let ranges): try ranges.reduce(0) { try $0 + graph.view.entryCount(index, $1) }
    case .references, .join, .pathOrder: nil
    }
  }

  /// As `visitMatches` of a scan, with nothing between a row and the program.
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

  // MARK: Without unsaved changes

  private func visitInOrder(
    needsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    if fetch.limit == 0 { return }
    let (offset, end) = (fetch.offset, fetch.windowEnd ?? .max)
    var seen = 0
    try visitMatches(needsRows: needsRows) { found in
      seen += 1
      if seen > offset, try !body(found.reference, found.row) { return false }
      return seen < end
    }
  }

  private func sorted() throws -> [FoundObject] {
    var buffer = SortBuffer(limit: fetch.windowEnd)
    try addAll(to: &buffer)
    return buffer.sorted()
  }

  /// Adds the objects to what is put in order, as many at least as the window reaches. The keys are made of what is
  /// shown, also where an object that is not changed itself is ordered by what is.
  func addAll(to buffer: inout SortBuffer) throws {
    guard let pending else { return try addMatches(to: &buffer) }
    let distrusted = try distrusted(pending)
    let asked = try askedMatches(pending, distrusted)
    if distrusted != .all { try addMatches(to: &buffer, besides: distrusted) }
    let keys = SortKeys(fetch: fetch, graph: graph)
    for found in asked {
      buffer.add(try keys.key(of: pending.source(of: found.reference), found.reference), found)
    }
  }

  private func addMatches(to buffer: inout SortBuffer, besides distrusted: Distrusted = .none) throws {
    let keys = SortKeys(fetch: fetch, graph: graph)
    let end = plan.isOrdered ? fetch.windowEnd ?? .max : .max
    let graph = graph
    var key = OrderedKey()
    var added = 0
    try visitMatches(needsRows: true, besides: distrusted) { found in
      guard let stored = found.row else { return true }
      let row = try graph.check(stored, found.reference)
      // Most of many are, and need no key.
      if let front = keys.front(row), end == .max, buffer.isBehindAll(front) { return true }
      key.bytes.removeAll(keepingCapacity: true)
      try keys.append(row, found.reference, &key)
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
    if !fetch.order.isEmpty { return window(try sorted()) }
    let distrusted = try distrusted(pending)
    let asked = try askedMatches(pending, distrusted)
    var found: [FoundObject] = []
    try visitTrusted(distrusted) { found.append($0) }
    return window(found + asked)
  }

  private func countOverlaid(_ pending: any PendingChanges) throws -> Int {
    let distrusted = try distrusted(pending)
    var total = try askedMatches(pending, distrusted).count
    try visitTrusted(distrusted) { _ in total += 1 }
    return total
  }

  /// The untouched objects whose rows do not tell what predicate and order give.
  enum Distrusted: Equatable {
    case all
    case some(Set<ObjectReference>)

    static let none = Distrusted.some([])
  }

  private func distrusted(_ pending: any PendingChanges) throws -> Distrusted {
    guard fetch.reached.contains(where: { pending.touches(entity: $0) }) else { return .none }
    let rowTotal = fetch.concrete.reduce(0) { $0 + graph.view.rowCount(entity: $1) }
    let affected = AffectedObjects(fetch: fetch, graph: graph, pending: pending)
    return try affected.find(limit: rowTotal).map(Distrusted.some) ?? .all
  }

  /// The objects that satisfy the predicate as the context shows them, of all whose rows do not tell.
  private func askedMatches(
    _ pending: any PendingChanges, _ distrusted: Distrusted
  ) throws -> [FoundObject] {
    let evaluator = PredicateEvaluator(fetch.predicate, now: fetch.now)
    var matches: [FoundObject] = []
    func ask(_ reference: ObjectReference, _ row: StoredRow?) throws {
      try cancellation.check()
      guard try evaluator.evaluate(with: pending.source(of: reference)) else { return }
      matches.append(FoundObject(reference: reference, row: row))
    }
    for entity in fetch.concrete {
      for reference in pending.changedObjects(of: entity).sorted(by: { $0.rawValue < $1.rawValue }) {
        try ask(reference, nil)
      }
    }
    switch distrusted {
    case .some(let affected):
      for reference in affected.sorted(by: { $0.rawValue < $1.rawValue }) { try ask(reference, nil) }
    case .all:
      for entity in fetch.concrete {
        try graph.view.visitRows(entity: entity, descending: false) { reference, row in
          if !pending.isTouched(reference) { try ask(reference, row) }
          return true
        }
      }
    }
    return matches
  }

  /// The other objects that satisfy the predicate, by their rows.
  private func visitTrusted(_ distrusted: Distrusted, _ body: (FoundObject) throws -> Void) throws {
    if distrusted == .all { return }
    try visitMatches(needsRows: true, besides: distrusted) {
      try body($0)
      return true
    }
  }

  // MARK: Matches

  /// Hands out the untouched candidates that satisfy the predicate, as they come.
  func visitMatches(
    needsRows: Bool, besides distrusted: Distrusted = .none, _ body: (FoundObject) throws -> Bool
  ) throws {
    try cancellation.check()
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
      if case .some(let affected) = distrusted, affected.contains(reference) { return true }
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
    let (program, graph, view, cancellation) = (program, graph, graph.view, cancellation)
    return { reference, row in
      guard let row else { return false }
      try cancellation.check()
      return try program.matches(try graph.check(row, reference), reference, view)
    }
  }
}
