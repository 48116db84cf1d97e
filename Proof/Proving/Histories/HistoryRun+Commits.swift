import PerdureLog

extension HistoryRun {
  private struct GivenUp: Error {}

  // MARK: - Commits

  func take(_ commit: HistoryCommit) throws {
    let (preconditions, failing) = try conditions(commit.conditions)
    let durability = commit.durability
    if commit.isGivenUp {
      do {
        _ = try write(commit.changes, preconditions, durability, givesUp: true)
        throw Violation("an abandoned batch was committed")
      } catch is GivenUp {
        return answered(7)
      }
    }
    let verdict = model.commit(commit.changes, failing: failing)
    try check(verdict) { try write(commit.changes, preconditions, durability) }
  }

  /// Compares the store's result of a commit with the model's result.
  private func check(_ verdict: HistoryModel.Verdict, _ commit: () throws -> UInt64) throws {
    do {
      let sequence = try commit()
      guard case .committed = verdict else {
        throw Violation("it was committed, but should be refused: \(verdict)")
      }
      try expectSequence(sequence, "a commit")
      outcome.tally.commits += 1
      answered(1)
    } catch let error as StoreError where error.code == .conflict {
      try check(error, verdict)
    }
  }

  private func check(_ error: StoreError, _ verdict: HistoryModel.Verdict) throws {
    switch verdict {
    case .committed: throw Violation("it was refused: \(error)")
    case .conflict(let expected):
      let failed = error.conflicts.compactMap { conflict -> Int? in
        if case .precondition(let index, _) = conflict { index } else { nil }
      }
      try expect(
        failed == expected.sorted() && failed.count == error.conflicts.count && error.isRetryable,
        "conditions \(expected.sorted()) do not hold, but the conflict is \(error)")
      outcome.tally.conflicts += 1
      answered(UInt64(2 + failed.count))
    case .duplicates(let expected):
      try expect(!error.isRetryable, "the error for a duplicate is retryable: \(error)")
      try checkDuplicates(error, expected)
      outcome.tally.duplicates += 1
      answered(UInt64(200 + expected.count))
    }
  }

  private func checkDuplicates(_ error: StoreError, _ expected: Set<UInt16>) throws {
    var found: Set<[UInt8]> = []
    for conflict in error.conflicts {
      guard case .duplicateKey(let index, let key, let existing, let rejected) = conflict,
        index == self.index(.serials), existing != rejected
      else { throw Violation("a conflict that is not a duplicate: \(error)") }
      found.insert(key)
    }
    try expect(
      found == Set(expected.map { HistoryKeys.bytes(UInt64($0)) }),
      "\(expected) are duplicates, but the error is \(error)")
  }

  /// The preconditions in the store's form, and the positions of those that are false in the model.
  private func conditions(_ conditions: [HistoryCondition]) throws -> ([Precondition], Set<Int>) {
    var preconditions: [Precondition] = []
    var failing: Set<Int> = []
    let now = model.content
    for condition in conditions {
      let holds: Bool
      switch condition {
      case .unchanged(let place, let view):
        let old = try state(view)
        let key = model.keys.key(place.space, place.position)
        let version = try old.snapshot.version(key, in: space(place.space))
        preconditions.append(.unchanged(space(place.space), key, version))
        holds = old.content[place].version == now[place].version
      case .exists(let place):
        preconditions.append(.exists(space(place.space), model.keys.key(place.space, place.position)))
        holds = now[place].isThere
      case .range(let space, let range, let view):
        let old = try state(view)
        guard let precondition = precondition(space, range, old.snapshot) else { continue }
        preconditions.append(precondition)
        holds = now.isUnchanged(space, range.positions, since: old.content)
      case .index(let index, let range, let view):
        let old = try state(view)
        var range = range
        // If the bounds and the keys have different lengths, the store may also report changes next
        // to the range.
        range.isBetween = false
        preconditions.append(
          .indexRangeUnchanged(self.index(index), indexRange(index, range), since: old.snapshot))
        holds = entries(of: index, range, old.content) == entries(of: index, range, now)
      }
      if !holds { failing.insert(preconditions.count - 1) }
    }
    return (preconditions, failing)
  }

  private func precondition(
    _ space: HistorySpace, _ range: HistoryRange, _ snapshot: Snapshot
  ) -> Precondition? {
    if space == .rows {
      return model.keys.idRange(range).map { .idRangeUnchanged(self.space(space), $0, since: snapshot) }
    }
    return .rangeUnchanged(self.space(space), model.keys.keyRange(range, in: space), since: snapshot)
  }

  @discardableResult
  private func write(
    _ changes: [HistoryChange], _ preconditions: [Precondition] = [], _ durability: Durability?,
    givesUp: Bool = false
  ) throws -> UInt64 {
    let changes = subject.filter(changes)
    let blobs = try changes.map { try writtenBlob($0) }
    return try store.write(durability: durability) { transaction in
      for precondition in subject.filter(preconditions) { transaction.require(precondition) }
      for (change, blob) in zip(changes, blobs) { try put(change, blob, &transaction) }
      if givesUp { throw GivenUp() }
    }.sequence
  }

