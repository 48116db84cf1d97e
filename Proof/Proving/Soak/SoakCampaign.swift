package import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Uses one store for some time, as a program does. Checks that no measured quantity grows without
/// limit.
///
/// The longest waits are only reported, because they depend on the machine as much as on the store.
package struct SoakCampaign: Campaign {
  package let name = "soak"
  package let summary =
    "a store is used for some time: growth of memory, open files and space, and the longest waits"

  /// The file system of the store. The test of this campaign uses one that does not close files.
  package var fileSystem: any FileSystem = POSIXFileSystem()

  /// The memory of the process in MiB, without mapped files. Segments that still contain a row are
  /// mapped, and their number grows. The test of this campaign replaces it with memory that grows.
  package var ownMebibytes: @Sendable () -> Double? = { ProcessMeter.ownMebibytes }

  /// The number of steps, so that no clock is needed; nil for as many steps as the time allows.
  package var steps: Int?

  /// The simulated duration of a step in seconds, if `steps` is set.
  package var secondsOfStep = 0.001

  /// The maximum number of checks whether a closed store's files are closed. Several checks are
  /// necessary, because threads of the store may be delayed, and that is not a leak. Without a
  /// leak, the checks take no time.
  package var looksMax = 20_000

  package init() {}

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    try plan.refuseParts(of: self)
    let directory = try TemporaryDirectory()
    let seconds = 60 * plan.scale
    var result = CampaignResult()
    var run = SoakRun(directory.path, self, SeededGenerator(seed: plan.seed))
    do { try run.use(seconds: seconds, progress) } catch let violation as Violation {
      result.violations.append(ProofViolation("\(violation)", command: plan.command(for: self)))
    }
    run.judge(memoryToo: plan.hasProcessAlone)
    result.violations += run.leaks.map { ProofViolation($0, command: plan.command(for: self)) }
    result.counts.modelOperations = run.checkedCount
    result.report = run.lines
    return result
  }
}

/// A store that one thread uses at random, during the store's own background work.
private struct SoakRun {
  private let path: String
  private let directory: String
  private let campaign: SoakCampaign
  private var random: SeededGenerator
  private var store: Store?
  private var model: [UInt64: UInt64] = [:]
  private var held: [(snapshot: Snapshot, id: UInt64, step: UInt64?)] = []
  private var step: UInt64 = 0
  private(set) var checkedCount = 0
  private var counts: [String: Int] = [:]
  private var memory = SoakSeries("private memory, MiB")
  private var openFiles = SoakSeries("open files of the store beyond its segments")
  private var space = SoakSeries("bytes in the directory for each live byte")
  private var excess = SoakSeries("MiB in the directory beyond three times the live bytes")
  private var tail = SoakSeries("latency of commits, 99.9th percentile, ms")
  private var latencies: [Double] = []
  private var stepsMade = 0
  private(set) var leaks: [String] = []

  private static let rowCount: UInt64 = 4000
  private static let sampleCount = 60.0
  private static let dictionaryBytes = 4096

  init(_ directory: String, _ campaign: SoakCampaign, _ random: SeededGenerator) {
    self.directory = directory
    path = directory + "/s.perdure"
    self.campaign = campaign
    self.random = random
  }

  var lines: [String] {
    let done = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    let lines = [memory, openFiles, space, excess, tail].map(\.line)
    return lines + ["\(done); \(checkedCount) values were as written"]
  }

  mutating func use(seconds: Double, _ progress: ProofProgress) throws {
    let start = ContinuousClock.now
    let seconds = campaign.steps.map { Double($0) * campaign.secondsOfStep } ?? seconds
    var nextSample = 1 / Self.sampleCount
    try open()
    while true {
      let done = elapsed(since: start) / seconds
      if done >= nextSample, let store {
        try sample(store, minutes: done * seconds / 60)
        nextSample += 1 / Self.sampleCount
        progress.advance(of: Int(Self.sampleCount), campaign.name)
      }
      if done >= 1 { break }
      stepsMade += 1
      if Int.random(in: 0..<1000, using: &random) == 0 {
        try close()
        try open()
        progress.beat()
      } else if let store {
        try act(on: store)
      }
    }
    try close()
  }

