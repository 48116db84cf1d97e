import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// What a store must hold after each commit: by sequence number, the whole content.
private struct History {
  typealias Content = [Key: [UInt8]]

  var states: [UInt64: Content] = [0: [:]]
  /// The commits that were acknowledged as durable, in the order of their labels.
  var durable: [UInt64] = []
}

/// A small program that writes, as a store's user would.
private struct CrashWorkload {
  var options = StoreOptions()
  var commits: Int
  var history = History()
  private var content: History.Content = [:]
  private var random: SeededGenerator

  init(seed: UInt64, commits: Int) {
    random = SeededGenerator(seed: seed)
    self.commits = commits
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 1024
  }

  mutating func run(on fileSystem: any FileSystem, _ marker: CrashMarker) throws {
    options.fileSystem = fileSystem
    var store = try Store(at: "/s.perdure", options: options)
    for round in 0..<commits {
      try commit(to: store, marker)
      if round % 17 == 16 {
        if Bool.random(using: &random) { try store.close() }
        store = try reopen(store)
      }
    }
    try store.close()
  }

  private func reopen(_ store: Store) throws -> Store {
    try? store.close()
    return try Store(at: "/s.perdure", options: options)
  }

  private mutating func commit(to store: Store, _ marker: CrashMarker) throws {
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    try defineIndexes(rows, in: store)
    // Commits that only the catalog saw.
    let last = history.states.keys.max() ?? 0
    for sequence in last...(try store.statistics.sequence) { history.states[sequence] = content }
    let durability = Durability.allCases.randomElement(using: &random) ?? .powerLoss
    var next = content
    var generator = random
    let (_, sequence) = try store.write(durability: durability) { transaction in
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        try Self.operation(&transaction, &next, rows, names, &generator)
      }
      // So that every transaction is a commit of its own.
      let stamp = withUnsafeBytes(of: generator.next()) { Array($0) }
      try transaction.put(stamp, key: [0xFF], in: names)
      next[.bytes([0xFF])] = stamp
    }
    random = generator
    content = next
    history.states[sequence] = content
    if durability == .powerLoss {
      history.durable.append(sequence)
      marker.acknowledge(history.durable.count)
    }
  }

  private func defineIndexes(_ rows: Keyspace, in store: Store) throws {
    let byGroup = try store.defineIndex(
      IndexDefinition(
        name: "groups",
        source: .records(
          keyspaces: [rows], extractor: SliceExtractor.name,
          parameters: SliceExtractor.parameters([.value(offset: 0, length: 8)]))))
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: byGroup)))
  }

  private static func operation(
    _ transaction: inout WriteTransaction, _ content: inout History.Content, _ rows: Keyspace,
    _ names: Keyspace, _ random: inout SeededGenerator
  ) throws {
    let id = UInt64.random(in: 1...12, using: &random)
    let name = [UInt8](repeating: UInt8(id), count: Int(id % 4))
    let length = Int.random(in: 0...20, using: &random) == 0 ? 1500 : Int.random(in: 8...300, using: &random)
    let value =
      [0, 0, 0, 0, 0, 0, 0, UInt8(id % 3)]
      + [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: length)
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      try transaction.remove(id: id, in: rows)
      content[.id(id)] = nil
    case 1:
      try transaction.remove(key: name, in: names)
      content[.bytes(name)] = nil
    case 2:
      try transaction.put(value, key: name, in: names)
      content[.bytes(name)] = value
    default:
      try transaction.put(value, id: id, in: rows)
      content[.id(id)] = value
    }
  }
}

private struct Violation: Error, CustomStringConvertible {
  let description: String
}

extension History {
  /// The oracle: the store holds the state after some prefix of the commits, with every commit
  /// that was acknowledged as durable, and is well in itself.
  fileprivate func verify(_ store: Store, acknowledged: Int) throws {
    let snapshot = store.snapshot()
    let promised = acknowledged == 0 ? 0 : durable[acknowledged - 1]
    guard snapshot.sequence >= promised else {
      throw Violation(
        description: "commit \(promised) was promised, and the log ends at \(snapshot.sequence)")
    }
    guard let expected = states[snapshot.sequence] else {
      throw Violation(description: "there never was a state after commit \(snapshot.sequence)")
    }
    let found = try content(of: store)
    guard found == expected else {
      throw Violation(description: "the content after commit \(snapshot.sequence) is not what it was")
    }
    let report = try store.verify()
    guard report.isClean else { throw Violation(description: "\(report.findings)") }
  }

