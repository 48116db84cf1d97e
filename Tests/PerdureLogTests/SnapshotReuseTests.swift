import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Snapshots that are used again")
struct SnapshotReuseTests {
  private struct Refusal: Error {}

  private func rows(_ options: (inout StoreOptions) -> Void = { _ in }) throws -> (Store, Keyspace) {
    var memory = try MemoryStore()
    options(&memory.options)
    let store = try memory.open()
    return (store, try store.keyspace("rows", .dense))
  }

  private func put(_ value: UInt8, _ store: Store, _ rows: Keyspace) throws {
    try store.write(durability: .processCrash) { transaction in
      for id: UInt64 in 1...2 { try transaction.put([value], id: id, in: rows) }
    }
  }

  @Test("The examples in the documentation of withSnapshot and advance give the written values")
  func examples() throws {
    let store = try MemoryStore().open()
    let names = try store.keyspace("names", .dense)
    try store.write { try $0.put(Array("Grace".utf8), id: 1, in: names) }
    let length = try store.withSnapshot { snapshot in
      try snapshot.withValue(id: 1, in: names) { $0.byteCount }
    }
    #expect(length == 5)
    var snapshot = store.snapshot()
    try store.write { try $0.put(Array("Ada".utf8), id: 1, in: names) }
    store.advance(&snapshot)
    let name = try snapshot.value(id: 1, in: names)
    #expect(name == Array("Ada".utf8))
  }

  @Test(
    "Each call of withSnapshot reads the newest commit, with the same object and without a pin afterwards")
  func newest() throws {
    let (store, rows) = try rows()
    var objects: Set<ObjectIdentifier> = []
    for value: UInt8 in 1...9 {
      try put(value, store, rows)
      let sequence = try store.withSnapshot { snapshot in
        objects.insert(ObjectIdentifier(snapshot))
        let found = try snapshot.value(id: 2, in: rows)
        #expect(found == [value])
        #expect(store.engine.pins.held().exact == [store.engine.version])
        return snapshot.sequence
      }
      #expect(sequence == store.snapshot().sequence)
      #expect(!store.engine.pins.isAnyHeld)
    }
    #expect(objects.count == 1)
  }

  @Test("A snapshot that the closure keeps has its state as long as it exists")
  func kept() throws {
    let (store, rows) = try rows()
    var kept: [Snapshot] = []
    for value: UInt8 in 1...5 {
      try put(value, store, rows)
      store.withSnapshot { kept.append($0) }
    }
    for (position, snapshot) in kept.enumerated() {
      #expect(try snapshot.value(id: 1, in: rows) == [UInt8(position) + 1])
    }
    #expect(Set(kept.map(ObjectIdentifier.init)).count == 5 && store.engine.pins.count == 5)
    kept = []
    #expect(!store.engine.pins.isAnyHeld)
  }

