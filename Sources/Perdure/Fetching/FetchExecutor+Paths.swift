// Access paths through other entities (FetchPlanner+Paths.swift). They begin at entries of an index
// at the end of a path, and find the objects at the beginning of the path.

internal import PerdurePredicates

extension FetchExecutor {
  /// Visits the objects whose path ends at an object in `ranges` of `inner`.
  func visitJoin(
    _ outers: [StoreIndex], _ inner: StoreIndex, _ ranges: [KeyRange], _ batch: inout RowBatch,
    _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws -> Bool {
    var shouldContinue = true
    for range in ranges where shouldContinue {
      try graph.view.visitEntries(inner, range, descending: false) { _, target in
        shouldContinue = try visitOwners(of: target, outers[...]) { try batch.add($0, body) }
        return shouldContinue
      }
    }
    return shouldContinue
  }

  /// Visits the objects whose path ends at a target; false if `body` ended the visit. If the path
  /// has one step, the objects are visited in the order of their references.
  private func visitOwners(
    of target: ObjectReference, _ outers: ArraySlice<StoreIndex>, descending: Bool = false,
    _ body: (ObjectReference) throws -> Bool
  ) throws -> Bool {
    guard let outer = outers.first else { return try body(target) }
    let rest = outers.dropFirst()
    var shouldContinue = true
    try graph.view.visitEntries(outer, .owner(target), descending: descending) { _, owner in
      shouldContinue =
        try rest.isEmpty ? body(owner) : visitOwners(of: owner, rest, descending: descending, body)
      return shouldContinue
    }
    return shouldContinue
  }

  private func countOwners(of target: ObjectReference, _ outers: ArraySlice<StoreIndex>) throws -> Int {
    guard let outer = outers.first else { return 1 }
    if outers.count == 1 { return try graph.count(outer, of: target) }
    var total = 0
    try graph.view.visitEntries(outer, .owner(target), descending: false) { _, owner in
      total += try countOwners(of: owner, outers.dropFirst())
      return true
    }
    return total
  }

  // MARK: In order

  /// The parts of `FetchPlan.Access.pathOrder`.
  struct PathOrder {
    let outers: [StoreIndex]
    let inner: StoreIndex
    let ranges: [KeyRange]
    /// Whether the index is read from its end.
    let isReversed: Bool
    let includesNull: Bool
  }

  /// Visits objects in the order of the values at the end of the path, ties in the order of
  /// references. Objects without a value come first in ascending order, and last in descending
  /// order.
  func visitPathOrder(
    _ order: PathOrder, _ batch: inout RowBatch, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    if !order.includesNull {
      guard try visitInPathOrder(order, { try batch.add($0, body) }) else { return }
      _ = try batch.flush(body)
    } else if plan.isReversed {
      var visited = 0
      guard
        try visitInPathOrder(
          order,
          {
            visited += 1
            return try batch.add($0, body)
          }), try batch.flush(body)
      else { return }
      let mayLack = try plan.filtersEntities || visited < rowTotal()
      if mayLack { _ = try visitWithoutValue(body) }
    } else {
      if try mayLackValues(order), try !visitWithoutValue(body) { return }
      guard try visitInPathOrder(order, { try batch.add($0, body) }) else { return }
      _ = try batch.flush(body)
    }
  }

  private func rowTotal() throws -> Int {
    try fetch.concrete.reduce(0) { try $0 + graph.view.rowCount(entity: $1) }
  }

  /// Whether some objects may have no value at the end of the path. True if the indexes contain
  /// fewer objects than exist, or if their counts cannot decide it.
  private func mayLackValues(_ order: PathOrder) throws -> Bool {
    guard !plan.filtersEntities, let nearest = order.outers.last,
      try graph.view.entryCount(nearest, .all) == rowTotal()
    else { return true }
    var total = 0
    for range in order.ranges {
      try graph.view.visitEntries(order.inner, range, descending: false) { _, target in
        total += try countOwners(of: target, order.outers[...])
        return true
      }
    }
    return try total < rowTotal()
  }

  private func visitInPathOrder(_ order: PathOrder, _ body: (ObjectReference) throws -> Bool) throws -> Bool {
    var shouldContinue = true
    var key: [UInt8] = []
    var targets: [ObjectReference] = []
    for range in order.isReversed ? order.ranges.reversed() : order.ranges where shouldContinue {
      try graph.view.visitEntries(order.inner, range, descending: order.isReversed) { bytes, target in
        if !targets.isEmpty, !bytes.elementsEqual(key) {
          shouldContinue = try visitTies(targets, order, body)
          targets.removeAll(keepingCapacity: true)
        }
        if targets.isEmpty { key = Array(bytes) }
        targets.append(target)
        return shouldContinue
      }
    }
    if shouldContinue, !targets.isEmpty { shouldContinue = try visitTies(targets, order, body) }
    return shouldContinue
  }

  /// Visits the objects whose path ends at one of the targets, in the order of references. The
  /// targets have equal values.
  private func visitTies(
    _ targets: [ObjectReference], _ order: PathOrder, _ body: (ObjectReference) throws -> Bool
  ) throws -> Bool {
    if targets.count == 1, order.outers.count == 1 {
      return try visitOwners(of: targets[0], order.outers[...], descending: plan.isReversed, body)
    }
    var owners: [ObjectReference] = []
    for target in targets {
      _ = try visitOwners(of: target, order.outers[...]) {
        owners.append($0)
        return true
      }
    }
    owners.sort { ($0.rawValue < $1.rawValue) != plan.isReversed }
    for owner in owners where try !body(owner) { return false }
    return true
  }

  /// Visits the objects without a value at the end of the path, by a scan of the rows.
  private func visitWithoutValue(_ body: (ObjectReference, StoredRow?) throws -> Bool) throws -> Bool {
    let steps = fetch.order[0].steps
    return try visitRows(isReversed: plan.isReversed) { reference, stored in
      guard let stored, try !hasValue(try graph.check(stored, reference), steps[...]) else { return true }
      return try body(reference, stored)
    }
  }

  /// Whether a path of to-one steps from a row ends at a value.
  private func hasValue(_ row: RowView, _ steps: ArraySlice<SortCriterion.Step>) throws -> Bool {
    guard let step = steps.first else { return true }
    let field = row.fields[step.slot]
    if steps.count == 1 { return field.kind == .absent ? !step.standIn.isNull : row.isPresent(field) }
    guard row.isPresent(field) else { return false }
    return try graph.withRowOrNulls(row.reference(field)) { try hasValue($0, steps.dropFirst()) }
  }
}
