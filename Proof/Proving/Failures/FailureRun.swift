import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// One run of a small program that goes on after errors, as far as it may, and holds every answer against the
/// rules for a store that was let down by the system.
///
/// The rules, which are those that the documentation of `Store` gives:
///   F1  Every error is a `StoreError`, of a kind that fits the call and the failure.
///   F2  A commit that failed with `.diskFull` or `.conflict`, or with another error after which the store
///       goes on, has left nothing. Otherwise the store is poisoned, and the commit may be in the log, as a whole.
///   F3  A poisoned store says so to everyone who wants to write or to sync, and can be read.
///   F4  Whoever opens the store without a power cut in between finds every commit that was acknowledged,
///       at whatever level; after a power cut every one that was acknowledged as durable, or found by an
///       opening.
///   F5  What is read is what was written, or an error.
final class FailureRun {
  static let path = "/s.perdure"

  let base: SimulatedFileSystem
  /// What the store sees.
  private let fileSystem: any FileSystem
  let options: StoreOptions
  private let history = CrashHistory()
  /// The last commit that a power cut must leave, and the last that the end of the process must.
  private var promised: UInt64 = 0
  private var acknowledged: UInt64 = 0
  private var last: UInt64 = 0
  private(set) var isPoisoned = false
  /// What a poisoned store shows.
  private var shown: UInt64 = 0

  init(_ base: SimulatedFileSystem, _ fileSystem: any FileSystem, _ options: StoreOptions) {
    self.base = base
    self.fileSystem = fileSystem
    self.options = options
  }

  var optionsHere: StoreOptions {
    var options = options
    options.fileSystem = fileSystem
    return options
  }

  /// Opens the store, and looks at what is in it. Nil: it could not be opened, for a reason that it said.
  func open(readOnly: Bool = false, registers: Bool = true) throws -> Store? {
    var options = optionsHere
    options.isReadOnly = readOnly
    options.registersAsReader = registers
    let struck = base.injectedFailureCount
    let store: Store
    do { store = try Store(at: Self.path, options: options) } catch let error as StoreError {
      // There may be none yet.
      let isStruck = base.injectedFailureCount > struck
      if error.code == .notAStore && acknowledged == 0 && (readOnly || isStruck) { return nil }
      guard isStruck else { throw Violation("without a failure: \(error)") }
      let isFit = isFit(error) || error.code == .locked && error.cause?.operation == "lock"
      guard isFit else { throw Violation("opening: \(error)") }
      return nil
    }
    let sequence = store.snapshot().sequence
    guard sequence >= acknowledged else {
      throw Violation("commit \(sequence) is the last that was found, of \(acknowledged)")
    }
    if !readOnly {
      (last, acknowledged, promised) = (sequence, sequence, sequence)
      isPoisoned = false
    }
    try check(store)
    return store
  }

  /// A commit that changes this; `body` gives its number.
  ///
  /// - Parameter isRefused: Whether it must meet a conflict, unless something else comes first.
  /// - Returns: Whether it was made.
  @discardableResult
  func commit(
    _ store: Store, _ change: CrashHistory.Change, _ durability: Durability, isRefused: Bool = false,
    _ body: () throws -> UInt64
  ) throws -> Bool {
    let before = store.snapshot().sequence
    do {
      let sequence = try body()
      if isRefused { throw Violation("commit \(sequence) should have been refused") }
      if sequence > before {
        if isPoisoned { throw Violation("commit \(sequence) was made by a poisoned store") }
        guard sequence == last + 1 else { throw Violation("commit \(sequence) came after \(last)") }
        history.note(sequence, change)
        last = sequence
      }
      acknowledged = max(acknowledged, last)
      if durability == .powerLoss { promised = max(promised, last) }
      return true
    } catch let error as StoreError {
      if !(isRefused && error.code == .conflict) { try checkFit(error, "committing") }
      try noteState(of: store, after: error, change)
      return false
    }
  }

  /// Calls that the system may fail, and that leave no commit behind.
  func attempt(_ store: Store, promises: Bool = false, _ body: () throws -> Void) throws {
    do {
      try body()
      if promises { promised = max(promised, last) }
    } catch let error as StoreError {
      try checkFit(error, "attempting")
      try noteState(of: store, after: error, nil)
    }
  }

  /// F2 and F3.
  private func noteState(of store: Store, after error: StoreError, _ change: CrashHistory.Change?) throws {
    let wasPoisoned = isPoisoned
    isPoisoned = looksPoisoned(store)
    let sequence = store.snapshot().sequence
    guard isPoisoned else {
      guard !wasPoisoned else { throw Violation("the store is poisoned no more, after \(error)") }
      guard error.code != .poisoned else { throw Violation("it goes on after \(error)") }
      guard sequence == last else { throw Violation("commit \(sequence) is seen after \(error)") }
      return
    }
    let mayBeIn = !wasPoisoned && change != nil && ![.diskFull, .conflict].contains(error.code)
    if mayBeIn, let change { history.note(last + 1, change) }
    let isSane = wasPoisoned ? sequence == shown : sequence == last || mayBeIn && sequence == last + 1
    guard isSane else { throw Violation("a poisoned store shows commit \(sequence) after \(error)") }
    shown = sequence
    _ = try store.keyspaces
    guard isPoison({ try store.sync() }) else { throw Violation("a poisoned store has synced") }
  }

