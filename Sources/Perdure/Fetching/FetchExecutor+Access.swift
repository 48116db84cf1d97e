// Runs the access paths of a plan, which produce the candidates.

internal import PerdurePredicates

extension FetchExecutor {
  /// Passes candidates to `body` in the plan's order, until `body` returns false. Passes rows if
  /// `readsRows` is set, or if the access path reads them anyway.
  func visitCandidates(
    readsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    var batch = RowBatch(graph.view, readsRows: readsRows, sizeMax: firstBatch)
    switch plan.access {
    case .scan:
      _ = try visitRows(isReversed: plan.isReversed, body)
    case .countOrder(let index, let counted):
      try visitByCount(index, counted, readsRows: readsRows, body)
    case .pathOrder(let outers, let inner, let ranges, let isReversed, let includesNull):
      try visitPathOrder(
        PathOrder(
          outers: outers, inner: inner, ranges: ranges, isReversed: isReversed, includesNull: includesNull),
        &batch, body)
    case .references, .index, .join, .union:
      if try add(plan.access, to: &batch, body) { _ = try batch.flush(body) }
    }
  }

  /// Adds to a batch the candidates of an access path that reads no rows; false if `body` ended the
  /// visit.
  private func add(
    _ access: FetchPlan.Access, to batch: inout RowBatch,
    _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws -> Bool {
    switch access {
    case .references(let references): try references.allSatisfy { try batch.add($0, body) }
    case .index(let index, let ranges): try visitEntries(index, ranges, &batch, body)
    case .join(let outers, let inner, let ranges): try visitJoin(outers, inner, ranges, &batch, body)
    case .union(let parts): try parts.allSatisfy { try add($0, to: &batch, body) }
    case .scan, .pathOrder, .countOrder:
      preconditionFailure("An access that visits rows is not a part of a union.")
    }
  }

  /// The size of the first batch. If candidates are in order, rows after the end of the window are
  /// rarely needed.
  private var firstBatch: Int {
    plan.isOrdered || plan.lead != nil ? max(1, min(fetch.windowEnd ?? 256, 256)) : 256
  }

  func visitRows(
    isReversed: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws -> Bool {
    var shouldContinue = true
    for entity in isReversed ? fetch.concrete.reversed() : fetch.concrete where shouldContinue {
      try graph.view.visitRows(entity: entity, descending: isReversed) { reference, row in
        shouldContinue = try body(reference, row)
        return shouldContinue
      }
    }
    return shouldContinue
  }

  /// Adds to a batch the references in ranges of an index; false if `body` ended the visit.
  private func visitEntries(
    _ index: StoreIndex, _ ranges: [KeyRange], _ batch: inout RowBatch,
    _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws -> Bool {
    var shouldContinue = true
    var run = TieRun()
    for range in plan.isReversed ? ranges.reversed() : ranges where shouldContinue {
      try graph.view.visitEntries(index, range, descending: plan.isReversed) { key, reference in
        if plan.reversesTies {
          guard let ended = run.add(key, reference) else { return true }
          for reference in ended where shouldContinue { shouldContinue = try batch.add(reference, body) }
        } else {
          shouldContinue = try batch.add(reference, body)
        }
        return shouldContinue
      }
    }
    for reference in run.ended() where shouldContinue { shouldContinue = try batch.add(reference, body) }
    return shouldContinue
  }

  /// Visits owners in the order of their counts. Owners without entries come first in ascending
  /// order, and last in descending order.
  private func visitByCount(
    _ index: StoreIndex, _ counted: StoreIndex, readsRows: Bool,
    _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    func visitCounted() throws -> Bool {
      var batch = RowBatch(graph.view, readsRows: readsRows, sizeMax: firstBatch)
      guard try visitEntries(index, [.all], &batch, body) else { return false }
      return try batch.flush(body)
    }
    func visitOthers() throws -> Bool {
      try visitRows(isReversed: plan.isReversed) { reference, row in
        try graph.count(counted, of: reference) > 0 ? true : try body(reference, row)
      }
    }
    if plan.isReversed {
      guard try visitCounted() else { return }
      _ = try visitOthers()
    } else {
      guard try visitOthers() else { return }
      _ = try visitCounted()
    }
  }
}

/// The references of entries with equal keys, collected to reverse their order.
private struct TieRun {
  private var key: [UInt8] = []
  private var references: [ObjectReference] = []

  /// Adds an entry. Returns nil if the entry belongs to the current run. Otherwise the entry begins
  /// a new run, and the function returns the previous one, which is empty before the first entry.
  mutating func add(
    _ key: UnsafeRawBufferPointer, _ reference: ObjectReference
  ) -> ReversedCollection<[ObjectReference]>? {
    if !references.isEmpty, key.elementsEqual(self.key) {
      references.append(reference)
      return nil
    }
    let before = references.reversed() as ReversedCollection
    self.key = Array(key)
    references = [reference]
    return before
  }

  /// The references of the last run.
  func ended() -> ReversedCollection<[ObjectReference]> { references.reversed() }
}

/// References whose rows are read together. The rows are passed on in the order of the references.
struct RowBatch {
  private let view: any StateReader
  private let readsRows: Bool
  private var sizeMax: Int
  private var isFirst = true
  private var references: [ObjectReference] = []

  init(_ view: any StateReader, readsRows: Bool, sizeMax: Int) {
    self.view = view
    self.readsRows = readsRows
    self.sizeMax = sizeMax
  }

  /// A batch of references whose rows are all read together.
  init(_ view: any StateReader, reading references: [ObjectReference]) {
    self.init(view, readsRows: true, sizeMax: references.count)
    self.references = references
  }

  /// Adds a reference; false if `body` ended the visit.
  mutating func add(
    _ reference: ObjectReference, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws -> Bool {
    guard readsRows else { return try body(reference, nil) }
    if references.isEmpty { references.reserveCapacity(min(sizeMax, 32)) }
    references.append(reference)
    if references.count < sizeMax { return true }
    guard try flush(body) else { return false }
    // The second batch has the size of the first: if most candidates satisfy the predicate, few
    // objects of the window are missing after the first.
    if !isFirst { sizeMax = min(1024, sizeMax * 2) }
    isFirst = false
    return true
  }

  /// Reads the rows of the collected references, and passes them to `body`. False if `body` ended
  /// the visit.
  mutating func flush(_ body: (ObjectReference, StoredRow?) throws -> Bool) throws -> Bool {
    if references.isEmpty { return true }
    guard try view.keepsRows ? passKept(body) : passLeased(body) else { return false }
    references.removeAll(keepingCapacity: true)
    return true
  }

  private func passKept(_ body: (ObjectReference, StoredRow?) throws -> Bool) throws -> Bool {
    var rows = [StoredRow?](repeating: nil, count: references.count)
    try view.rows(references) { position, row in rows[position] = row }
    for (reference, row) in zip(references, rows) {
      guard try body(reference, row) else { return false }
    }
    return true
  }

  private func passLeased(_ body: (ObjectReference, StoredRow?) throws -> Bool) throws -> Bool {
    var rows = [LeasedRow?](repeating: nil, count: references.count)
    try view.rows(references) { position, row in
      rows[position] = row.map { LeasedRow($0, isKept: false) }
    }
    for (reference, row) in zip(references, rows) {
      guard try KeptObject(reference: reference, row: row).passOn(body) else { return false }
    }
    return true
  }
}
