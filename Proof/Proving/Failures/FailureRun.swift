import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// One run of a small program that continues after errors if possible. The run checks every answer
/// by the rules for a store whose system calls fail.
///
/// The rules follow the documentation of `Store`:
///   FR1  Every error is a `StoreError` and has one of four reasons. A system call failed, and the
///        code and the cause of the error fit this call (`FailureFit`). Or the store is poisoned
///        after the error. Or the volume is full, and the cause reports this. Or a sync in the
///        background failed (`syncAheadBytes`).
///   FR2  A commit that failed with `.diskFull` or `.conflict` has no effect. If it failed with
///        another error and the store is not poisoned, it has no effect either. If the store is
///        poisoned, the log may have the whole commit.
///   FR3  A poisoned store throws on every write and sync. It can be read.
///   FR4  Without a power cut, the next opening finds every acknowledged commit of any durability.
///        After a power cut, it finds every commit that was acknowledged as durable, or that an
///        opening has found. The first power cut is right after the store's call in which the
///        system first failed. Other power cuts are at the end.
///   FR5  A read returns the written value, or throws. All data is read right after an error, and
///        again after the next commit, because effects of a refused commit in memory may appear
///        only then.
///   FR6  A refusal by the system (space in the log, a file, address space) does not poison the
///        store.
///   FR7  A call that failed once succeeds when it is repeated, unless the store is poisoned or its
///        volume is full. So a temporary shortage affects only the refused call.
///   FR8  A backup, copy or restored store is complete, durable and independent of the source when
///        the call returns. After an error, its path has no store, an older one, or the complete
///        one. A draft with files remains only if its removal failed too. The next call replaces
///        it.
final class FailureRun {
  static let path = "/s.perdure"

  let base: SimulatedFileSystem
  /// The store's file system.
  private let fileSystem: any FileSystem
  let options: StoreOptions
  let history = CrashHistory()
  /// The last commit that must exist after a power cut.
  private(set) var promised: UInt64 = 0
  /// The last commit that must exist after the end of the process.
  private(set) var acknowledged: UInt64 = 0
  private var last: UInt64 = 0
  /// The last commit that may exist. It is `last` + 1 if the store was poisoned during a commit.
  private(set) var possible: UInt64 = 0
  /// Whether an error occurred after the last complete read that followed a commit.
  private var hasErred = false
  private(set) var isPoisoned = false
  /// The sequence number of the state that a poisoned store shows.
  private var shown: UInt64 = 0
  /// Makes reads of a poisoned store fail. Used by tests of this check.
  var refusesPoisonedReads = false

  /// The promises right after the first call that failed.
  private var firstFailure: Moment?

  /// A time at which the power may be cut.
  private struct Moment {
    let operation: Int
    let states: [CrashState]
    let promised: UInt64
  }

  /// The copies that failed and must succeed at the end, when all calls succeed.
  var unmade: [FailureCopy] = []

  /// The settings for the disks that are built after power cuts.
  let disks: Disks

  /// The seed and the number of the disks after power cuts.
  struct Disks {
    var seed: UInt64
    var count = 6
  }

  init(
    _ base: SimulatedFileSystem, _ fileSystem: any FileSystem, _ options: StoreOptions, _ disks: Disks
  ) {
    self.base = base
    self.fileSystem = fileSystem
    self.options = options
    self.disks = disks
  }

  var optionsHere: StoreOptions {
    var options = options
    options.fileSystem = fileSystem
    return options
  }

  /// Begins an operation, and returns the number of failed calls so far. The first call after a
  /// failure also notes the current promises, because no other operation has run since that
  /// failure.
  func begin() -> Int {
    let struck = base.injectedFailureCount
    if struck > 0, firstFailure == nil {
      let states = history.states(upTo: possible)
      firstFailure = Moment(operation: base.operationCount, states: states, promised: promised)
    }
    return struck
  }