  private func content(of store: Store) throws -> Content {
    var found: Content = [:]
    let snapshot = store.snapshot()
    for keyspace in try store.keyspaces {
      switch keyspace.kind {
      case .dense:
        try snapshot.forEach(in: keyspace) { (id: UInt64, value: RawSpan) in
          found[.id(id)] = value.withUnsafeBytes { Array($0) }
          return true
        }
      case .bytes:
        try snapshot.forEach(in: keyspace) { (key: RawSpan, value: RawSpan) in
          found[.bytes(key.withUnsafeBytes { Array($0) })] = value.withUnsafeBytes { Array($0) }
          return true
        }
      }
    }
    return found
  }
}

/// How many distinct states these tests look at, for all workloads together. More with
/// `PERDURE_CRASH_STATES`.
@Suite("After a power cut")
struct CrashTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test(
    "A store holds a prefix of its commits with all that was promised, in every state a crash may leave",
    arguments: 0..<4)
  func everyCrash(_ part: Int) throws {
    var workload = CrashWorkload(seed: seed &+ UInt64(part), commits: 60)
    var explorer = CrashExplorer(seed: seed &+ UInt64(part))
    explorer.imagesPerOperationMax = 40
    let report = try explorer.explore { fileSystem, marker in
      try workload.run(on: fileSystem, marker)
    } verify: { image, context in
      var options = workload.options
      options.fileSystem = image.fileSystem()
      let store = try open(options, context)
      guard let store else { return }
      try workload.history.verify(store, acknowledged: context.acknowledged.count)
    }
    try report.check()
    print(report)
    #expect(report.distinctImageCount >= 1_000)
  }

  /// Before the store was born there is nothing to open; afterwards nothing may be missing.
  private func open(_ options: StoreOptions, _ context: CrashContext) throws -> Store? {
    try Store(at: "/s.perdure", options: options)
  }

  @Test("A crash during recovery changes nothing about it")
  func crashDuringRecovery() throws {
    var workload = CrashWorkload(seed: seed &+ 99, commits: 24)
    let fileSystem = SimulatedFileSystem()
    try workload.run(on: fileSystem, fileSystem.marker)
    var explorer = CrashExplorer(seed: seed)
    explorer.imagesPerOperationMax = 6
    var second = 0
    let report = explorer.examine(fileSystem.journal) { image, context in
      guard context.operation % 5 == 0 else { return }
      var again = CrashExplorer(seed: seed)
      again.imagesPerOperationMax = 8
      let recovery = try again.explore(on: image) { fileSystem, _ in
        var options = workload.options
        options.fileSystem = fileSystem
        let store = try Store(at: "/s.perdure", options: options)
        try store.write { try $0.put([1], id: 1_000, in: store.keyspace("after", .dense)) }
      } verify: { image, _ in
        var options = workload.options
        options.fileSystem = image.fileSystem()
        let store = try Store(at: "/s.perdure", options: options)
        let report = try store.verify()
        guard report.isClean else { throw Violation(description: "\(report.findings)") }
        let promised =
          context.acknowledged.isEmpty ? 0 : workload.history.durable[context.acknowledged.count - 1]
        guard store.snapshot().sequence >= promised else {
          throw Violation(description: "commit \(promised) was promised, and is gone after a second crash")
        }
      }
      try recovery.check()
      second += recovery.distinctImageCount
    }
    try report.check()
    print("crashes during recovery: \(second) distinct states")
    #expect(second > 100)
  }

  @Test("A file system that does not sync is caught: the checker bites")
  func canary() throws {
    var workload = CrashWorkload(seed: seed, commits: 30)
    var fileSystem = SimulatedFileSystem(ignoresSync: true)
    try workload.run(on: fileSystem, fileSystem.marker)
    let report = CrashExplorer(seed: seed).examine(fileSystem.journal) { image, context in
      var options = workload.options
      options.fileSystem = image.fileSystem()
      try workload.history.verify(
        try Store(at: "/s.perdure", options: options), acknowledged: context.acknowledged.count)
    }
    #expect(report.violation != nil)
    fileSystem = SimulatedFileSystem()
  }
}
