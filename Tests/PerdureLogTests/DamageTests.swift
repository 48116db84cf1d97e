import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A small store of three segments and a blob file, which the tests damage.
struct DamagedStore {
  static let path = "/s.perdure"
  let image: CrashImage
  /// The content after each commit.
  let contents: [CrashHistory.Content]

  /// - Parameter withCheckpoints: Whether checkpoints are written after commits 4 and 8, and at
  ///   closing.
  init(closing: Bool, withCheckpoints: Bool = false) throws {
    let fileSystem = SimulatedFileSystem()
    let history = CrashHistory()
    var store: Store? = try Self.open(fileSystem, withCheckpoints: withCheckpoints)
    try Self.fill(try #require(store), history, withCheckpoints: withCheckpoints)
    let last = try #require(store).snapshot().sequence
    if closing { try store?.close() }
    store = nil
    image = fileSystem.currentImage
    contents = history.contents(upTo: last)
  }

  private static func fill(_ store: Store, _ history: CrashHistory, withCheckpoints: Bool) throws {
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    _ = try store.defineIndex(.slices("first byte", rows, .value(offset: 0, length: 1)))
    for id in 1...10 as ClosedRange<UInt64> {
      let value = [UInt8](repeating: UInt8(id), count: id == 5 ? 1500 : Int(id) * 140)
      let name = [UInt8](repeating: 0x61, count: Int(id))
      let (_, sequence) = try store.write { transaction in
        try transaction.put(value, id: id, in: rows)
        try transaction.put([UInt8(id)], key: name, in: names)
        if id > 7 { try transaction.remove(id: id - 6, in: rows) }
      }
      var change: CrashHistory.Change = [
        (CrashKey(keyspace: "rows", key: .id(id)), value),
        (CrashKey(keyspace: "names", key: .bytes(name)), [UInt8(id)]),
      ]
      if id > 7 { change.append((CrashKey(keyspace: "rows", key: .id(id - 6)), nil)) }
      history.note(sequence, change)
      if withCheckpoints, id == 4 || id == 8 { try store.checkpoint() }
    }
  }

  static func open(_ fileSystem: any FileSystem, withCheckpoints: Bool = false) throws -> Store {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    if withCheckpoints { options.checkpoints.closeTailBytes = 0 }
    options.checksIndexAtOpening = true
    return try Store(at: path, options: options)
  }

  /// The files with content, without the directory and LOCK.
  var files: [String] { image.paths.filter { !$0.hasSuffix("/") && !$0.hasSuffix("/LOCK") } }

  func bytes(_ file: String) -> [UInt8] { image.bytes(at: file) ?? [] }

  /// A file system on which the file has these bytes.
  func withFile(_ file: String, _ bytes: [UInt8]) -> any FileSystem {
    var damaged = image
    damaged.setBytes(bytes, at: file)
    return damaged.fileSystem()
  }

  /// Opens the store and reads everything. Returns the number of the commit after which the store
  /// had this content; nil if the store throws an error or a verification has findings. Throws in
  /// all other cases.
  func outcome(_ fileSystem: any FileSystem) throws -> UInt64? {
    let found: CrashHistory.Content
    let sequence: UInt64
    do {
      let store = try Self.open(fileSystem)
      sequence = store.snapshot().sequence
      found = try CrashOracle.content(of: store)
      let report = try store.verify()
      guard report.isClean else { return nil }
    } catch is StoreError {
      return nil
    }
    guard found == contents[Int(sequence)] else { throw Violation("wrong content was read") }
    return sequence
  }

  var last: UInt64 { UInt64(contents.count - 1) }
}

/// Tests with single bits. The campaign `rot` in Proof covers bits, lengths and sectors.
@Suite("Damaged files of a store")
struct DamageTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("In an unclosed store, undetected damage loses at most the last commit")
  func unclosed() throws {
    let store = try DamagedStore(closing: false)
    #expect(try store.outcome(store.image.fileSystem()) == store.last)
    let file = try #require(store.files.last { $0.hasSuffix(".segment") })
    var random = SeededGenerator(seed: seed)
    let bytes = store.bytes(file)
    var lost = 0
    for place in bytes.indices {
      var damaged = bytes
      damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      guard let sequence = try store.outcome(store.withFile(file, damaged)) else { continue }
      guard sequence == store.last - 1 else {
        Issue.record("byte \(place): the store has lost commits: it opened at \(sequence) of \(store.last)")
        return
      }
      lost += 1
    }
    #expect(lost > 0)
  }

