package import PerdureFileIO
import PerdureLog

// Runs one history on one store. The store and the model both perform each step, and their answers
// are compared.

/// The result of a successful history.
package struct HistoryOutcome: Equatable, Sendable {
  /// The number of answers that were compared with the model's.
  package var answers = 0
  /// A hash of the answers that the store returned, and of its content at the end. Answers of
  /// maintenance steps are not included.
  package var digest: UInt64 = 0xcbf2_9ce4_8422_2325
  package var tally = HistoryTally()

  mutating func add(_ number: UInt64) { digest = (digest ^ number) &* 0x100_0000_01b3 }
}

/// The number of events of each kind in histories.
package struct HistoryTally: Equatable, Sendable {
  package var commits = 0
  package var conflicts = 0
  package var duplicates = 0
  /// The number of answers from held snapshots and from readers.
  package var heldReads = 0
  package var readerReads = 0
  package var openings = 0
  package var compactions = 0
  package var checkpoints = 0
  package var verifications = 0

  static func += (sum: inout HistoryTally, other: HistoryTally) {
    for count in [
      \.commits, \.conflicts, \.duplicates, \.heldReads, \.readerReads, \.openings, \.compactions,
      \.checkpoints,
      \.verifications,
    ] as [WritableKeyPath<HistoryTally, Int>] {
      sum[keyPath: count] += other[keyPath: count]
    }
  }

  var report: [String] {
    [
      "\(commits) commits; \(conflicts) others were refused for a precondition, \(duplicates) for a duplicate",
      "\(heldReads) answers from held snapshots, \(readerReads) from readers",
      "\(openings) openings, \(compactions) compactions, \(checkpoints) requested checkpoints, \(verifications) "
        + "verifications",
    ]
  }
}

/// The failure of a step: its answer differs from the model's, or it threw an unexpected error.
package struct HistoryFailure: Error, CustomStringConvertible {
  package var step: Int
  package var what: String

  package var description: String { "step \(step): \(what)" }
}

