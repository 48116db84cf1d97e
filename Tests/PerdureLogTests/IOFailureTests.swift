import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A small program that goes on after errors, as far as it may, and holds every answer against the
/// rules for a store that was let down by the system.
private final class FailureRun {
  let fileSystem = SimulatedFileSystem()
  private let history = CrashHistory()
  private(set) var promised: UInt64 = 0
  private var last: UInt64 = 0
  private var isPoisoned = false
  private let path = "/s.perdure"
  private let withCheckpoints: Bool

  init(withCheckpoints: Bool) { self.withCheckpoints = withCheckpoints }

  func open() throws -> Store {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    if withCheckpoints { options.checkpoints.closeTailBytes = 0 }
    return try Store(at: path, options: options)
  }

  /// The program; every error that it meets is one of ours.
  func run() throws {
    for part in 0..<2 as Range<UInt64> {
      isPoisoned = false
      try tolerating {
        let store = try open()
        defer { try? store.close() }
        try work(on: store, part)
        try tolerating { try store.close() }
        try store.close()
      }
    }
  }

  private func work(on store: Store, _ part: UInt64) throws {
    last = store.snapshot().sequence
    try catalogCommit(store) { _ = try store.keyspace("rows", .dense) }
    guard let rows = try? store.keyspace("rows", .dense) else { return }
    try put([UInt8](repeating: 1, count: 100), 1 + part * 10, rows, store, .relaxed)
    try put([UInt8](repeating: 2, count: 2500), 2 + part * 10, rows, store, .powerLoss)
    try checkpoint(store)
    try catalogCommit(store) { try define(rows, store) }
    try put([UInt8](repeating: 3, count: 900), 3 + part * 10, rows, store, .ordered)
    try checkpoint(store)
    try put([UInt8](repeating: 4, count: 900), 4 + part * 10, rows, store, .powerLoss)
    try checkpoint(store)
    try put([UInt8](repeating: 5, count: 4000), 2 + part * 10, rows, store, .powerLoss)
    try put(nil, 4 + part * 10, rows, store, .processCrash)
  }

  /// A checkpoint that fails harms nobody, unless it was the log or the superblock that failed.
  private func checkpoint(_ store: Store) throws {
    guard withCheckpoints else { return }
    do { try store.checkpoint() } catch let error as StoreError {
      guard [.io, .poisoned, .diskFull].contains(error.code) else { throw Violation("\(error)") }
      if error.cause?.path.hasSuffix(".index") == true, !isPoisoned {
        try store.sync()
      } else if error.code == .poisoned {
        isPoisoned = true
      }
    }
  }

  /// A commit that changes nothing but the catalog.
  private func catalogCommit(_ store: Store, _ body: () throws -> Void) throws {
    do {
      try body()
      last = store.snapshot().sequence
    } catch let error as StoreError {
      try note(error, [], store)
    }
  }

  private func define(_ rows: Keyspace, _ store: Store) throws {
    _ = try store.defineIndex(.slices("first bytes", rows, .value(offset: 0, length: 4)))
  }

  private func put(
    _ value: [UInt8]?, _ id: UInt64, _ rows: Keyspace, _ store: Store, _ durability: Durability
  ) throws {
    let change: CrashHistory.Change = [(CrashKey(keyspace: "rows", key: .id(id)), value)]
    do {
      let (_, sequence) = try store.write(durability: durability) { transaction in
        if let value {
          try transaction.put(value, id: id, in: rows)
        } else {
          try transaction.remove(id: id, in: rows)
        }
      }
      if isPoisoned { throw Violation("commit \(sequence) was made by a poisoned store") }
      if sequence > last { history.note(sequence, change) }
      last = sequence
      if durability == .powerLoss { promised = sequence }
    } catch let error as StoreError {
      try note(error, change, store)
    }
  }

  /// A commit that failed may be in the log all the same, and then it is whole; nothing comes after it.
  private func note(_ error: StoreError, _ change: CrashHistory.Change, _ store: Store) throws {
    let cause = error.cause
    let isSync = cause?.operation.hasPrefix("sync") == true
    let isHarmless =
      error.code == .io && cause?.path.hasSuffix(".blob") == true && !isSync
      || error.code == .io && ["create", "open", "map"].contains(cause?.operation) || error.code == .diskFull
    if isHarmless && !isPoisoned && store.engine.gate.poison == nil { return }
    guard [.io, .poisoned, .diskFull].contains(error.code) else { throw Violation("\(error)") }
    if !isPoisoned { history.note(last + 1, change) }
    isPoisoned = true
    // Reading goes on.
    _ = try store.keyspaces
    _ = store.snapshot().sequence
    guard throwsError(.poisoned, { try store.sync() }) else { throw Violation("a poisoned store has synced") }
  }