  private func writtenBlob(_ change: HistoryChange) throws -> WrittenBlob? {
    guard change.pieces > 0, let bytes = change.value?.bytes else { return nil }
    let writer = try store.makeBlobWriter()
    let length = max(1, bytes.count / change.pieces)
    for start in stride(from: 0, to: bytes.count, by: length) {
      try writer.append(Array(bytes[start..<min(start + length, bytes.count)]))
    }
    return try writer.finish()
  }

  private func put(
    _ change: HistoryChange, _ blob: WrittenBlob?, _ transaction: inout WriteTransaction
  ) throws {
    let keyspace = space(change.place.space)
    switch (model.keys.key(change.place.space, change.place.position), change.value) {
    case (.id(let id), let value?):
      if let blob { return try transaction.put(blob, id: id, in: keyspace) }
      try scratch.withBytes(of: value) { try transaction.put($0, id: id, in: keyspace) }
    case (.bytes(let key), let value?):
      if let blob { return try transaction.put(blob, key: key, in: keyspace) }
      try scratch.withBytes(of: value) { value in
        try key.withUnsafeBytes { try transaction.put(value, key: $0, in: keyspace) }
      }
    case (.id(let id), nil): try transaction.remove(id: id, in: keyspace)
    case (.bytes(let key), nil): try transaction.remove(key: key, in: keyspace)
    }
  }

  // MARK: - Transactions

  /// The reads and writes of a transaction so far, according to the model.
  private struct Moves {
    let start: HistoryContent
    /// The content as the transaction sees it, including its own writes.
    var content: HistoryContent
    var writes: [HistoryPlace: HistoryChange] = [:]
    var order: [HistoryPlace] = []
    var places: [HistoryPlace] = []
    var ranges: [(HistorySpace, Range<Int>)] = []
    var indexes: [(HistoryIndex, HistoryRange)] = []

    init(_ content: HistoryContent) { (start, self.content) = (content, content) }

    mutating func write(_ change: HistoryChange) {
      if writes.updateValue(change, forKey: change.place) == nil { order.append(change.place) }
      let entry = change.value.map { HistoryContent.Entry(version: .max, value: $0) }
      content[change.place] = entry ?? HistoryContent.Entry()
    }
  }

  func take(_ transaction: HistoryTransaction) throws {
    var attempts = 0
    var moves = Moves(model.content)
    var verdict = HistoryModel.Verdict.committed(0)
    do {
      let result = try store.transaction(attemptsMax: transaction.attemptsMax) { open in
        attempts += 1
        moves = Moves(model.content)
        try expectSequence(open.sequence, "a transaction")
        for move in transaction.moves { try take(move, &moves, &open) }
        if attempts == 1, !transaction.between.isEmpty {
          try check(model.commit(transaction.between)) { try write(transaction.between, [], .relaxed) }
        }
        verdict = self.verdict(moves)
      }
      guard case .committed(let sequence) = verdict else {
        throw Violation("it was committed, but should be refused: \(verdict)")
      }
      try expect(subject.sequence(result.sequence) == sequence, "a transaction has number \(result.sequence)")
      outcome.tally.commits += 1
      answered(UInt64(10 + attempts))
    } catch let error as StoreError where error.code == .conflict {
      // The other commit was compared with the model when it was made.
      if case .conflict = verdict {
        try expect(error.isRetryable, "the error for a conflict is not retryable: \(error)")
        outcome.tally.conflicts += 1
        answered(3)
      } else {
        try check(error, verdict)
      }
    }
  }

  /// The model's result for a transaction after its moves. If it commits, the model advances.
  private func verdict(_ moves: Moves) -> HistoryModel.Verdict {
    if moves.order.isEmpty { return .committed(moves.start.sequence) }
    let now = model.content
    let holds =
      moves.places.allSatisfy { moves.start[$0].version == now[$0].version }
      && moves.ranges.allSatisfy { now.isUnchanged($0.0, $0.1, since: moves.start) }
      && moves.indexes.allSatisfy { entries(of: $0.0, $0.1, moves.start) == entries(of: $0.0, $0.1, now) }
    return model.commit(moves.order.compactMap { moves.writes[$0] }, failing: holds ? [] : [0])
  }