package final class HistoryRun {
  let history: History
  let subject: any HistorySubject
  let scratch = HistoryComparison()
  var model: HistoryModel
  var outcome = HistoryOutcome()
  private let fileSystem: any FileSystem
  private let path: String
  private var opened: Store?
  /// The sequence number of the last commit when the store was opened.
  private var sequenceAtOpening: UInt64 = 0
  private var reader: Store?
  private var options: HistoryOptions
  var spaces: [Keyspace] = []
  var indexes: [DerivedIndex] = []

  /// A state that can still be read, and the content that it must have.
  struct State {
    var snapshot: Snapshot
    var content: HistoryContent
  }

  private var held = [State?](repeating: nil, count: HistoryView.slots)
  private var followed: State?

  private init(
    _ history: History, _ subject: any HistorySubject, _ fileSystem: any FileSystem, _ path: String
  ) {
    (self.history, self.subject, self.fileSystem, self.path) = (history, subject, fileSystem, path)
    model = HistoryModel(history.universe)
    options = history.options
  }

  /// Runs a history to its end.
  ///
  /// - Parameter path: The path of an absent directory.
  /// - Parameter beside: Called before each step with its number. It may change the files of the
  ///   store.
  /// - Throws: `HistoryFailure`.
  package static func run(
    _ history: History, on subject: any HistorySubject = WholeStore(), _ fileSystem: any FileSystem,
    at path: String = "/h.perdure", beside: (Int) throws -> Void = { _ in }
  ) throws -> HistoryOutcome {
    let run = HistoryRun(history, subject, fileSystem, path)
    var number = -1
    do {
      try run.open()
      for (next, step) in history.steps.enumerated() {
        number = next
        try beside(next)
        try run.take(step)
      }
      number = history.steps.count
      try run.finish()
      return run.outcome
    } catch {
      let step = history.steps.indices.contains(number) ? "\(history.steps[number].line.name): " : ""
      throw HistoryFailure(step: number, what: "\(step)\(error)")
    }
  }

  var store: Store {
    get throws {
      guard let opened else { throw Violation("the store could not be opened again") }
      return opened
    }
  }

  /// Notes a correct answer.
  func answered(_ number: UInt64) {
    outcome.answers += 1
    outcome.add(subject.remembered(number, options))
  }

  func expect(_ isTrue: Bool, _ message: @autoclosure () -> String) throws {
    if !isTrue { throw Violation(message()) }
  }

  func expectSequence(_ number: UInt64, _ what: @autoclosure () -> String) throws {
    let number = subject.sequence(number)
    try expect(
      number == model.content.sequence, "\(what()) has number \(number), not \(model.content.sequence)")
  }

  func state(_ view: HistoryView) throws -> State {
    switch view {
    case .held(let slot):
      if let state = held[slot] {
        return State(snapshot: subject.held(state.snapshot, of: try store), content: state.content)
      }
    case .reader: if let followed { return followed }
    case .newest: break
    }
    return try newest()
  }

  private func newest() throws -> State {
    let snapshot = subject.snapshot(of: try store)
    try expectSequence(snapshot.sequence, "the newest state")
    return State(snapshot: snapshot, content: model.content)
  }

  private func take(_ step: HistoryStep) throws {
    switch step {
    case .read(let view, let read):
      let state = try state(view)
      try check(read, state.snapshot, state.content)
      count(view)
    case .commit(let commit): try take(commit)
    case .transaction(let transaction): try take(transaction)
    case .hold(let slot): held[slot] = try newest()
    case .letGo(let slot): held[slot] = nil
    case .compact:
      try subject.compact(store)
      outcome.tally.compactions += 1
    case .checkpoint:
      try store.checkpoint()
      outcome.tally.checkpoints += 1
    case .train(let space):
      guard options.compression == 2 else { return }
      if try store.trainDictionary(for: spaces[Int(space.rawValue)]) != nil { model.advance() }
    case .sync: try store.sync()
    case .verify: try verify()
    case .lookAround: try lookAround()
    case .reopen(let next, let closes):
      let isChanged = try store.snapshot().sequence > sequenceAtOpening
      if closes { try store.close() }
      opened = nil
      options = next
      // A store that was released without a change may still have the superblock of the last close.
      try open(wasClosed: closes ? [true] : isChanged ? [false] : [true, false])
    case .follow: try follow()
    case .unfollow:
      followed = nil
      try reader?.close()
      reader = nil
    }
  }

  private func count(_ view: HistoryView) {
    switch view {
    case .held(let slot): if held[slot] != nil { outcome.tally.heldReads += 1 }
    case .reader: if followed != nil { outcome.tally.readerReads += 1 }
    case .newest: break
    }
  }

  // MARK: - The store

  private func storeOptions(readOnly: Bool = false) -> StoreOptions {
    var options = options.storeOptions(on: fileSystem)
    options.isReadOnly = readOnly
    subject.adapt(&options)
    return options
  }

  private func open(wasClosed: Set<Bool>? = nil) throws {
    let store = try Store(at: path, options: storeOptions())
    opened = store
    sequenceAtOpening = store.snapshot().sequence
    outcome.tally.openings += 1
    if let wasClosed {
      let report = store.recoveryReport
      try expect(
        wasClosed.contains(report.wasClosed), "the recovery report has wasClosed \(report.wasClosed)")
      try expect(report.indexRebuild == nil, "the index had to be built: \(report)")
      try expectSequence(store.snapshot().sequence, "the opened state")
    }
    let spaces = try HistorySpace.allCases.map { try store.keyspace("\($0)", $0.kind) }
    let indexes = try defineIndexes(spaces, store)
    if self.spaces.isEmpty {
      (self.spaces, self.indexes) = (spaces, indexes)
      model.setSequence(subject.sequence(store.snapshot().sequence))
    }
    try expect(spaces == self.spaces && indexes == self.indexes, "keyspaces or indexes differ")
  }

  private func defineIndexes(_ spaces: [Keyspace], _ store: Store) throws -> [DerivedIndex] {
    let (rows, links) = (spaces[0], spaces[2])
    let groups = try store.defineIndex(
      IndexDefinition(
        name: "groups",
        source: .records(
          keyspaces: [rows], extractor: subject.groupExtractor,
          parameters: SliceExtractor.parameters([.value(offset: 0, length: 8)]))))
    let backlinks = IndexDefinition(
      name: "backlinks",
      source: .records(
        keyspaces: [links], extractor: SliceExtractor.name,
        parameters: SliceExtractor.parameters([.key(offset: 8, length: 8)], reference: .keyPrefix)))
    let counts = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
    let serials = try store.defineIndex(
      .slices("serials", rows, .value(offset: 8, length: 8), isUnique: true))
    let back = try store.defineIndex(backlinks)
    let sums = try store.defineIndex(.sums("sums", rows))
    let order = try store.defineIndex(IndexDefinition(name: "order", source: .sumOrder(of: sums)))
    // The first four are in the order of `HistoryIndex`. The others are for `checkSums`.
    return [groups, counts, serials, back, sums, order]
  }

  private func follow() throws {
    if let reader {
      try reader.refresh()
    } else {
      reader = try Store(at: path, options: storeOptions(readOnly: true))
    }
    guard let snapshot = reader?.snapshot() else { return }
    try expectSequence(snapshot.sequence, "the reader's state")
    followed = State(snapshot: snapshot, content: model.content)
  }

  private func verify() throws {
    let report = try store.verify()
    try expect(report.isClean, "\(report.findings.prefix(5))")
    outcome.answers += 1
    outcome.tally.verifications += 1
  }

  private func lookAround() throws {
    let store = try store
    let names = try store.keyspaces.map(\.name)
    try expect(names == HistorySpace.allCases.map { "\($0)" }, "the keyspaces are \(names)")
    let defined = try store.indexes.map(\.index)
    try expect(defined == indexes, "the indexes are \(defined)")
    let statistics = try store.statistics
    try expectSequence(statistics.sequence, "the statistics")
    let content = model.content
    try expect(statistics.keys == content.counts.reduce(0, +), "\(statistics.keys) keys are counted")
    let entries = HistoryIndex.allCases.reduce(2 * content.serialSums.count) {
      $0 + content.entries(of: $1, 0..<$1.limit(history.universe), model.keys.ids, history.universe).count
    }
    try expect(
      statistics.indexEntries == entries, "\(statistics.indexEntries) entries are counted, not \(entries)")
    outcome.answers += 1
  }

  // MARK: - The end

  private func finish() throws {
    for state in held {
      if let state {
        try checkAll(State(snapshot: subject.held(state.snapshot, of: store), content: state.content))
      }
    }
    if let followed { try checkAll(followed) }
    try verify()
    try store.close()
    opened = nil
    try open(wasClosed: [true])
    try checkAll(newest())
    try verify()
    try reader?.close()
    try store.close()
  }

  private func checkAll(_ state: State) throws {
    let all = HistoryWalk(limit: .max, isDescending: false)
    for space in HistorySpace.allCases {
      let range = HistoryRange(0, history.universe.count(space))
      try check(.scan(space, range, all), state.snapshot, state.content)
      try check(.count(space, range), state.snapshot, state.content)
    }
    try checkSums(state.snapshot, state.content)
    for index in HistoryIndex.allCases {
      try check(
        .index(index, HistoryRange(0, index.limit(history.universe)), all), state.snapshot, state.content)
    }
  }
}