  @Test("A call within the closure has a snapshot of its own, and errors of the closure release both")
  func nested() throws {
    let (store, rows) = try rows()
    try put(1, store, rows)
    for _ in 0..<3 {
      #expect(throws: Refusal.self) {
        try store.withSnapshot { outer in
          try put(2, store, rows)
          try store.withSnapshot { inner in
            #expect(try outer.value(id: 1, in: rows) == [1])
            #expect(try inner.value(id: 1, in: rows) == [2])
            throw Refusal()
          }
        }
      }
      #expect(!store.engine.pins.isAnyHeld)
      try put(1, store, rows)
    }
  }

  @Test("A snapshot that has opened a long value is not used again")
  func longValues() throws {
    let (store, rows) = try rows { $0.blobThresholdBytes = 1024 }
    let long = [UInt8](repeating: 7, count: 5000)
    try store.write(durability: .processCrash) { try $0.put(long, id: 1, in: rows) }
    for _ in 0..<3 {
      try store.withSnapshot { snapshot in
        #expect(!snapshot.hasOpenedValues)
        let found = try snapshot.value(id: 1, in: rows)
        #expect(found == long)
        #expect(snapshot.hasOpenedValues)
      }
    }
    var snapshot = store.snapshot()
    _ = try snapshot.value(id: 1, in: rows)
    try store.write(durability: .processCrash) { try $0.put([1], id: 2, in: rows) }
    store.advance(&snapshot)
    #expect(!snapshot.hasOpenedValues)
    #expect(try snapshot.value(id: 2, in: rows) == [1])
  }

  @Test("A weak reference to the snapshot of withSnapshot finds no key after the call")
  func weakReference() throws {
    let (store, rows) = try rows()
    try put(1, store, rows)
    weak var late: Snapshot?
    store.withSnapshot { late = $0 }
    let snapshot = try #require(late)
    #expect(try snapshot.value(id: 1, in: rows) == nil)
    #expect(snapshot.count(in: rows) == 0 && snapshot.sequence == 0)
  }

  @Test("advance moves a snapshot in place, and releases its earlier state")
  func advancing() throws {
    let (store, rows) = try rows()
    try put(1, store, rows)
    var snapshot = store.snapshot()
    let object = ObjectIdentifier(snapshot)
    for value: UInt8 in 2...9 {
      try put(value, store, rows)
      store.advance(&snapshot)
      #expect(try snapshot.value(id: 1, in: rows) == [value])
      #expect(ObjectIdentifier(snapshot) == object)
      #expect(store.engine.pins.held().exact == [store.engine.version])
      store.advance(&snapshot)
      #expect(ObjectIdentifier(snapshot) == object && store.engine.pins.count == 1)
    }
  }

  @Test("advance leaves other references to the snapshot in the earlier state")
  func shared() throws {
    let (store, rows) = try rows()
    try put(1, store, rows)
    var snapshot = store.snapshot()
    let earlier = snapshot
    try put(2, store, rows)
    store.advance(&snapshot)
    #expect(try earlier.value(id: 1, in: rows) == [1])
    #expect(try snapshot.value(id: 1, in: rows) == [2])
    try store.withSnapshot { lent in
      var moved = lent
      try put(3, store, rows)
      store.advance(&moved)
      #expect(try lent.value(id: 1, in: rows) == [2])
      #expect(try moved.value(id: 1, in: rows) == [3])
    }
  }

  @Test("A snapshot of another store advances to this store")
  func otherStore() throws {
    let (store, rows) = try rows()
    let (other, _) = try self.rows()
    try put(1, store, rows)
    var snapshot = other.snapshot()
    store.advance(&snapshot)
    #expect(try snapshot.value(id: 1, in: rows) == [1])
    #expect(!other.engine.pins.isAnyHeld)
  }

  @Test("After the store is closed, withSnapshot and advance give the state at closing")
  func closed() throws {
    let (store, rows) = try rows()
    var snapshot = store.snapshot()
    try put(1, store, rows)
    store.withSnapshot { _ in }
    try put(2, store, rows)
    try store.close()
    for _ in 0..<2 { #expect(try store.withSnapshot { try $0.value(id: 1, in: rows) } == [2]) }
    store.advance(&snapshot)
    #expect(try snapshot.value(id: 1, in: rows) == [2])
  }

  @Test("In a store that was opened for reading, withSnapshot and advance give the state of the last refresh")
  func reading() throws {
    var memory = try MemoryStore()
    let writer = try memory.open()
    let rows = try writer.keyspace("rows", .dense)
    try put(1, writer, rows)
    memory.options.isReadOnly = true
    let reader = try memory.open()
    var snapshot = reader.snapshot()
    try put(2, writer, rows)
    #expect(try reader.withSnapshot { try $0.value(id: 1, in: rows) } == [1])
    _ = try reader.refresh()
    #expect(try reader.withSnapshot { try $0.value(id: 1, in: rows) } == [2])
    reader.advance(&snapshot)
    #expect(try snapshot.value(id: 1, in: rows) == [2])
  }

  @Test("A released store frees its engine, although withSnapshot was used")
  func released() throws {
    weak var engine: Engine?
    var kept: Snapshot?
    do {
      let (store, rows) = try rows()
      try put(1, store, rows)
      store.withSnapshot { _ in store.withSnapshot { kept = $0 } }
      engine = store.engine
      try store.close()
    }
    #expect(engine != nil && kept?.sequence ?? 0 > 0)
    kept = nil
    #expect(engine == nil)
  }

  @Test("Threads that lend and advance snapshots beside commits see whole commits in order")
  func threads() async throws {
    let (store, rows) = try rows()
    try put(0, store, rows)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          var snapshot = store.snapshot()
          var last: UInt64 = 0
          for _ in 0..<1000 {
            let sequence = try store.withSnapshot { lent in
              let (first, second) = try (lent.value(id: 1, in: rows), lent.value(id: 2, in: rows))
              #expect(first == second)
              return lent.sequence
            }
            store.advance(&snapshot)
            #expect(try snapshot.value(id: 1, in: rows) == snapshot.value(id: 2, in: rows))
            #expect(sequence >= last && snapshot.sequence >= sequence)
            last = snapshot.sequence
            await Task.yield()
          }
        }
      }
      for value in 0..<1000 {
        try put(UInt8(value % 256), store, rows)
        await Task.yield()
      }
      try await group.waitForAll()
    }
    #expect(!store.engine.pins.isAnyHeld)
  }
}