  /// The elapsed time in seconds.
  private func elapsed(since start: ContinuousClock.Instant) -> Double {
    if campaign.steps != nil { return Double(stepsMade) * campaign.secondsOfStep }
    let elapsed = start.duration(to: .now).components
    return Double(elapsed.seconds) + Double(elapsed.attoseconds) * 1e-18
  }

  private mutating func open() throws {
    var options = StoreOptions()
    options.fileSystem = campaign.fileSystem
    options.segmentCapacityBytes = 256 << 10
    options.blobThresholdBytes = 4096
    options.durability = .processCrash
    options.compression = .dictionaries
    options.compression.dictionaryBytes = Self.dictionaryBytes
    store = try Store(at: path, options: options)
  }

  /// Closes and releases the store, and checks that none of its files remain open.
  private mutating func close() throws {
    note("closed")
    if let store {
      let rows = try rows(of: store)
      for held in held { try check(held.snapshot, held.id, held.step, rows) }
      held = []
      if counts["closed"]?.isMultiple(of: 8) == true {
        guard try store.verify().isClean else { throw Violation("verify: \(try store.verify().findings)") }
      }
      try store.close()
    }
    store = nil
    // After the first leak, further waits are skipped.
    guard leaks.isEmpty,
      let files = ProcessMeter.openFilesInTheEnd(below: directory, looks: campaign.looksMax), !files.isEmpty
    else { return }
    leaks.append("\(files.count) files of a closed store stay open: \(files.sorted().prefix(20))")
  }

  private func rows(of store: Store) throws -> Keyspace { try store.keyspace("rows", .dense) }

  private mutating func note(_ what: String) { counts[what, default: 0] += 1 }

  private mutating func act(on store: Store) throws {
    let rows = try rows(of: store)
    switch Int.random(in: 0..<1000, using: &random) {
    case ..<600: try commit(to: store, rows)
    case ..<900:
      let id = UInt64.random(in: 0..<Self.rowCount, using: &random)
      try check(store.snapshot(), id, model[id], rows)
    case ..<940: try scan(store, rows)
    case ..<980: try hold(store, rows)
    case ..<990: try stream(to: store, rows)
    case ..<996:
      note("checkpoints")
      try store.checkpoint()
    case ..<999:
      note("compactions")
      try store.compact()
    default:
      note("dictionaries")
      try store.trainDictionary(for: rows)
    }
  }

  private mutating func commit(to store: Store, _ rows: Keyspace) throws {
    note("commits")
    step += 1
    let step = step
    let ids = (0..<Int.random(in: 1...8, using: &random)).map { _ in
      UInt64.random(in: 0..<Self.rowCount, using: &random)
    }
    let isRemoval = random.chance(10)
    let start = ContinuousClock.now
    try store.write(durability: random.chance(2) ? .powerLoss : .processCrash) { transaction in
      for id in ids {
        if isRemoval {
          try transaction.remove(id: id, in: rows)
        } else {
          try transaction.put(Self.value(id, step), id: id, in: rows)
        }
      }
    }
    let wait = start.duration(to: .now).components
    latencies.append(Double(wait.seconds) * 1e3 + Double(wait.attoseconds) * 1e-15)
    for id in ids { model[id] = isRemoval ? nil : step }
  }

  private static func value(_ id: UInt64, _ step: UInt64) -> [UInt8] {
    let text =
      "{\"number\": \(id), \"step\": \(step), \"kind\": \"row\", \"more\": \"the same in each of them\"}"
    return Array(text.utf8) + [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: Int(step % 64))
  }

  private mutating func check(_ snapshot: Snapshot, _ id: UInt64, _ step: UInt64?, _ rows: Keyspace) throws {
    checkedCount += 1
    let found = try snapshot.value(id: id, in: rows)
    guard let step else {
      if found == nil { return }
      throw Violation("the removed row \(id) still exists")
    }
    let isLong = step & 1 << 63 != 0
    let expected = isLong ? Self.longValue(step) : Self.value(id, step)
    guard found == expected else { throw Violation("row \(id) differs from the row that step \(step) wrote") }
  }

  private mutating func scan(_ store: Store, _ rows: Keyspace) throws {
    note("scans")
    let snapshot = store.snapshot()
    var count = 0
    try snapshot.forEach(in: rows) { (_: UInt64, _: RawSpan) in
      count += 1
      return true
    }
    guard count == model.count else { throw Violation("a scan found \(count) rows of \(model.count)") }
  }

