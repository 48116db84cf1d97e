import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// Every state that a power cut may leave, over programs of several shapes. The seed is printed;
/// `PERDURE_SEED` runs it again.
@Suite("After a power cut")
struct CrashTests {
  /// Over all shapes together. A long run sets it in the environment: a million take half an hour.
  private static let statesMin = Environment.value(of: "PERDURE_CRASH_STATES").flatMap(Int.init) ?? 20_000
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("A store holds a prefix of its commits with all that was promised, whatever the power cut left")
  func everyCrash() async throws {
    let quota = Self.statesMin / CrashShape.all.count + 1
    let explored = try await withThrowingTaskGroup(of: Explored.self) { group in
      for (number, shape) in CrashShape.all.enumerated() {
        let seed = SeededGenerator(seed: seed).derived(UInt64(number)).seed
        group.addTask { try await Self.explore(shape, seed, states: quota) }
      }
      return try await group.reduce(into: Explored()) { $0.add($1) }
    }
    print("power cuts: \(explored.states) distinct states, PERDURE_SEED=\(seed)")
    #expect(explored.states >= Self.statesMin)
    #expect(explored.losses == Set(CrashLoss.allCases))
  }

  private struct Explored {
    var states = 0
    var losses: Set<CrashLoss> = []

    mutating func add(_ other: Explored) {
      states += other.states
      losses.formUnion(other.losses)
    }
  }

  /// Runs programs of a shape until so many distinct states have been looked at.
  private static func explore(_ shape: CrashShape, _ seed: UInt64, states: Int) async throws -> Explored {
    var found = Explored()
    var round: UInt64 = 0
    while found.states < states {
      let workload = CrashWorkload(shape: shape, seed: seed &+ round)
      let fileSystem = SimulatedFileSystem()
      let oracle = try await workload.run(on: fileSystem, fileSystem.marker)
      var explorer = CrashExplorer(seed: workload.seed)
      explorer.imagesPerOperationMax = imagesPerOperation(
        fileSystem.journal, shape, missing: states - found.states)
      explorer.sectorLength = shape.sectorLength
      let report = explorer.examine(fileSystem.journal) { image, context in
        try examine(image, context, workload, oracle)
      }
      print("\(shape), program \(round): \(report)")
      try report.check()
      found.add(Explored(states: report.distinctImageCount, losses: Set(report.lossCounts.keys)))
      round += 1
    }
    return found
  }

  /// So many that one program is about enough: of three images, one or two have been seen before. Never so
  /// few that the telling losses (`CrashPlanner`) are all there is.
  private static func imagesPerOperation(_ journal: CrashJournal, _ shape: CrashShape, missing: Int) -> Int {
    min(shape.imagesPerOperationMax, max(12, 3 * missing / max(1, journal.operationCount)))
  }

  private static func examine(
    _ image: CrashImage, _ context: CrashContext, _ workload: CrashWorkload, _ oracle: CrashOracle
  ) throws {
    let promised = UInt64(context.acknowledged.max() ?? 0)
    let fileSystem = image.fileSystem()
    if context.operation % 7 == 0, promised > 0 {
      let reader = try workload.open(on: fileSystem, readOnly: true)
      try oracle.check(reader, promised: promised)
    }
    var store: Store? = try workload.open(on: fileSystem)
    if let store { try oracle.check(store, promised: promised) }
    guard context.operation % 5 == 0 else { return }
    // The log goes on behind whatever the crash left, and is as whole as before.
    let before = try CrashOracle.content(of: store!)
    try store!.write { try $0.put([1, 2, 3], id: 77, in: try store!.keyspace("afterwards", .dense)) }
    guard try store!.verify().isClean else { throw Violation("\(try store!.verify().findings)") }
    if context.operation % 2 == 0 { try store!.compact() }
    store = nil
    let again = try workload.open(on: fileSystem)
    var after = try CrashOracle.content(of: again)
    let added = CrashKey(keyspace: "afterwards", key: .id(77))
    guard after.removeValue(forKey: added) == [1, 2, 3], after == before else {
      throw Violation("a commit after the recovery changed another, or is gone")
    }
    guard try again.verify().isClean else { throw Violation("\(try again.verify().findings)") }
  }

  @Test(
    "A crash during the recovery from a crash changes nothing about it",
    arguments: [0, 1, 3, 9, CrashShape.all.count - 1])
  func crashDuringRecovery(_ number: Int) async throws {
    var shape = CrashShape.all[number]
    shape.commits = 20
    let workload = CrashWorkload(shape: shape, seed: seed &+ 99)
    let fileSystem = SimulatedFileSystem()
    let oracle = try await workload.run(on: fileSystem, fileSystem.marker)
    var explorer = CrashExplorer(seed: seed)
    explorer.imagesPerOperationMax = 8
    explorer.checksMax = 60
    var found = 0
    let report = explorer.examine(fileSystem.journal) { image, context in
      let recovery = try recover(image, context, workload, oracle)
      try recovery.check()
      found += recovery.distinctImageCount
    }
    print("crashes during recovery: \(found) distinct states, PERDURE_SEED=\(seed)")
    try report.check()
    #expect(found >= 400)
  }

  /// Cuts the power during a recovery and during the first commit after it.
  private func recover(
    _ image: CrashImage, _ context: CrashContext, _ workload: CrashWorkload, _ oracle: CrashOracle
  ) throws -> CrashReport {
    var explorer = CrashExplorer(seed: seed)
    explorer.imagesPerOperationMax = 12
    let promised = UInt64(context.acknowledged.max() ?? 0)
    let first = try workload.open(on: image.fileSystem())
    let believed = first.snapshot().sequence
    return try explorer.explore(on: image) { fileSystem, marker in
      let store = try workload.open(on: fileSystem)
      guard store.snapshot().sequence == believed else { throw Violation("recovery is not always the same") }
      marker.acknowledge(0)
      let (_, sequence) = try store.write { transaction in
        try transaction.put([1], id: 1_000, in: try store.keyspace("afterwards", .dense))
      }
      marker.acknowledge(Int(sequence))
    } verify: { image, context in
      let store = try workload.open(on: image.fileSystem())
      let sequence = store.snapshot().sequence
      // What recovery has shown to anybody is as good as promised.
      let promised =
        context.acknowledged.isEmpty ? promised : max(believed, UInt64(context.acknowledged.max() ?? 0))
      guard sequence >= promised else { throw Violation("\(promised) was promised, and \(sequence) is left") }
      if sequence <= believed { return try oracle.check(store, promised: promised) }
      let report = try store.verify()
      guard report.isClean else { throw Violation("\(report.findings)") }
    }
  }
}