  /// A commit of nothing asks the system for nothing, and is refused by a poisoned store.
  private func looksPoisoned(_ store: Store) -> Bool {
    isPoison { try store.write(durability: .relaxed) { _ in } }
  }

  private func isPoison(_ body: () throws -> Void) -> Bool {
    do { try body() } catch let error as StoreError { return error.code == .poisoned } catch { return false }
    return false
  }

  /// F1. A file that seems to end early seems damaged.
  private func isFit(_ error: StoreError) -> Bool {
    if [.io, .poisoned, .diskFull].contains(error.code) { return true }
    guard error.code == .corruption, case .partialRead? = base.lastInjectedFailure?.effect else {
      return false
    }
    return true
  }

  private func checkFit(_ error: StoreError, _ action: String) throws {
    guard isFit(error) else { throw Violation("\(action): \(error)") }
    guard base.injectedFailureCount > 0 || base.isFull else {
      throw Violation("\(action), without a failure: \(error)")
    }
  }

  /// Whatever the system says, it is closed then.
  func close(_ store: Store) throws {
    do {
      try store.close()
      if isPoisoned { throw Violation("a poisoned store was closed as if nothing had been") }
      promised = max(promised, last)
    } catch let error as StoreError { try checkFit(error, "closing") }
    try store.close()
  }

  /// Reads everything. F5
  func check(_ store: Store) throws {
    try reading("reading") {
      let sequence = store.snapshot().sequence
      let contents = history.contents(upTo: max(last + 1, sequence))
      guard try CrashOracle.content(of: store) == contents[Int(sequence)] else {
        throw Violation("the content at commit \(sequence) is not what was written")
      }
    }
  }

  /// A snapshot shows one value as it was.
  func check(_ snapshot: Snapshot, _ id: UInt64, _ keyspace: Keyspace) throws {
    try reading("reading a snapshot") {
      let content = history.contents(upTo: max(last + 1, snapshot.sequence))[Int(snapshot.sequence)]
      let key = CrashKey(keyspace: keyspace.name, key: .id(id))
      guard try snapshot.value(id: id, in: keyspace) == content[key] else {
        throw Violation("value \(id) at commit \(snapshot.sequence) is not what was written")
      }
    }
  }

  func verify(_ store: Store) throws {
    let struck = base.injectedFailureCount
    try attempt(store) {
      let report = try store.verify()
      guard report.isClean || base.injectedFailureCount > struck else {
        throw Violation("verify: \(report.findings)")
      }
    }
  }

  /// What a reader shows: no fewer commits than were there when it looked, and only whole ones.
  func follow(_ reader: Store) throws {
    let (newest, seen) = (acknowledged, reader.snapshot().sequence)
    var isThere = false
    try reading("refreshing") {
      try reader.refresh()
      isThere = true
    }
    guard reader.snapshot().sequence >= max(seen, isThere ? newest : 0) else {
      throw Violation("a reader was left behind, or went back")
    }
    try check(reader)
  }

  /// Calls that change nothing, and fail when the system does just then.
  func reading(_ action: String, _ body: () throws -> Void) throws {
    let struck = base.injectedFailureCount
    do { try body() } catch let error as StoreError {
      guard isFit(error), base.injectedFailureCount > struck else { throw Violation("\(action): \(error)") }
    }
  }
}

// When nothing fails any more.
extension FailureRun {
  /// Opens what is left, with and without a power cut; then goes on, and cuts the power again.
  func finish() throws {
    let contents = history.contents(upTo: last + 1)
    try check(base.currentImage.fileSystem(), contents, acknowledged, "without a power cut")
    try checkCrashes(contents, "of a power cut after the failure", imagesMax: 6)
    guard let store = try open() else { throw Violation("it does not open") }
    // A full volume stays so.
    guard !base.isFull else { return }
    let (key, value) = (CrashKey(keyspace: "afterwards", key: .id(1)), [9, 9, 9, 9] as [UInt8])
    try commit(store, [], .relaxed) {
      _ = try store.keyspace("afterwards", .dense)
      return store.snapshot().sequence
    }
    let rows = try store.keyspace("afterwards", .dense)
    let isMade = try commit(store, [(key, value)], .powerLoss) {
      try store.write(durability: .powerLoss) { try $0.put(value, id: 1, in: rows) }.sequence
    }
    guard isMade else { throw Violation("it does not go on") }
    try check(store)
    let when = "of a power cut after the first commit that followed"
    try checkCrashes(history.contents(upTo: last), when, imagesMax: 2)
  }

  private func checkCrashes(
    _ contents: [CrashHistory.Content], _ when: String, imagesMax: Int
  ) throws {
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = imagesMax
    let journal = base.journal
    for image in explorer.images(of: journal, after: journal.operationCount) {
      try check(image.fileSystem(), contents, promised, when)
    }
  }

  private func check(
    _ fileSystem: any FileSystem, _ contents: [CrashHistory.Content], _ leastCommit: UInt64, _ when: String
  ) throws {
    var options = options
    options.fileSystem = fileSystem
    do {
      let store = try Store(at: Self.path, options: options)
      try CrashOracle(contents: contents).check(store, promised: leastCommit)
    } catch {
      throw Violation("\(when): \(error)")
    }
  }
}

extension SimulatedFileSystem {
  /// Whether so little is left that a store may find no room: none of the programs fills a volume by
  /// accident.
  var isFull: Bool { ((try? availableBytes(at: "/")) ?? 0) < 64 << 10 }
}
