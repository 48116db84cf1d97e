// Compares the recorded reads and writes of concurrent transactions with a store's promises:
//
// - Snapshots. All reads of a transaction are from one state: the state after commit number
//   `snapshot`.
// - Order. A commit that was acknowledged before a transaction began is in its snapshot. A commit
//   that began after the snapshot was taken is not in it. A commit has a unique number, which is
//   greater than that of its snapshot.
// - Preconditions. When a guarded transaction was committed, the keys and index entries that it had
//   read were unchanged. So guarded transactions are serializable, in the order of their numbers.
//   The keys that a commit needed existed. No two keys of the unique index have the same label.
// - Refusals. A refusal has one of three reasons. Each is an effect of a transaction that began
//   before the refusal was known. First, a key that the refused transaction had read or needed was
//   written. Second, an index entry that it had read was added or removed. Third, another key had
//   the label that it wanted.
//
// Every write has a unique tag, so a read value identifies its write. The check depends only on the
// record. It takes O(n log n) for n reads and writes.

/// A violation of a store's promise.
package struct RaceFinding: Sendable, CustomStringConvertible {
  package enum Anomaly: String, Hashable, Sendable {
    case dirtyRead, thinAir, futureRead, staleRead, fracturedRead, nonRepeatableRead
    case lostUpdate, writeSkew, changedEntries, missingTarget, sharedLabel
    case wrongEntries, refusedForNothing, sharedNumber, reversedOrder, otherEnd
  }

  package var anomaly: Anomaly
  package var what: String

  package var description: String { "\(anomaly.rawValue): \(what)" }
}

