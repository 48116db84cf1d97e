import Foundation
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

@Suite("Readers during writes")
struct IndexStressTests {
  /// Both roots of a published version, in an object that is not freed during the test.
  private final class Published: Sendable {
    let version: UInt64
    let tree: OrderedTree
    let table: DenseTable
    let sum: UInt64

    init(version: UInt64, tree: OrderedTree, table: DenseTable, sum: UInt64) {
      self.version = version
      self.tree = tree
      self.table = table
      self.sum = sum
    }
  }

  /// A minimal engine: versions by number, and a pin slot for each reader.
  private final class Board: Sendable {
    static let free = UInt64.max

    let current = Atomic<UInt64>(0)
    let isDone = Atomic<Bool>(false)
    let finishedReaders = Atomic<Int>(0)
    let pins: [Pin]
    let versions: [Slot]

    init(readerCount: Int, versionCount: Int) {
      pins = (0..<readerCount).map { _ in Pin() }
      versions = (0...versionCount).map { _ in Slot() }
    }

    final class Pin: Sendable {
      let version = Atomic<UInt64>(Board.free)
    }

    final class Slot: Sendable {
      let published = AtomicLazyReference<Published>()
    }

    func pin(_ reader: Int) -> UInt64 {
      while true {
        let version = current.load(ordering: .sequentiallyConsistent)
        pins[reader].version.store(version, ordering: .sequentiallyConsistent)
        if current.load(ordering: .sequentiallyConsistent) == version { return version }
      }
    }

    func unpin(_ reader: Int) {
      pins[reader].version.store(Board.free, ordering: .sequentiallyConsistent)
    }

    var oldestPinned: UInt64 {
      let published = current.load(ordering: .sequentiallyConsistent)
      return pins.reduce(published) { min($0, $1.version.load(ordering: .sequentiallyConsistent)) }
    }
  }

  @Test("Each reader sees one complete version while the writer changes, publishes and reclaims")
  func stress() async {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed)")
    let versionCount = 300
    let board = Board(readerCount: 3, versionCount: versionCount)
    async let writing = onThread { Self.write(board, versionCount: versionCount, seed: seed) }
    async let first = onThread { Self.read(board, 0) }
    async let second = onThread { Self.read(board, 1) }
    async let third = onThread { Self.read(board, 2) }
    #expect(await writing == 0, "all memory is freed")
    #expect(await first + second + third == 0, "no reader sees a mix of versions")
  }

  /// Runs `body` on a new thread, because readers and writer must run concurrently on any number of
  /// cores.
  private func onThread(_ body: @escaping @Sendable () -> Int) async -> Int {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }

  private static func write(_ board: Board, versionCount: Int, seed: UInt64) -> Int {
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var tree = OrderedTree()
    var table = DenseTable()
    var sum: UInt64 = 0
    _ = board.versions[0].published.storeIfNil(Published(version: 0, tree: tree, table: table, sum: 0))
    for _ in 0..<versionCount {
      for _ in 0..<20 {
        let id = UInt64.random(in: 0...2000, using: &random)
        let payload = UInt64.random(in: 1...1000, using: &random)
        // One key in ten is too long for a node, so the arena allocates a block for it.
        let key =
          withUnsafeBytes(of: id.bigEndian) { [UInt8]($0) }
          + [UInt8](repeating: 1, count: id % 10 == 0 ? 300 : 0)
        if Int.random(in: 0..<3, using: &random) == 0 {
          sum &-= tree.remove(key, in: arena) ?? 0
          table.remove(id, in: arena)
        } else {
          sum = sum &+ payload &- (tree.put(key, payload, in: arena) ?? 0)
          table.put(id, payload, in: arena)
        }
      }
      let version = arena.publish()
      let published = Published(version: version, tree: tree, table: table, sum: sum)
      _ = board.versions[Int(version)].published.storeIfNil(published)
      board.current.store(version, ordering: .sequentiallyConsistent)
      arena.reclaim(oldestPinnedVersion: board.oldestPinned)
    }
    board.isDone.store(true, ordering: .sequentiallyConsistent)
    tree.removeAll(in: arena)
    table.removeAll(in: arena)
    arena.publish()
    while board.finishedReaders.load(ordering: .sequentiallyConsistent) < board.pins.count {
      Thread.sleep(forTimeInterval: 0.001)
    }
    arena.reclaim(oldestPinnedVersion: arena.publishedVersion)
    return arena.liveByteCount == 0 ? 0 : 1
  }

  private static func read(_ board: Board, _ reader: Int) -> Int {
    var failures = 0
    while !board.isDone.load(ordering: .sequentiallyConsistent) {
      let version = board.pin(reader)
      defer { board.unpin(reader) }
      guard let published = board.versions[Int(version)].published.load() else { continue }
      var cursor = OrderedCursor(published.tree)
      var dense = DenseCursor(published.table)
      var sum: UInt64 = 0
      var count = 0
      while cursor.next() {
        sum &+= cursor.payload
        count += 1
        let id = cursor.key.loadUnaligned(as: UInt64.self).bigEndian
        if !dense.next() || dense.id != id || dense.word != cursor.payload { failures += 1 }
      }
      if sum != published.sum || count != published.tree.count { failures += 1 }
    }
    board.finishedReaders.add(1, ordering: .sequentiallyConsistent)
    return failures
  }
}
