package import PerdureFileIO
import PerdureLog
package import PerdureTestSupport

/// A small program with a name. Each program makes different system calls.
package struct FailureWorkload: Sendable {
  package let name: String
  /// Sets the options in which this program differs from the others.
  var options: @Sendable (inout StoreOptions) -> Void = { _ in }
  /// The name of the extractor of the indexes. Tests replace it with a wrong extractor.
  package var extractor = SliceExtractor.name
  /// Makes reads of a poisoned store fail. Used by tests of the checks.
  package var refusesPoisonedReads = false
  /// The capacity of the volume, in bytes.
  var capacityBytes: UInt64 = 1 << 40
  /// The number of openings.
  var openings = 2
  /// Whether each opening ends with a close. If not, the store is released, as at the end of a
  /// process.
  var closes = true
  /// The operations while the store is open.
  var body: @Sendable (FailureSession) throws -> Void
  /// The operations after the last opening.
  var afterwards: @Sendable (FailureRun) throws -> Void = { _ in }

  package static let all = commits + files + upkeep + lookers + copies

  private var openOptions: StoreOptions {
    var options = StoreOptions()
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    options.compactsAutomatically = false
    if extractor == ForgetfulExtractor.name { options.indexExtractors[extractor] = ForgetfulExtractor() }
    self.options(&options)
    return options
  }

  /// Runs the program once for each failure of the sweep.
  ///
  /// - Parameters:
  ///   - failure: The only failure to try; nil for the failures of the sweep.
  ///   - disks: The number of disks to build after each power cut of a run.
  ///   - disguise: Wraps the file system for the store.
  ///   - onRun: Called after each run without a violation.
  package func run(
    _ sweep: FailureSweep, only failure: FailurePart? = nil, disks: Int = 6,
    disguise: @Sendable (SimulatedFileSystem) -> any FileSystem = { $0 }, onRun: () -> Void = {}
  ) -> FailureReport {
    var sweep = sweep
    sweep.capacityBytes = capacityBytes
    let (options, disks) = (openOptions, FailureRun.Disks(seed: sweep.seed, count: disks))
    let program = { (base: SimulatedFileSystem) throws -> FailureRun in
      let run = FailureRun(base, disguise(base), options, disks)
      run.refusesPoisonedReads = refusesPoisonedReads
      try perform(run)
      return run
    }
    let verify = { (run: FailureRun, _: SimulatedFileSystem) throws in
      try run.finish()
      onRun()
    }
    guard let part = failure else { return sweep.run(program: program, verify: verify) }
    return sweep.run(only: part.kind, nth: part.nth, repeats: part.repeats, program: program, verify: verify)
  }

  private func perform(_ run: FailureRun) throws {
    for part in 0..<openings {
      guard let store = try run.open() else { continue }
      try body(FailureSession(run, store, part: part, extractor: extractor))
      if closes { try run.close(store) }
    }
    try afterwards(run)
  }
}