/// Checks recorded transactions for anomalies.
package struct RaceChecker {
  private struct Version {
    var commit: UInt64
    var tag: UInt64
    var transaction: Int
    /// The earliest tick at which a writer of the key began, for this commit or a later one.
    var earliest: UInt64 = 0
  }

  private let transactions: [RaceTransaction]
  /// The committed values of each key, in the order of the commits.
  private var versions: [Int: [Version]] = [:]
  /// The transaction that wrote each tag.
  private var writers: [UInt64: Int] = [:]
  private var findings: [RaceFinding] = []

  private init(_ transactions: [RaceTransaction]) { self.transactions = transactions }

  /// - Parameter end: The tag of each key at the end; nil if the keys were not read.
  package static func check(_ transactions: [RaceTransaction], end: [RaceTransaction.Access]? = nil)
    -> [RaceFinding]
  {
    var checker = RaceChecker(transactions)
    checker.collect()
    for number in transactions.indices {
      checker.checkReads(number)
      checker.checkEntries(number)
      checker.checkConditions(number)
    }
    checker.checkOrder()
    for access in end ?? [] where checker.version(access.key, upTo: .max)?.tag ?? 0 != access.tag {
      checker.add(
        .otherEnd, "key \(access.key) has \(access.tag) at the end, not the last committed value")
    }
    return checker.findings
  }

  private mutating func add(_ anomaly: RaceFinding.Anomaly, _ what: String) {
    findings.append(RaceFinding(anomaly: anomaly, what: what))
  }

  private mutating func collect() {
    var numbers: [UInt64: Int] = [:]
    for (number, transaction) in transactions.enumerated() {
      for write in transaction.writes where write.tag != 0 { writers[write.tag] = number }
      guard let commit = transaction.commit else { continue }
      if let other = numbers.updateValue(number, forKey: commit) {
        add(.sharedNumber, "transactions \(other) and \(number) are both commit \(commit)")
      }
      for write in transaction.writes {
        versions[write.key, default: []].append(Version(commit: commit, tag: write.tag, transaction: number))
      }
    }
    for key in versions.keys { Self.order(&versions[key, default: []], transactions) }
  }

  private static func order(_ versions: inout [Version], _ transactions: [RaceTransaction]) {
    versions.sort { $0.commit < $1.commit }
    var earliest = UInt64.max
    for place in versions.indices.reversed() {
      earliest = min(earliest, transactions[versions[place].transaction].began)
      versions[place].earliest = earliest
    }
  }

  /// The value of a key after a commit; nil if no commit up to this one wrote the key.
  private func version(_ key: Int, upTo commit: UInt64) -> Version? {
    let count = count(key, upTo: commit)
    return count == 0 ? nil : versions[key]?[count - 1]
  }

  /// The first value that a key got in a commit later than this one; nil if there is none.
  private func version(_ key: Int, after commit: UInt64) -> Version? {
    let count = count(key, upTo: commit)
    return versions[key].flatMap { count < $0.count ? $0[count] : nil }
  }

  /// The number of commits up to this one that wrote the key.
  private func count(_ key: Int, upTo commit: UInt64) -> Int {
    guard let all = versions[key] else { return 0 }
    var (low, high) = (0, all.count)
    while low < high {
      let middle = (low + high) / 2
      if all[middle].commit <= commit { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: - Snapshots

  private mutating func checkReads(_ number: Int) {
    let transaction = transactions[number]
    var seen: [Int: UInt64] = [:]
    for read in transaction.reads {
      if let before = seen.updateValue(read.tag, forKey: read.key), before != read.tag {
        add(.nonRepeatableRead, "\(number) read \(before) and then \(read.tag) of key \(read.key)")
      }
    }
    for read in transaction.reads {
      let expected = version(read.key, upTo: transaction.snapshot)
      guard read.tag != expected?.tag ?? 0 else { continue }
      let what = "\(number), which sees commit \(transaction.snapshot), read \(read.tag) of key \(read.key)"
      add(anomaly(of: read, in: transaction, expected), what)
    }
  }

  /// The kind of anomaly that a wrong read shows.
  private func anomaly(
    of read: RaceTransaction.Access, in transaction: RaceTransaction, _ expected: Version?
  ) -> RaceFinding.Anomaly {
    if read.tag != 0 {
      guard let writer = writers[read.tag] else { return .thinAir }
      guard let commit = transactions[writer].commit else { return .dirtyRead }
      if commit > transaction.snapshot { return .futureRead }
    }
    guard let expected else { return .futureRead }
    // The read does not show the write of `expected`, but another read shows a write of the same
    // commit.
    let others = Set(transactions[expected.transaction].writes)
    return transaction.reads.contains { $0.key != read.key && others.contains($0) }
      ? .fracturedRead : .staleRead
  }

  /// Checks that the index entries that a transaction read agree with the keys.
  private mutating func checkEntries(_ number: Int) {
    let transaction = transactions[number]
    for entry in transaction.entries where entry.keys != keys(with: entry.label, upTo: transaction.snapshot) {
      add(
        .wrongEntries,
        "\(number), which sees commit \(transaction.snapshot), found label \(entry.label) at \(entry.keys), not at "
          + "\(keys(with: entry.label, upTo: transaction.snapshot))")
    }
  }

  /// The indexed keys with a label after a commit.
  private func keys(with label: UInt8, upTo commit: UInt64) -> [Int] {
    RaceKeys.rows.filter { RaceKeys.label(of: version($0, upTo: commit)?.tag ?? 0) == label }
  }

  // MARK: - Conditions

  private mutating func checkConditions(_ number: Int) {
    let transaction = transactions[number]
    guard transaction.outcome != .readOnly else { return }
    guard let commit = transaction.commit else {
      if !hasReason(transaction) {
        add(.refusedForNothing, "\(number) was refused, but no commit had written a key that it depends on")
      }
      return
    }
    if transaction.isGuarded {
      checkUnwritten(number, commit)
      checkUnchangedEntries(number, commit)
    }
    for key in transaction.needed where version(key, upTo: commit - 1)?.tag ?? 0 == 0 {
      add(.missingTarget, "\(number) needed key \(key), which was removed before it was commit \(commit)")
    }
    for write in transaction.writes where RaceKeys.badges.contains(write.key) {
      guard let label = RaceKeys.label(of: write.tag) else { continue }
      for key in RaceKeys.badges
      where key != write.key && RaceKeys.label(of: version(key, upTo: commit)?.tag ?? 0) == label {
        add(
          .sharedLabel,
          "\(number) gave key \(write.key) label \(label) in commit \(commit), which key \(key) has")
      }
    }
  }

  private mutating func checkUnwritten(_ number: Int, _ commit: UInt64) {
    let transaction = transactions[number]
    let written = Set(transaction.writes.map(\.key))
    for read in transaction.reads {
      // A key that was absent, then added, and then removed is unchanged.
      guard let last = version(read.key, upTo: commit - 1), last.commit > transaction.snapshot,
        last.tag != read.tag
      else { continue }
      add(
        written.contains(read.key) ? .lostUpdate : .writeSkew,
        "\(number) read key \(read.key) as of commit \(transaction.snapshot) and was commit \(commit), after commit "
          + "\(last.commit) had written it")
    }
  }

  private mutating func checkUnchangedEntries(_ number: Int, _ commit: UInt64) {
    for entry in transactions[number].entries where entry.keys != keys(with: entry.label, upTo: commit - 1) {
      add(
        .changedEntries,
        "\(number) found label \(entry.label) at \(entry.keys), but it was at \(keys(with: entry.label, upTo: commit - 1)) "
          + "before it was commit \(commit)")
    }
  }

  // MARK: - Refusals

  private func hasReason(_ transaction: RaceTransaction) -> Bool {
    if transaction.isGuarded {
      let isWritten = transaction.reads.contains { read in
        version(read.key, after: transaction.snapshot).map { $0.earliest < transaction.ended } ?? false
      }
      if isWritten || transaction.entries.contains(where: { hasChanged($0.label, transaction) }) {
        return true
      }
    }
    return transaction.needed.contains { key in
      versions(key, beside: transaction).contains { $0.tag == 0 }
    } || transaction.writes.contains { isTaken($0, transaction) }
  }

  /// The values that a key got after the transaction's snapshot, from transactions that began
  /// before its end.
  private func versions(_ key: Int, beside transaction: RaceTransaction) -> [Version] {
    guard let all = versions[key] else { return [] }
    return all[count(key, upTo: transaction.snapshot)...].filter {
      transactions[$0.transaction].began < transaction.ended
    }
  }

  /// Whether a key gained or lost this label after the snapshot.
  private func hasChanged(_ label: UInt8, _ transaction: RaceTransaction) -> Bool {
    RaceKeys.rows.contains { key in
      let wasThere = RaceKeys.label(of: version(key, upTo: transaction.snapshot)?.tag ?? 0) == label
      return versions(key, beside: transaction).contains { (RaceKeys.label(of: $0.tag) == label) != wasThere }
    }
  }

  /// Whether another key has the label of this write. It may be a key that the transaction also
  /// writes with this label, or one that had it in the snapshot or later.
  private func isTaken(_ write: RaceTransaction.Access, _ transaction: RaceTransaction) -> Bool {
    guard RaceKeys.badges.contains(write.key), let label = RaceKeys.label(of: write.tag) else { return false }
    return RaceKeys.badges.contains { key in
      if key == write.key { return false }
      if let other = transaction.writes.first(where: { $0.key == key }) {
        return RaceKeys.label(of: other.tag) == label
      }
      return RaceKeys.label(of: version(key, upTo: transaction.snapshot)?.tag ?? 0) == label
        || versions(key, beside: transaction).contains { RaceKeys.label(of: $0.tag) == label }
    }
  }

  // MARK: - Order

  private mutating func checkOrder() {
    let commits = transactions.indices.filter { transactions[$0].commit != nil }
    for number in commits {
      let transaction = transactions[number]
      guard let commit = transaction.commit, commit <= transaction.snapshot else { continue }
      add(.reversedOrder, "\(number) is commit \(commit), but saw commit \(transaction.snapshot)")
    }
    checkAcknowledged(commits)
    checkFuture(commits)
  }

  /// Checks that each snapshot contains the commits that were acknowledged before its transaction
  /// began.
  private mutating func checkAcknowledged(_ commits: [Int]) {
    let byEnd = commits.sorted { transactions[$0].ended < transactions[$1].ended }
    var next = 0
    var newest: (commit: UInt64, number: Int) = (0, -1)
    for number in transactions.indices.sorted(by: { transactions[$0].began < transactions[$1].began }) {
      while next < byEnd.count, transactions[byEnd[next]].ended < transactions[number].began {
        if let commit = transactions[byEnd[next]].commit, commit > newest.commit {
          newest = (commit, byEnd[next])
        }
        next += 1
      }
      guard newest.commit > transactions[number].snapshot else { continue }
      add(
        .staleRead,
        "\(number) sees commit \(transactions[number].snapshot), but \(newest.number) was acknowledged as commit "
          + "\(newest.commit) before it began")
    }
  }

  /// Checks that no snapshot contains a commit that began after the snapshot was taken.
  private mutating func checkFuture(_ commits: [Int]) {
    let byBegin = commits.sorted { transactions[$0].began > transactions[$1].began }
    var next = 0
    var oldest: (commit: UInt64, number: Int) = (.max, -1)
    for number in transactions.indices.sorted(by: { transactions[$0].started > transactions[$1].started }) {
      while next < byBegin.count, transactions[byBegin[next]].began > transactions[number].started {
        if let commit = transactions[byBegin[next]].commit, commit < oldest.commit {
          oldest = (commit, byBegin[next])
        }
        next += 1
      }
      guard oldest.commit <= transactions[number].snapshot else { continue }
      add(
        .futureRead,
        "\(number) sees commit \(transactions[number].snapshot), but \(oldest.number), which began later, is commit "
          + "\(oldest.commit)")
    }
  }
}