  /// Opens the store, and checks its content. Returns nil if opening failed and the error has a
  /// valid reason. If only one call failed, opens the store again.
  func open(readOnly: Bool = false, registers: Bool = true) throws -> Store? {
    var options = optionsHere
    options.isReadOnly = readOnly
    options.registersAsReader = registers
    let struck = begin()
    // Only syncs after this opening can make dropped names durable again: see RELIABILITY.md, "What
    // is not covered".
    base.rewriteForgottenNames()
    let store: Store
    do { store = try Store(at: Self.path, options: options) } catch let error as StoreError {
      // The store may not have been created yet.
      let isStruck = base.injectedFailureCount > struck
      if error.code == .notAStore && acknowledged == 0 && (readOnly || isStruck) { return nil }
      try checkFit(error, "opening", since: struck, isReading: true)
      return mayRepeat ? try self.open(readOnly: readOnly, registers: registers) : nil
    }
    let sequence = store.snapshot().sequence
    guard sequence >= acknowledged else {
      throw Violation("the last commit found is \(sequence), but commit \(acknowledged) was acknowledged")
    }
    guard sequence <= possible else { throw Violation("no program made a commit \(sequence)") }
    if !readOnly {
      (last, acknowledged, promised, possible) = (sequence, sequence, sequence, sequence)
      (isPoisoned, hasErred) = (false, false)
    }
    try check(store)
    return store
  }

  /// Makes a commit with this change or definition; `body` returns its sequence number.
  ///
  /// - Parameter isRefused: Whether a conflict must refuse the commit, unless another error occurs
  ///   first.
  /// - Returns: Whether the commit was made.
  @discardableResult
  func commit(
    _ store: Store, _ change: CrashHistory.Change, _ durability: Durability, isRefused: Bool = false,
    defining definition: CrashDefinition? = nil, _ body: () throws -> UInt64
  ) throws -> Bool {
    let (before, struck) = (store.snapshot().sequence, begin())
    do {
      let sequence = try body()
      if isRefused { throw Violation("commit \(sequence) should have been refused") }
      if sequence > before {
        if isPoisoned { throw Violation("commit \(sequence) was made by a poisoned store") }
        guard sequence == last + 1 else { throw Violation("commit \(sequence) followed commit \(last)") }
        history.note(sequence, change, defining: definition)
        (last, possible) = (sequence, sequence)
      }
      acknowledged = max(acknowledged, last)
      if durability == .powerLoss { promised = max(promised, last) }
      if sequence > before && hasErred {
        hasErred = false
        try check(store, "reading all data after an error and a commit")
      }
      return true
    } catch let error as StoreError {
      if !(isRefused && error.code == .conflict) { try checkFit(error, "committing", since: struck) }
      try noteState(of: store, after: error, (change, definition))
      guard mayRepeat, !isPoisoned, !isRefused else { return false }
      return try commit(store, change, durability, defining: definition, body)
    }
  }

  /// Runs calls that may fail. They make no commit.
  func attempt(_ store: Store, promises: Bool = false, _ body: () throws -> Void) throws {
    let struck = begin()
    do {
      try body()
      if promises { notePromise() }
    } catch let error as StoreError {
      try checkFit(error, "attempting", since: struck)
      try noteState(of: store, after: error)
      if mayRepeat, !isPoisoned { try attempt(store, promises: promises, body) }
    }
  }

  /// Notes that all commits so far were acknowledged as durable.
  func notePromise() { promised = max(promised, last) }

  func compact(_ store: Store) throws { try attempt(store) { try store.compact() } }

  func checkpoint(_ store: Store) throws { try attempt(store, promises: true) { try store.checkpoint() } }

  /// Whether a repeated call must succeed, because only one call failed and the volume has space
  /// (FR7).
  var mayRepeat: Bool {
    guard let failure = base.lastInjectedFailure else { return false }
    return !failure.repeats && !base.isFull
  }