  private func throwsError(_ code: StoreError.Code, _ body: () throws -> Void) -> Bool {
    do { try body() } catch let error as StoreError { return error.code == code } catch { return false }
    return false
  }

  private func tolerating(_ body: () throws -> Void) throws {
    do { try body() } catch is StoreError {}
  }

  /// Opens what is left; everything that was promised is there, and what is written now stays.
  func reopen() throws {
    fileSystem.removeInjectedFailures()
    try check(fileSystem.currentImage.fileSystem(), "without a power cut")
    try checkCrashes("of a power cut after the failure")
    let store = try open()
    let rows = try store.keyspace("rows", .dense)
    let (_, sequence) = try store.write { try $0.put([9, 9, 9, 9], id: 99, in: rows) }
    let contents = history.contents(upTo: sequence)
    if sequence < UInt64(contents.count) {
      history.note(sequence, [(CrashKey(keyspace: "rows", key: .id(99)), [9, 9, 9, 9])])
    }
    promised = sequence
    try checkCrashes("of a power cut after the first commit that followed")
  }

  private func checkCrashes(_ when: String) throws {
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 8
    let journal = fileSystem.journal
    for image in explorer.images(of: journal, after: journal.operationCount) {
      try check(image.fileSystem(), when)
    }
  }

  private func check(_ fileSystem: any FileSystem, _ when: String) throws {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    do {
      let store = try Store(at: path, options: options)
      let oracle = CrashOracle(contents: history.contents(upTo: max(last + 1, store.snapshot().sequence)))
      try oracle.check(store, promised: promised)
    } catch {
      throw Violation("\(when): \(error)")
    }
  }
}

@Suite("When the system lets the store down")
struct IOFailureTests {
  /// One way in which calls fail.
  struct Failure: Sendable, CustomTestStringConvertible {
    var operation: FileOperation?
    var repeats = false
    var code = FileIOError.Code.mediaError
    var effect = InjectedFailure.Effect.nothing
    var testDescription: String {
      "\(operation.map(\.rawValue) ?? "any call"), \(code), \(effect)\(repeats ? ", for ever" : "")"
    }

    static let all = [
      Failure(), Failure(repeats: true),
      Failure(operation: .write, code: .noSpace, effect: .partialWrite(byteCount: 0)),
      Failure(operation: .write, code: .noSpace, effect: .partialWrite(byteCount: 60)),
      Failure(operation: .write, repeats: true, code: .noSpace, effect: .partialWrite(byteCount: 200)),
      Failure(operation: .write, effect: .partialWrite(byteCount: 1 << 20)),
      Failure(operation: .sync, effect: .forgetsWrites),
      Failure(operation: .sync, repeats: true, effect: .forgetsWrites),
    ]
  }

  @Test(
    "Whichever call fails, what was promised is kept, and the store says what happened",
    arguments: Failure.all, [false, true])
  func everyCall(_ failure: Failure, withCheckpoints: Bool) throws {
    var nth = 1
    while true {
      let run = FailureRun(withCheckpoints: withCheckpoints)
      run.fileSystem.inject(
        InjectedFailure(
          of: failure.operation, nth: nth, repeats: failure.repeats, code: failure.code,
          effect: failure.effect))
      do {
        try run.run()
        let hasStruck = run.fileSystem.injectedFailureCount > 0
        try run.reopen()
        guard hasStruck else { break }
      } catch {
        Issue.record("call \(nth): \(error)\n\(run.fileSystem.journal.trace.joined(separator: "\n"))")
        return
      }
      nth += 1
    }
    print("\(failure.testDescription): \(nth - 1) places")
    #expect(nth > 10)
  }

  @Test("A full disk stops writing, loses nothing, and can be read and opened")
  func fullDisk() throws {
    let fileSystem = SimulatedFileSystem(capacityBytes: 60_000)
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 8192
    var promised: UInt64 = 0
    for _ in 0..<3 {
      let store = try Store(at: "/s.perdure", options: options)
      let rows = try store.keyspace("rows", .dense)
      #expect(store.snapshot().count(in: rows) >= Int(promised))
      let error = #expect(throws: StoreError.self) {
        while true {
          try store.write { try $0.put([UInt8](repeating: 7, count: 500), id: promised + 1, in: rows) }
          promised += 1
        }
      }
      #expect(error?.code == .diskFull && error?.cause?.code == .noSpace)
      try store.close()
      for id in 1...promised { #expect(try store.snapshot().value(id: id, in: rows)?.count == 500) }
    }
    #expect(promised > 50)
  }
}
