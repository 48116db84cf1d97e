import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// Several threads that use one store. These tests also run under the thread sanitizer.
@Suite("Concurrent threads")
struct RacesTests {
  @Test("Concurrent threads read snapshots in the order of the commits, and their preconditions hold")
  func slice() async throws {
    let seed = SeededGenerator.forTest("races").seed
    let result = try await RacesCampaign().run(ProofPlan(seed: seed, scale: 0.002), .silent)
    for violation in result.violations { Issue.record("\(violation)") }
    for line in result.report { print(line) }
    #expect(result.counts.modelOperations >= 3_000)
  }

  @Test("Unchecked conditions are detected: lost updates, write skew, changed entries, missing targets")
  func unchecked() async throws {
    try await expect([.lostUpdate, .writeSkew, .changedEntries, .missingTarget], of: UncheckedConditions())
  }

  @Test("Missing index entries are detected, and so are equal labels in the unique index")
  func forgetful() async throws {
    try await expect([.wrongEntries, .sharedLabel], of: MissingEntries())
  }

  @Test("Refusals without a reason are detected")
  func needless() async throws {
    #expect(try await anomalies(of: NeedlessRefusals()).contains(.refusedForNothing))
  }

  @Test("A snapshot that sees later commits is detected")
  func moving() async throws {
    let found = try await anomalies(of: MovingSnapshots())
    #expect(found.contains(.nonRepeatableRead) && found.contains(.futureRead))
  }

  @Test("A snapshot without a commit that was acknowledged earlier is detected")
  func old() async throws {
    #expect(try await anomalies(of: OldSnapshots()).contains(.staleRead))
  }

  /// Checks that this number of stores is enough to find each kind of anomaly.
  private func expect(
    _ expected: Set<RaceFinding.Anomaly>, of subject: any HistorySubject, stores: UInt64 = 60
  ) async throws {
    let random = SeededGenerator.forTest("races of \(type(of: subject))")
    var missing = expected
    for number in 0..<stores where !missing.isEmpty {
      let seed = random.derived(number).seed
      let (transactions, end) = try await RaceRun.run(on: subject, seed: seed, transactions: 250)
      missing.subtract(RaceChecker.check(transactions, end: end).map(\.anomaly))
    }
    #expect(missing.isEmpty)
  }

  private func anomalies(of subject: any HistorySubject) async throws -> Set<RaceFinding.Anomaly> {
    let seed = SeededGenerator.forTest("races of \(type(of: subject))").seed
    let (transactions, end) = try await RaceRun.run(on: subject, seed: seed, transactions: 250)
    return Set(RaceChecker.check(transactions, end: end).map(\.anomaly))
  }
}

/// Histories made by hand, some with errors.
@Suite("The checker of races")
struct RaceCheckerTests {
  private typealias Anomaly = RaceFinding.Anomaly