  /// Checks the state of the store after an error (FR2 and FR3).
  ///
  /// - Parameter commit: The commit that the operation makes if it succeeds; nil if it makes none.
  func noteState(
    of store: Store, after error: StoreError, _ commit: (CrashHistory.Change, CrashDefinition?)? = nil
  ) throws {
    let wasPoisoned = isPoisoned
    let poison = whyPoisoned(store)
    isPoisoned = poison != nil
    if let poison, !wasPoisoned,
      let reason = FailureFit(
        failure: base.lastInjectedFailure, hasStruck: true, isVolumeFull: base.isFull
      ).needless(poison)
    {
      throw Violation("the store is poisoned, \(reason), after \(error): \(poison)")
    }
    hasErred = true
    let sequence = store.snapshot().sequence
    guard isPoisoned else {
      guard !wasPoisoned else { throw Violation("the store is no longer poisoned after \(error)") }
      guard error.code != .poisoned else { throw Violation("the store is not poisoned after \(error)") }
      guard sequence == last else { throw Violation("commit \(sequence) is seen after \(error)") }
      return try check(store, "reading all data after an error")
    }
    let mayBeIn = !wasPoisoned && commit != nil && ![.diskFull, .conflict].contains(error.code)
    if mayBeIn, let (change, definition) = commit {
      history.note(last + 1, change, defining: definition)
      possible = last + 1
    }
    let isSane = wasPoisoned ? sequence == shown : sequence == last || mayBeIn && sequence == last + 1
    guard isSane else { throw Violation("a poisoned store shows commit \(sequence) after \(error)") }
    shown = sequence
    guard refusal({ try store.sync() }) != nil else { throw Violation("a poisoned store has synced") }
    try check(store, "reading a poisoned store")
  }

  /// The reason why the store is poisoned; nil if it is not. To find it, makes an empty commit.
  /// This calls no system function, and a poisoned store refuses it with the reason.
  private func whyPoisoned(_ store: Store) -> StoreError? {
    refusal { try store.write(durability: .relaxed) { _ in } }
  }

  private func refusal(_ body: () throws -> Void) -> StoreError? {
    do { try body() } catch let error as StoreError where error.code == .poisoned {
      return error
    } catch { return nil }
    return nil
  }

  /// Throws if the error does not fit the failures so far (FR1).
  ///
  /// - Parameters:
  ///   - struck: The number of calls that had failed before this operation.
  ///   - isReading: Whether the operation must also succeed on a poisoned store.
  func checkFit(
    _ error: StoreError, _ action: String, since struck: Int, isReading: Bool = false
  ) throws {
    // A background sync may fail at any time. The next operation that depends on it gets the error.
    let isAhead = options.syncAheadBytes < StoreOptions().syncAheadBytes
    let isLate = isAhead && error.cause?.operation.isSync == true
    let fit = FailureFit(
      failure: base.lastInjectedFailure, hasStruck: base.injectedFailureCount > struck || isLate,
      isVolumeFull: base.isFull, isReading: isReading)
    if let reason = fit.misfit(of: error) { throw Violation("\(action), \(reason): \(error)") }
  }

  /// Closes the store. It must be closed afterwards, even if the system reports an error.
  func close(_ store: Store) throws {
    let struck = begin()
    do {
      try store.close()
      if isPoisoned { throw Violation("closing a poisoned store reported no error") }
      promised = max(promised, last)
    } catch let error as StoreError { try checkFit(error, "closing", since: struck) }
    try store.close()
  }

  /// Reads all data (FR5).
  func check(_ store: Store, _ action: String = "reading") throws {
    try reading(action) {
      let sequence = store.snapshot().sequence
      try history.states(upTo: sequence)[Int(sequence)].check(store, "at commit \(sequence), \(action),")
    }
  }

  /// Checks that a snapshot shows one value unchanged.
  func check(_ snapshot: Snapshot, _ id: UInt64, _ keyspace: Keyspace) throws {
    try reading("reading a snapshot") {
      let content = history.contents(upTo: snapshot.sequence)[Int(snapshot.sequence)]
      let key = CrashKey(keyspace: keyspace.name, key: .id(id))
      guard try snapshot.value(id: id, in: keyspace) == content[key] else {
        throw Violation("value \(id) at commit \(snapshot.sequence) differs from the written value")
      }
    }
  }