  @Test("A damaged value can be replaced, and its index is available after reopening")
  func damagedBlob() throws {
    let store = try DamagedStore(closing: true)
    let file = try #require(store.files.first { $0.hasSuffix(".blob") })
    let fileSystem = store.withFile(file, Array(store.bytes(file).dropLast(9)))
    var options = StoreOptions()
    options.fileSystem = fileSystem
    let opened = try Store(at: DamagedStore.path, options: options)
    #expect(opened.recoveryReport.unavailableIndexes == ["first byte"])
    let rows = try opened.keyspace("rows", .dense)
    let error = #expect(throws: StoreError.self) { try opened.snapshot().value(id: 5, in: rows) }
    #expect(error?.code == .corruption)
    let index = try #require(try opened.indexes.first).index
    let lacking = #expect(throws: StoreError.self) { try opened.snapshot().count(in: index) }
    #expect(lacking?.code == .indexUnavailable && lacking?.place == error?.place && error?.place != nil)
    #expect(try opened.snapshot().value(id: 6, in: rows)?.count == 840)
    try opened.write { try $0.put([5], id: 5, in: rows) }
    let definition = try #require(try opened.indexes.first).definition
    let defined = try opened.defineIndex(definition)
    let still = #expect(throws: StoreError.self) { try opened.snapshot().count(in: defined) }
    #expect(still?.code == .indexUnavailable)
    try opened.close()
    let again = try Store(at: DamagedStore.path, options: options)
    #expect(again.recoveryReport.unavailableIndexes == [])
    #expect(try again.snapshot().count(in: defined) > 0)
    #expect(try again.verify().isClean)
  }

  /// A store with an index of a value in a blob file, and an index of the group counts of the first
  /// index.
  private func countedStore() throws -> (options: StoreOptions, fileSystem: SimulatedFileSystem) {
    let fileSystem = SimulatedFileSystem()
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    let store = try Store(at: DamagedStore.path, options: options)
    let rows = try store.keyspace("rows", .dense)
    let groups = try store.defineIndex(.slices("groups", rows, .value(offset: 0, length: 8)))
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
    try store.write { try $0.put([UInt8](repeating: 1, count: 1500), id: 1, in: rows) }
    try store.close()
    return (options, fileSystem)
  }

  @Test("The errors of an index and its counts name the file of a damaged value")
  func countedDamage() throws {
    let (options, fileSystem) = try countedStore()
    let file = try #require(
      try fileSystem.contents(of: DamagedStore.path).first { $0.hasSuffix(".blob") })
    try fileSystem.open(DamagedStore.path + "/" + file, .readWrite).write([7], at: 1000)
    let store = try Store(at: DamagedStore.path, options: options)
    #expect(store.recoveryReport.unavailableIndexes == ["counts", "groups"])
    for entry in try store.indexes {
      let error = #expect(throws: StoreError.self) { try store.snapshot().count(in: entry.index) }
      #expect(error?.code == .indexUnavailable)
      #expect(error?.place?.contains(file) == true, "\(entry.index.name): \(String(describing: error))")
      #expect(error?.message.contains("remove it") == true)
    }
  }

  @Test("The error of an index with an unreadable value gives the reason, and does not suggest removal")
  func refusedValue() throws {
    let (options, fileSystem) = try countedStore()
    fileSystem.inject(
      InjectedFailure(of: .open, repeats: true, code: .permissionDenied, pathContains: ".blob"))
    let store = try Store(at: DamagedStore.path, options: options)
    for entry in try store.indexes {
      let error = #expect(throws: StoreError.self) { try store.snapshot().count(in: entry.index) }
      #expect(error?.code == .indexUnavailable && error?.cause?.code == .permissionDenied)
      #expect(error?.cause?.path.contains(".blob") == true)
      #expect(error?.message.contains("remove") == false && error?.message.contains("put") == false)
    }
  }
}