  private mutating func hold(_ store: Store, _ rows: Keyspace) throws {
    note("snapshots held")
    let id = UInt64.random(in: 0..<Self.rowCount, using: &random)
    held.append((store.snapshot(), id, model[id]))
    guard held.count > 4 else { return }
    let oldest = held.removeFirst()
    try check(oldest.snapshot, oldest.id, oldest.step, rows)
  }

  private static func longValue(_ step: UInt64) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: 70_000)
  }

  /// Writes a long value in pieces, into a blob file. Its id is one of 20 ids.
  private mutating func stream(to store: Store, _ rows: Keyspace) throws {
    note("values in pieces")
    step += 1
    let (id, step) = (UInt64.random(in: 0..<20, using: &random), step | 1 << 63)
    let writer = try store.makeBlobWriter()
    try writer.append(Self.longValue(step))
    let written = try writer.finish()
    try store.write(durability: .processCrash) { try $0.put(written, id: id, in: rows) }
    model[id] = step
  }

  private mutating func sample(_ store: Store, minutes: Double) throws {
    memory.add(campaign.ownMebibytes(), at: minutes)
    let names = try campaign.fileSystem.contents(of: path)
    // Segments that still contain a row accumulate, and each of them must be open. So they are not
    // counted.
    let open = ProcessMeter.openFiles(below: directory)
    openFiles.add(open.map { Double(ProcessMeter.countWithoutSegments($0)) }, at: minutes)
    // Dictionaries are permanent, so their size is included.
    let rowBytes = model.reduce(0) { $0 + ($1.value & 1 << 63 != 0 ? 70_000 : 150) }
    let live = try rowBytes + store.statistics.dictionaries * Self.dictionaryBytes
    var bytes: UInt64 = 0
    for name in names {
      // A file may be removed while it is checked.
      guard let file = try? campaign.fileSystem.open(path + "/" + name, .read) else { continue }
      bytes += try file.size()
      try file.close()
    }
    space.add(Double(bytes) / Double(max(1, live)), at: minutes)
    excess.add((Double(bytes) - 3 * Double(live)) / 1_048_576, at: minutes)
    guard !latencies.isEmpty else { return }
    latencies.sort()
    tail.add(latencies[min(latencies.count - 1, latencies.count * 999 / 1000)], at: minutes)
    latencies = []
  }

  /// The growth that is allowed per minute, and the growth that is allowed in any run. Growth is a
  /// leak only if it exceeds both. Differences in the speed of machines cannot cause so much
  /// growth.
  private static let growthMax: (mebibytes: (Double, Double), files: (Double, Double)) = ((8, 8), (30, 32))

  /// The growth per minute that is allowed in the second half of a run. It applies if the run is
  /// long enough for caches to fill.
  private static let lateGrowthMax: (mebibytes: Double, files: Double, afterMinutes: Double) = (2, 4, 5)

  /// Checks the quantities that must not grow.
  mutating func judge(memoryToo: Bool) {
    let limits = [(openFiles, Self.growthMax.files)] + (memoryToo ? [(memory, Self.growthMax.mebibytes)] : [])
    for (series, limit) in limits {
      let growth = series.growth
      guard growth.inAMinute > limit.0, growth.inAll > limit.1 else { continue }
      leaks.append("\(series.line), \(growth.inAll) in all")
    }
    let late =
      [(openFiles, Self.lateGrowthMax.files)] + (memoryToo ? [(memory, Self.lateGrowthMax.mebibytes)] : [])
    for (series, limit) in late where series.lateGrowth.minutes > Self.lateGrowthMax.afterMinutes {
      let growth = series.lateGrowth.inAMinute
      if growth > limit { leaks.append("\(series.line), \(growth) a minute in the second half") }
    }
    judgeRoom()
  }

  /// Checks the space of the store, which varies with its garbage. If space grows steadily from
  /// zero, the mean of the last third is five thirds of the mean of the second third. The limit is
  /// lower: an increase by a quarter.
  private mutating func judgeRoom() {
    guard let (second, last) = excess.laterMeans else { return }
    guard last > max(0, second) * 1.25 + Self.roomSwing else { return }
    leaks.append("\(excess.line): \(second) in the second third, \(last) in the last")
  }

  /// An increase by at most this number of MiB is not growth.
  private static let roomSwing = 4.0
}