  func verify(_ store: Store) throws {
    let struck = begin()
    try attempt(store) {
      let report = try store.verify()
      guard report.isClean || base.injectedFailureCount > struck else {
        throw Violation("verify: \(report.findings)")
      }
    }
  }

  /// Checks the content of a reader. After a refresh it must have all commits that existed when the
  /// refresh began, and it must have only complete commits.
  func follow(_ reader: Store) throws {
    let (newest, seen) = (acknowledged, reader.snapshot().sequence)
    var isThere = false
    try reading("refreshing") {
      try reader.refresh()
      isThere = true
    }
    guard reader.snapshot().sequence >= max(seen, isThere ? newest : 0) else {
      throw Violation("a reader shows an older commit than it must")
    }
    try check(reader)
  }

  /// Runs calls that change nothing. They may fail only if a system call fails during them.
  func reading(_ action: String, _ body: () throws -> Void) throws {
    let struck = begin()
    do {
      if refusesPoisonedReads && isPoisoned { throw StoreError(.poisoned, "The canary refuses reads") }
      try body()
    } catch let error as StoreError {
      try checkFit(error, action, since: struck, isReading: true)
      if mayRepeat { try reading(action, body) }
    }
  }
}

// Checks after the last failure, when all calls succeed.
extension FailureRun {
  /// Opens the store that the run left, with and without a power cut. Then makes one more commit,
  /// and cuts the power again.
  func finish() throws {
    _ = begin()
    let states = history.states(upTo: possible)
    try check(base.currentImage.fileSystem(), states, acknowledged, "without a power cut")
    let end = Moment(operation: base.operationCount, states: states, promised: promised)
    try checkCrashes(end, "of a power cut in the end", imagesMax: disks.count)
    if let moment = firstFailure, moment.operation < end.operation {
      try checkCrashes(moment, "of a power cut after the failure", imagesMax: disks.count)
    }
    guard let store = try open() else { throw Violation("the store does not open") }
    try history.checkComplete(upTo: last)
    // A full volume remains full.
    guard !base.isFull else { return }
    let (key, value) = (CrashKey(keyspace: "afterwards", key: .id(1)), [9, 9, 9, 9] as [UInt8])
    try commit(store, [], .relaxed, defining: .keyspace("afterwards", .dense)) {
      _ = try store.keyspace("afterwards", .dense)
      return store.snapshot().sequence
    }
    let rows = try store.keyspace("afterwards", .dense)
    let isMade = try commit(store, [(key, value)], .powerLoss) {
      try store.write(durability: .powerLoss) { try $0.put(value, id: 1, in: rows) }.sequence
    }
    guard isMade else { throw Violation("the first commit after the failure was not made") }
    try check(store)
    let when = "of a power cut after the first commit that followed"
    let after = Moment(
      operation: base.operationCount, states: history.states(upTo: last), promised: promised)
    try checkCrashes(after, when, imagesMax: 2)
    if unmade.isEmpty { return }
    try close(store)
    try finishCopies()
  }

  private func checkCrashes(_ moment: Moment, _ when: String, imagesMax: Int) throws {
    var explorer = CrashExplorer(seed: disks.seed)
    explorer.imagesPerOperationMax = imagesMax
    for image in explorer.images(of: base.journal, after: moment.operation) {
      try check(image.fileSystem(), moment.states, moment.promised, when)
    }
  }

  private func check(
    _ fileSystem: any FileSystem, _ states: [CrashState], _ leastCommit: UInt64, _ when: String
  ) throws {
    var options = options
    options.fileSystem = fileSystem
    do {
      let store = try Store(at: Self.path, options: options)
      try CrashOracle(states: states).check(store, promised: leastCommit)
    } catch {
      throw Violation("\(when): \(error)")
    }
  }
}

extension SimulatedFileSystem {
  /// Whether the volume has so little space that a store may fail. No program fills its volume
  /// unintentionally.
  var isFull: Bool { freeBytes < 64 << 10 }
}
