import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Unpacked groups in memory")
struct GroupCacheTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  private static func group(_ owner: Int, _ index: Int, _ length: Int = 100) -> UnpackedGroup {
    UnpackedGroup(owner, index, at: 0..<length) { bytes in
      for place in bytes.indices { bytes[place] = UInt8(truncatingIfNeeded: index) }
    }
  }

  @Test("The cache obeys its limit and keeps used groups longest, and evicted groups stay readable")
  func eviction() {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let cache = GroupCache(bytesMax: 1000)
    let (first, second) = (cache.makeOwner(), cache.makeOwner())
    #expect(first != second)
    cache.insert(Self.group(first, 0))
    let kept = cache.group(0, of: first)
    for index in 1..<500 {
      #expect(cache.group(0, of: first) === kept)
      let length = Int.random(in: 1...200, using: &random)
      cache.insert(Self.group(Bool.random(using: &random) ? first : second, index, length))
      #expect(cache.bytes <= 1000)
    }
    #expect(cache.bytes > 600)
    cache.insert(Self.group(second, 600, 1001))
    #expect(cache.group(600, of: second) == nil)
    cache.removeAll(of: first)
    #expect(cache.group(0, of: first) == nil)
    #expect(kept?.bytes.allSatisfy { $0 == 0 } == true)
    cache.removeAll(of: second)
    #expect(cache.bytes == 0)
  }

  @Test("A second insertion of a group keeps the first object")
  func twice() {
    let cache = GroupCache(bytesMax: 1000)
    let owner = cache.makeOwner()
    cache.insert(Self.group(owner, 7))
    let known = cache.group(7, of: owner)
    cache.insert(Self.group(owner, 7))
    #expect(cache.group(7, of: owner) === known && cache.bytes == 100)
  }

  @Test("A hold releases its group when it acquires another group, and when the hold itself is released")
  func hold() {
    var hold = GroupHold()
    #expect(hold.group == nil)
    weak var first: UnpackedGroup?
    do {
      let group = Self.group(1, 1)
      first = group
      hold.hold(group)
      hold.hold(group)
      #expect(hold.covers(group.bytes) && hold.covers(group.bytes(from: 99)))
    }
    #expect(first != nil)
    let other = Self.group(1, 2)
    hold.hold(other)
    #expect(first == nil)
    hold.release()
    #expect(hold.group == nil && !hold.covers(other.bytes))
  }

  @Test("A walk over all records under one snapshot keeps the cache within its limit")
  func walk() throws {
    var grouped = try GroupedStore()
    grouped.memory.options.compression.groupCacheBytes = 20_000
    let store = try grouped.open()
    try GroupedStore.fill(store, 0..<3000)
    try GroupedStore.group(store)
    let rows = try store.keyspace("rows", .dense)
    let snapshot = store.snapshot()
    for descending in [false, true] {
      try snapshot.forEach(in: rows, ids: 0...2999, descending: descending) { id, value in
        #expect(value.withUnsafeBytes { Array($0) } == PackedStore.value(id))
        return true
      }
      let bytes = try store.statistics.groupCacheBytes
      #expect(bytes <= 20_000 && bytes > 0)
    }
  }

  @Test("Many threads read evicted groups correctly during compaction and in nested reads")
  func threads() async throws {
    var grouped = try GroupedStore(segmentCapacityBytes: 64 << 10)
    grouped.memory.options.compression.groupCacheBytes = 10_000
    let store = try grouped.open()
    try GroupedStore.fill(store, 0..<2000)
    try GroupedStore.group(store)
    let rows = try store.keyspace("rows", .dense)
    let seed = seed
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 as Range<UInt64> {
        group.addTask {
          var random = SeededGenerator(seed: seed).derived(number)
          for _ in 0..<40 {
            let snapshot = store.snapshot()
            for _ in 0..<20 {
              let (a, b) = (
                UInt64.random(in: 0..<2000, using: &random), UInt64.random(in: 0..<2000, using: &random)
              )
              try snapshot.withValue(id: a, in: rows) { outer in
                try snapshot.withValue(id: b, in: rows) { inner in
                  #expect(inner.withUnsafeBytes { Array($0) } == PackedStore.value(b))
                }
                #expect(outer.withUnsafeBytes { Array($0) } == PackedStore.value(a))
              }
            }
          }
        }
      }
      group.addTask {
        for round in 0..<10 as Range<UInt64> {
          try GroupedStore.fill(store, (round * 150)..<(round * 150 + 200))
          try store.compact()
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.verify().isClean)
    try GroupedStore.check(store.snapshot(), store, 0..<2000)
  }
}
