package import PerdureFileIO
import PerdureLog
package import PerdureTestSupport

/// A small program, by name: what it calls differs from what the others call.
package struct FailureWorkload: Sendable {
  package let name: String
  /// What is different from the options of the others.
  var options: @Sendable (inout StoreOptions) -> Void = { _ in }
  /// How many bytes the volume has.
  var capacityBytes: UInt64 = 1 << 40
  /// How often the store is opened.
  var openings = 2
  /// Whether each opening ends with a close; if not, as a process that ends.
  var closes = true
  /// What is done while the store is open.
  var body: @Sendable (FailureSession) throws -> Void
  /// What is done when it is closed.
  var afterwards: @Sendable (FailureRun) throws -> Void = { _ in }

  package static let all = commits + files + upkeep + lookers

  private var openOptions: StoreOptions {
    var options = StoreOptions()
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    options.compactsAutomatically = false
    self.options(&options)
    return options
  }

  /// Fails its calls, as the sweep says.
  ///
  /// - Parameters:
  ///   - failure: The only failure that is tried; nil: those of the sweep.
  ///   - disguise: What the store sees of the file system.
  ///   - onRun: Called after each run.
  package func run(
    _ sweep: FailureSweep, only failure: (kind: FailureKind, failure: InjectedFailure)? = nil,
    disguise: @Sendable (SimulatedFileSystem) -> any FileSystem = { $0 }, onRun: () -> Void = {}
  ) -> FailureReport {
    var sweep = sweep
    sweep.capacityBytes = capacityBytes
    let options = openOptions
    let program = { (base: SimulatedFileSystem) throws -> FailureRun in
      let run = FailureRun(base, disguise(base), options)
      try perform(run)
      return run
    }
    let verify = { (run: FailureRun, _: SimulatedFileSystem) throws in
      try run.finish()
      onRun()
    }
    if let failure { return sweep.run(only: failure.failure, failure.kind, program: program, verify: verify) }
    return sweep.run(program: program, verify: verify)
  }

  private func perform(_ run: FailureRun) throws {
    for part in 0..<openings {
      guard let store = try run.open() else { continue }
      try body(FailureSession(run, store, part: part))
      if closes { try run.close(store) }
    }
    try afterwards(run)
  }
}
