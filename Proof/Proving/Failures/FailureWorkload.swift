package import PerdureFileIO
import PerdureLog
package import PerdureTestSupport

/// A small program, by name: its calls differ from those of the others.
package struct FailureWorkload: Sendable {
  package let name: String
  /// Its differences from the options of the others.
  var options: @Sendable (inout StoreOptions) -> Void = { _ in }
  /// The extractors of the indexes: replaced for an engine that is wrong then.
  package var extractor = SliceExtractor.name
  /// Whether a poisoned store is made to refuse reads, for an engine that is wrong then.
  package var refusesPoisonedReads = false
  /// How many bytes the volume has.
  var capacityBytes: UInt64 = 1 << 40
  /// The number of openings.
  var openings = 2
  /// Whether each opening ends with a close; if not, as a process that ends.
  var closes = true
  /// The operations while the store is open.
  var body: @Sendable (FailureSession) throws -> Void
  /// The operations while it is closed.
  var afterwards: @Sendable (FailureRun) throws -> Void = { _ in }

  package static let all = commits + files + upkeep + lookers

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

  /// Fails its calls, as the sweep says.
  ///
  /// - Parameters:
  ///   - failure: The only failure that is tried; nil: those of the sweep.
  ///   - disks: How many disks are built of a power cut after each run.
  ///   - disguise: What the store sees of the file system.
  ///   - onRun: Called after each run.
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
