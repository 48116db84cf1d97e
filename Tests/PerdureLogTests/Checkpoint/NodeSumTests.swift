import PerdureFileIO
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

/// Takes the first byte of values, unless it is told that it cannot.
private final class Moody: IndexExtractorFactory {
  struct Refused: Error {}
  let refuses = Atomic<Bool>(false)

  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor {
    if refuses.load(ordering: .relaxed) { throw Refused() }
    return Extractor()
  }

  private struct Extractor: IndexExtractor {
    func extract(
      keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
      into entries: inout IndexEntries
    ) {
      entries.add(key: Array(value.prefix(1)), reference: key.loadUnaligned(as: UInt64.self))
    }
  }
}

/// A history of commits and checkpoints, with everything that the sum over nodes has to follow.
private struct SumHistory {
  private let fileSystem = SimulatedFileSystem()
  private let moody = Moody()
  private var memory: CheckpointedStore
  private var random: SeededGenerator
  private var store: Store
  private var snapshots: [Snapshot] = []
  private(set) var checkpoints = 0

  init(seed: UInt64) throws {
    memory = CheckpointedStore(fileSystem)
    memory.options.indexExtractors = ["moody": moody]
    random = SeededGenerator(seed: seed)
    store = try memory.open()
  }

  mutating func run(stepCount: Int) throws {
    for step in 0..<stepCount {
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<9: try commit()
      case 9..<13: try checkpoint(step)
      case 13: snapshots.append(store.snapshot())
      case 14: if !snapshots.isEmpty { snapshots.removeFirst() }
      case 15: snapshots = []
      case 16: try define()
      case 17: try fail(step)
      case 18: try cancel(step)
      default: try Bool.random(using: &random) ? openAgain(step) : changeMood()
      }
    }
    try checkpoint(stepCount)
  }

  private mutating func commit() throws {
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    var generator = random.derived(random.next())
    try store.write(durability: .relaxed) { transaction in
      for _ in 0..<Int.random(in: 1...60, using: &generator) {
        let id = UInt64.random(in: 1...5000, using: &generator)
        // Some are so long that they stand in blocks of their own.
        let key = [UInt8(id % 200)] + [UInt8](repeating: UInt8(id % 7), count: id % 5 == 0 ? 700 : 20)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: try transaction.remove(id: id, in: rows)
        case 1: try transaction.remove(key: key, in: names)
        case 2: try transaction.put([1], key: key, in: names)
        default: try transaction.put([UInt8(id % 11), 1, 2], id: id, in: rows)
        }
      }
    }
  }

  /// Another definition empties the index and fills it anew.
  private mutating func define() throws {
    let rows = try store.keyspace("rows", .dense)
    let length = Int.random(in: 1...2, using: &random)
    _ = try store.defineIndex(.slices("slices", rows, .value(offset: 0, length: length)))
    guard !moody.refuses.load(ordering: .relaxed) else { return }
    let source = IndexDefinition.Source.records(keyspaces: [rows], extractor: "moody", parameters: [])
    _ = try store.defineIndex(IndexDefinition(name: "moody", source: source))
  }

  /// The index is not maintained any more, or is again.
  private func changeMood() throws {
    moody.refuses.store(!moody.refuses.load(ordering: .relaxed), ordering: .relaxed)
    try store.reloadExtractors()
  }

  private mutating func checkpoint(_ step: Int) throws {
    try store.checkpoint()
    checkpoints += 1
    // Reads the file as an opening would: all nodes from the root block on, and their sum.
    let findings = try store.verify().findings.filter { $0.invariant == .checkpoint }
    #expect(findings.isEmpty, "step \(step): \(findings)")
  }

  /// A checkpoint that finds no room, at any of its writes.
  private mutating func fail(_ step: Int) throws {
    try commit()
    let nth = Int.random(in: 1...4, using: &random)
    fileSystem.inject(InjectedFailure(of: .write, nth: nth, code: .noSpace, pathContains: ".index"))
    try? store.checkpoint()
    fileSystem.removeInjectedFailures()
    if Bool.random(using: &random) { try commit() }
  }

  /// A checkpoint that is given up after some nodes.
  private mutating func cancel(_ step: Int) throws {
    try commit()
    var left = Int.random(in: 0...10, using: &random)
    let engine = store.engine
    engine.checkpointer.writer.isCancelled = {
      left -= 1
      return left < 0
    }
    do { _ = try engine.writeCheckpoint(with: &engine.checkpointer.writer) } catch is IndexFile.Cancelled {}
    if Bool.random(using: &random) { try commit() }
  }

  private mutating func openAgain(_ step: Int) throws {
    snapshots = []
    if Bool.random(using: &random) { try store.close() } else { store.engine.abandon() }
    store = try memory.open()
    #expect(store.recoveryReport.indexRebuild == nil, "step \(step)")
  }
}

@Suite("The sum over the nodes of a checkpoint")
struct NodeSumTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("It is that of a walk over all of them, whatever happened since the checkpoint before")
  func followsHistory() throws {
    print("PERDURE_SEED=\(seed)")
    for part in 0..<4 as Range<UInt64> {
      var history = try SumHistory(seed: SeededGenerator(seed: seed).derived(part).seed)
      try history.run(stepCount: 120)
      #expect(history.checkpoints > 0)
    }
  }

  @Test("Checkpoints after the first follow from the one before, also while a snapshot is held")
  func isIncremental() throws {
    let store = try CheckpointedStore().open()
    let rows = try store.keyspace("rows", .dense)
    let held = store.snapshot()
    for id in 1..<500 as Range<UInt64> {
      try store.write(durability: .relaxed) { try $0.put([UInt8(id % 251)], id: id, in: rows) }
      if id % 50 == 0 {
        try store.checkpoint()
        #expect(store.engine.checkpointer.writer.summedVersion == store.snapshot().root.pointee.version)
      }
    }
    #expect(try store.verify().isClean)
    withExtendedLifetime(held) {}
  }

  @Test("More nodes than a turn should look at mean a walk, and then it goes on")
  func waitingNodes() {
    let arena = NodeArena()
    var table = DenseTable()
    for id in 0..<6400 as Range<UInt64> { _ = table.put(id, 8, in: arena) }
    let first = arena.publish()
    for id in stride(from: 0, to: 6400, by: 64) as StrideTo<UInt64> { _ = table.put(id, 16, in: arena) }
    arena.publish()
    #expect(arena.waitingSlots(retiredAfter: first, limit: 1000) == [], "none of them is in a file")
    #expect(arena.waitingSlots(retiredAfter: first, limit: 99) == nil)
    #expect(arena.waitingSlots(retiredAfter: first + 1, limit: 0) == [])
  }
}