  private func take(_ move: HistoryMove, _ moves: inout Moves, _ open: inout StoreTransaction) throws {
    switch move {
    case .write(let change):
      try put(change, &open)
      moves.write(change)
    case .read(.get(let place)):
      let keyspace = space(place.space)
      let found =
        switch model.keys.key(place.space, place.position) {
        case .id(let id): try open.value(id: id, in: keyspace)
        case .bytes(let key): try open.value(key: key, in: keyspace)
        }
      let entry = moves.content[place]
      try expect((found != nil) == entry.isThere, "\(place) exists in a transaction: \(found != nil)")
      try expect(found.map { scratch.isEqual($0, entry.value) } ?? true, "\(place) is not \(entry.value)")
      note(place, &moves)
    case .read(.contains(let place)):
      let key = model.keys.key(place.space, place.position)
      let isThere = try open.contains(key, in: space(place.space))
      try expect(isThere == moves.content[place].isThere, "\(place) exists in a transaction: \(isThere)")
      note(place, &moves)
    case .read(.scan(let space, let range, let walk)): try scan(space, range, walk, &moves, &open)
    case .read(.count(let space, let range)):
      if space == .rows {
        guard let ids = model.keys.idRange(range) else { return }
        try expectCount(try open.count(in: self.space(space), ids: ids), space, range, moves)
      } else {
        let keys = model.keys.keyRange(range, in: space)
        try expectCount(try open.count(in: self.space(space), range: keys), space, range, moves)
      }
      moves.ranges.append((space, range.positions))
    case .read(.index(let index, let range, let walk)): try walkIndex(index, range, walk, &moves, &open)
    case .read: break
    }
  }

  private func note(_ place: HistoryPlace, _ moves: inout Moves) {
    if moves.writes[place] == nil { moves.places.append(place) }
  }

  private func expectCount(_ count: Int, _ space: HistorySpace, _ range: HistoryRange, _ moves: Moves) throws
  {
    let expected = moves.content.count(space, range.positions)
    try expect(count == expected, "a transaction counts \(count) keys, not \(expected)")
  }

  private func put(_ change: HistoryChange, _ open: inout StoreTransaction) throws {
    let keyspace = space(change.place.space)
    let key = model.keys.key(change.place.space, change.place.position)
    if let blob = try writtenBlob(change) {
      switch key {
      case .id(let id): return try open.put(blob, id: id, in: keyspace)
      case .bytes(let key): return try open.put(blob, key: key, in: keyspace)
      }
    }
    switch (key, change.value) {
    case (.id(let id), let value?): try open.put(value.bytes, id: id, in: keyspace)
    case (.bytes(let key), let value?): try open.put(value.bytes, key: key, in: keyspace)
    case (.id(let id), nil): try open.remove(id: id, in: keyspace)
    case (.bytes(let key), nil): try open.remove(key: key, in: keyspace)
    }
  }

  private func scan(
    _ space: HistorySpace, _ range: HistoryRange, _ walk: HistoryWalk, _ moves: inout Moves,
    _ open: inout StoreTransaction
  ) throws {
    let expected = moves.content.walk(space, range.positions, walk)
    let found: [(Key, [UInt8])]
    if space == .rows {
      guard let ids = model.keys.idRange(range) else { return }
      found = try open.entries(
        in: self.space(space), ids: ids, limit: walk.limit, descending: walk.isDescending
      ).map { (.id($0.id), $0.value) }
    } else {
      found = try open.entries(
        in: self.space(space), range: model.keys.keyRange(range, in: space), limit: walk.limit,
        descending: walk.isDescending
      ).map { (.bytes($0.key), $0.value) }
    }
    try expect(
      found.count == expected.count, "a transaction finds \(found.count) entries of \(expected.count)")
    for (position, (key, value)) in zip(expected, found) {
      let entry = moves.content[HistoryPlace(space, position)]
      try expect(
        key == model.keys.key(space, position) && scratch.isEqual(value, entry.value),
        "a transaction finds \(key) in place of \(space) \(position), or with a value other than \(entry.value)"
      )
    }
    var seen = range.positions
    if expected.count == walk.limit, let last = expected.last {
      seen = walk.isDescending ? last..<seen.upperBound : seen.lowerBound..<last + 1
    }
    moves.ranges.append((space, seen))
  }

  private func walkIndex(
    _ index: HistoryIndex, _ range: HistoryRange, _ walk: HistoryWalk, _ moves: inout Moves,
    _ open: inout StoreTransaction
  ) throws {
    var range = range
    range.isBetween = false
    var expected = entries(of: index, range, moves.start)
    if walk.isDescending { expected.reverse() }
    let found = try open.indexEntries(
      in: self.index(index), range: indexRange(index, range), limit: walk.limit,
      descending: walk.isDescending)
    let wanted = expected.prefix(walk.limit)
    try expect(
      found.count == wanted.count
        && zip(found, wanted).allSatisfy {
          $0.reference == $1.reference && $0.key == HistoryKeys.bytes($1.key)
        },
      "a transaction finds \(found.count) entries of \(index) in \(range), not the \(wanted.count) expected ones"
    )
    if found.count == walk.limit, let last = wanted.last {
      if walk.isDescending { range.lower = Int(last.key) } else { range.upper = Int(last.key) + 1 }
    }
    moves.indexes.append((index, range))
  }
}
