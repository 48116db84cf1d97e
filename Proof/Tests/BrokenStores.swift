import PerdureFileIO
import PerdureLog
import PerdureProving

// Deliberately wrong stores.

struct ForgottenTombstones: HistorySubject {
  func filter(_ changes: [HistoryChange]) -> [HistoryChange] {
    changes.contains { $0.value != nil } ? changes.filter { $0.value != nil } : changes
  }
}

struct DroppedTombstones: HistorySubject {
  func adapt(_ options: inout StoreOptions) { options.compactionKeepsTombstones = false }
}

struct UncheckedConditions: HistorySubject {
  func filter(_ preconditions: [Precondition]) -> [Precondition] { [] }
}

/// Refuses every other commit with preconditions, even if the preconditions are true.
final class NeedlessRefusals: HistorySubject {
  private let count = Guarded(0)

  func filter(_ preconditions: [Precondition]) -> [Precondition] {
    let number = count.withLock { count in
      count += 1
      return count
    }
    guard number % 2 == 0, case .unchanged(let keyspace, let key, _)? = preconditions.first else {
      return preconditions
    }
    return preconditions + [.unchanged(keyspace, key, RecordVersion(rawValue: .max))]
  }
}

/// Every answer agrees with the model, but its form in the digest depends on the options. Only a
/// comparison of two histories shows this.
struct UnsteadyAnswers: HistorySubject {
  func remembered(_ answer: UInt64, _ options: HistoryOptions) -> UInt64 {
    let sum = options.segmentBytes + options.blobThreshold + options.groupCacheBytes + options.compression
    return answer &+ UInt64(sum)
  }
}

struct MovingSnapshots: HistorySubject {
  func held(_ snapshot: Snapshot, of store: Store) -> Snapshot { store.snapshot() }
}

struct Checksums: HistorySubject {
  let areChecked: Bool
  func adapt(_ options: inout StoreOptions) { options.verifiesChecksumsOnRead = areChecked }
}

struct MissingEntries: HistorySubject {
  let groupExtractor = ForgetfulExtractor.name

  func adapt(_ options: inout StoreOptions) { options.indexExtractors[groupExtractor] = ForgetfulExtractor() }
}

/// Removes a row after each compaction, in a commit that it hides.
final class LossyCompactions: HistorySubject {
  private let hidden = Guarded(0)

  func sequence(_ number: UInt64) -> UInt64 { number - UInt64(hidden.withLock { $0 }) }

  func compact(_ store: Store) throws {
    try store.compact()
    let rows = try store.keyspace("rows", .dense)
    var first: UInt64?
    try store.snapshot().forEach(in: rows) { (id: UInt64, _: RawSpan) in
      first = id
      return false
    }
    guard let first else { return }
    try store.write { try $0.remove(id: first, in: rows) }
    hidden.withLock { $0 += 1 }
  }
}

/// Returns the state that was the newest at the previous request.
final class OldSnapshots: HistorySubject {
  private let last = Guarded<Snapshot?>(nil)

  func snapshot(of store: Store) -> Snapshot {
    let newest = store.snapshot()
    return last.withLock { last in
      defer { last = newest }
      return last ?? newest
    }
  }
}