  /// A transaction with this duration. It begins, has its snapshot one tick later, and ends.
  private func transaction(
    _ ticks: ClosedRange<UInt64>, sees snapshot: UInt64, reads: [Int: UInt64] = [:],
    writes: [Int: UInt64] = [:],
    _ outcome: RaceTransaction.Outcome = .readOnly, guarded: Bool = false
  ) -> RaceTransaction {
    var transaction = RaceTransaction()
    (transaction.began, transaction.started, transaction.ended) = (
      ticks.lowerBound, ticks.lowerBound + 1, ticks.upperBound
    )
    transaction.snapshot = snapshot
    transaction.reads = reads.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }
    transaction.writes = writes.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }
    transaction.outcome = outcome
    transaction.isGuarded = guarded
    return transaction
  }

  private func anomalies(_ transactions: RaceTransaction..., end: [Int: UInt64]? = nil) -> Set<Anomaly> {
    let end = end.map { $0.map { RaceTransaction.Access($0.key, $0.value) } }
    return Set(RaceChecker.check(transactions, end: end).map(\.anomaly))
  }

  private var first: RaceTransaction { transaction(1...4, sees: 0, writes: [1: 11, 2: 12], .committed(1)) }

  @Test("Consecutive transactions, and concurrent ones without conflicts, have no anomaly")
  func fine() {
    #expect(
      anomalies(
        first, transaction(5...20, sees: 1, reads: [1: 11], writes: [1: 21], .committed(2), guarded: true),
        transaction(6...20, sees: 1, reads: [2: 12], writes: [2: 32], .committed(3), guarded: true),
        transaction(7...30, sees: 1, reads: [1: 11, 2: 12]),
        transaction(31...40, sees: 3, reads: [1: 21, 2: 32]),
        end: [1: 21, 2: 32]
      ).isEmpty)
  }

  @Test("A lost update is detected")
  func lostUpdate() {
    #expect(
      anomalies(
        first, transaction(5...20, sees: 1, reads: [1: 11], writes: [1: 21], .committed(2), guarded: true),
        transaction(6...20, sees: 1, reads: [1: 11], writes: [1: 31], .committed(3), guarded: true))
        == [.lostUpdate])
  }

  @Test("Write skew is detected, but only between guarded transactions")
  func writeSkew() {
    func history(guarded: Bool) -> Set<Anomaly> {
      anomalies(
        first,
        transaction(
          5...20, sees: 1, reads: [1: 11, 2: 12], writes: [1: 21], .committed(2), guarded: guarded),
        transaction(6...20, sees: 1, reads: [1: 11, 2: 12], writes: [2: 32], .committed(3), guarded: guarded))
    }
    #expect(history(guarded: true) == [.writeSkew])
    #expect(history(guarded: false).isEmpty)
  }

  @Test("A second read with a different result is detected")
  func nonRepeatable() {
    var reader = transaction(5...30, sees: 1, reads: [1: 11])
    reader.reads.append(.init(1, 21))
    let writer = transaction(8...9, sees: 1, writes: [1: 21], .committed(2))
    #expect(anomalies(first, writer, reader) == [.nonRepeatableRead, .futureRead])
  }

  @Test("A read of a value older than the snapshot is detected")
  func staleRead() {
    let writer = transaction(5...9, sees: 1, writes: [1: 21], .committed(2))
    #expect(anomalies(first, writer, transaction(10...20, sees: 2, reads: [1: 11])) == [.staleRead])
  }

  @Test("A snapshot without a commit that was acknowledged before the request is detected")
  func staleSnapshot() {
    let writer = transaction(5...9, sees: 1, writes: [1: 21], .committed(2))
    #expect(anomalies(first, writer, transaction(10...20, sees: 1, reads: [1: 11])) == [.staleRead])
    #expect(anomalies(first, writer, transaction(9...20, sees: 1, reads: [1: 11])).isEmpty)
  }

  @Test("A transaction that sees only a part of a commit is detected")
  func fractured() {
    let writer = transaction(5...9, sees: 1, writes: [1: 21, 2: 22], .committed(2))
    #expect(
      anomalies(first, writer, transaction(10...20, sees: 2, reads: [1: 21, 2: 12])) == [.fracturedRead])
  }

  @Test("A snapshot that sees a later transaction is detected")
  func future() {
    let writer = transaction(10...12, sees: 1, writes: [1: 21], .committed(2))
    #expect(anomalies(first, writer, transaction(5...20, sees: 2, reads: [1: 21])) == [.futureRead])
  }

  @Test("Reads of refused values, and of values that were never written, are detected")
  func dirty() {
    let refused = transaction(5...9, sees: 1, reads: [2: 12], writes: [1: 21], .refused, guarded: true)
    let reason = transaction(6...7, sees: 1, writes: [2: 52], .committed(2))
    #expect(anomalies(first, refused, reason, transaction(10...20, sees: 2, reads: [1: 21])) == [.dirtyRead])
    #expect(anomalies(first, transaction(10...20, sees: 1, reads: [1: 99])) == [.thinAir])
  }

  @Test("A refusal without a conflicting write during the transaction is detected")
  func refusals() {
    let refused = transaction(5...9, sees: 1, reads: [2: 12], writes: [1: 21], .refused, guarded: true)
    #expect(anomalies(first, refused) == [.refusedForNothing])
    #expect(anomalies(first, refused, transaction(6...7, sees: 1, writes: [2: 52], .committed(2))).isEmpty)
    // A write after the end of the transaction is not a reason.
    let later = transaction(10...12, sees: 1, writes: [2: 52], .committed(2))
    #expect(anomalies(first, refused, later) == [.refusedForNothing])
    #expect(
      anomalies(
        first, transaction(5...6, sees: 1, writes: [3: 53], .committed(2)),
        transaction(7...8, sees: 2, writes: [3: 0], .committed(3)),
        transaction(5...20, sees: 1, reads: [3: 0], writes: [1: 61], .committed(4), guarded: true)
      ).isEmpty)
  }

  @Test("Entries must agree with the snapshot's keys, and stay unchanged until a guarded commit")
  func entries() {
    func history(_ keys: [Int], then tag: UInt64, _ outcome: RaceTransaction.Outcome) -> Set<Anomaly> {
      var second = transaction(5...20, sees: 1, writes: [6: 21], outcome, guarded: true)
      second.entries = [.init(11, keys)]
      return anomalies(first, transaction(6...7, sees: 1, writes: [3: tag], .committed(2)), second)
    }
    #expect(history([1], then: 53, .committed(3)).isEmpty)
    #expect(history([1], then: 53, .refused) == [.refusedForNothing])
    #expect(history([1], then: 256 + 11, .committed(3)) == [.changedEntries])
    #expect(history([1], then: 256 + 11, .refused).isEmpty)
    #expect(history([1, 2], then: 53, .readOnly) == [.wrongEntries])
  }

  @Test("A required key must exist at the commit: its removal is a reason to refuse, but a write is not")
  func needed() {
    func history(_ tag: UInt64, _ outcome: RaceTransaction.Outcome) -> Set<Anomaly> {
      var second = transaction(5...20, sees: 1, writes: [6: 21], outcome)
      second.needed = [2]
      return anomalies(first, transaction(6...7, sees: 1, writes: [2: tag], .committed(2)), second)
    }
    #expect(history(52, .committed(3)).isEmpty)
    #expect(history(52, .refused) == [.refusedForNothing])
    #expect(history(0, .committed(3)) == [.missingTarget])
    #expect(history(0, .refused).isEmpty)
  }

  @Test("Each label of the unique index belongs to one key at a time")
  func labels() {
    let holder = transaction(1...4, sees: 0, writes: [10: 7, 5: 7], .committed(1))
    func second(_ writes: [Int: UInt64], _ outcome: RaceTransaction.Outcome) -> Set<Anomaly> {
      anomalies(holder, transaction(5...9, sees: 1, writes: writes, outcome))
    }
    #expect(second([11: 256 + 7], .committed(2)) == [.sharedLabel])
    #expect(second([11: 256 + 7], .refused).isEmpty)
    #expect(second([10: 512 + 8, 11: 256 + 7], .committed(2)).isEmpty)
    #expect(second([10: 512 + 8, 11: 256 + 7], .refused) == [.refusedForNothing])
    #expect(second([6: 256 + 7], .refused) == [.refusedForNothing])
  }

  @Test("A shared commit number, one not above its snapshot's, and a wrong end state are detected")
  func numbers() {
    let second = transaction(2...9, sees: 0, writes: [3: 23], .committed(1))
    #expect(anomalies(first, second) == [.sharedNumber])
    #expect(anomalies(transaction(1...4, sees: 1, writes: [1: 11], .committed(1))) == [.reversedOrder])
    #expect(anomalies(first, end: [1: 12]) == [.otherEnd])
    #expect(anomalies(first, end: [1: 11, 3: 0]).isEmpty)
  }
}
