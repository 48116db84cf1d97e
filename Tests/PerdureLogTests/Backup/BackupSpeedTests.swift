import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A clock whose time advances only during waits.
private final class SteppedTime: Sendable {
  private struct State {
    var now: UInt64 = 1_000_000_000
    var waits: [UInt64] = []
  }

  private let state = Guarded(State())
  /// Called in each wait.
  let onWait: @Sendable () -> Void

  init(onWait: @escaping @Sendable () -> Void = {}) { self.onWait = onWait }

  /// The lengths of all waits, in nanoseconds.
  var waits: [UInt64] { state.withLock { $0.waits } }

  var clock: BackupClock {
    BackupClock(now: { [self] in state.withLock { $0.now } }) { [self] end in
      state.withLock { state in
        state.waits.append(end - state.now)
        state.now = end
      }
      onWait()
    }
  }
}

@Suite("The waits of a backup")
struct BackupSpeedTests {
  enum Form: CaseIterable { case folder, stream }

  private let disk = InMemoryFileSystem()
  private let subject: BackedUpStore

  init() throws {
    subject = try BackedUpStore(BackedUpStore.options(disk))
    for number in 1...400 as ClosedRange<UInt64> { try subject.commit(number) }
  }

  /// Makes a backup whose progress handler calls `step`.
  private func backup(
    _ form: Form, of store: Store, _ time: SteppedTime, bytesPerSecond: Int? = 65_536,
    _ step: () throws -> Void = {}
  ) throws -> BackupReport {
    var options = BackupOptions()
    (options.bytesPerSecond, options.clock) = (bytesPerSecond, time.clock)
    switch form {
    case .folder: return try store.backup(to: "/backup", options: options) { _ in try step() }
    case .stream: return try store.backup(options: options, progress: { _ in try step() }) { _ in }
    }
  }

  /// Checks that the total wait is the time that the bytes take at the speed limit.
  private func expectLimited(_ report: BackupReport, _ time: SteppedTime) {
    let expected = Double(report.bytesCopied) / 65_536 * 1e9
    // The wait for each piece is rounded down to a nanosecond.
    #expect(abs(Double(time.waits.reduce(0, +)) - expected) < 1000)
    #expect(report.bytesCopied > 100_000)
    #expect(time.waits.allSatisfy { $0 <= Pacer.sliceNanoseconds })
  }

  @Test("During commits, a backup takes the time that its speed limit requires", arguments: Form.allCases)
  func busy(_ form: Form) throws {
    let time = SteppedTime()
    var number: UInt64 = 400
    let report = try backup(form, of: subject.store, time) {
      number += 1
      try subject.commit(number)
    }
    expectLimited(report, time)
  }

  @Test("Without concurrent commits, a backup does not wait", arguments: Form.allCases)
  func idle(_ form: Form) throws {
    let time = SteppedTime()
    _ = try backup(form, of: subject.store, time)
    #expect(time.waits.isEmpty)
  }

  @Test("A backup without a speed limit does not wait during commits", arguments: Form.allCases)
  func unlimited(_ form: Form) throws {
    let time = SteppedTime()
    var number: UInt64 = 400
    _ = try backup(form, of: subject.store, time, bytesPerSecond: nil) {
      number += 1
      try subject.commit(number)
    }
    #expect(time.waits.isEmpty && number > 402)
  }

  @Test(
    "A backup of a store that is opened for reading always obeys its speed limit", arguments: Form.allCases)
  func reader(_ form: Form) throws {
    var options = BackedUpStore.options(disk)
    options.isReadOnly = true
    let reader = try Store(at: "/store", options: options)
    defer { #expect(throws: Never.self) { try reader.close() } }
    let time = SteppedTime()
    expectLimited(try backup(form, of: reader, time), time)
  }

  @Test("Cancelling the task ends a wait of its backup, and leaves no backup", arguments: Form.allCases)
  func cancelled(_ form: Form) async throws {
    let time = SteppedTime { withUnsafeCurrentTask { $0?.cancel() } }
    let task = Task {
      var number: UInt64 = 400
      _ = try backup(form, of: subject.store, time, bytesPerSecond: 65_536) {
        number += 1
        try subject.commit(number)
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(time.waits.count == 1)
    #expect(try disk.contents(of: "/") == ["store"])
  }
}
