import PerdureFileIO
import PerdureFormat

extension Store {
  /// Checks the whole store against its invariants, without changing anything. Commits wait
  /// meanwhile; readers do not.
  ///
  /// - Throws: `StoreError` when the store is closed or poisoned, or when the files cannot be
  ///   read. What is wrong with the bytes is not thrown but reported.
  /// - Complexity: reads the log once and every live record once more; memory for a second index.
  public func verify() throws -> VerificationReport {
    try engine.inTurn { state in
      var verification = Verification(engine, state.root, state.catalog, state.indexes)
      try verification.checkLog(state)
      try verification.checkRecords()
      try verification.checkDerivedIndexes()
      return verification.report
    }
  }
}

/// One run over a store. Each step checks the invariants named in `VerificationReport`.
struct Verification {
  private let engine: Engine
  private let root: UnsafeMutablePointer<Root>
  private let catalog: Catalog
  private let indexes: IndexSet
  private(set) var report = VerificationReport()

  init(_ engine: Engine, _ root: UnsafeMutablePointer<Root>, _ catalog: Catalog, _ indexes: IndexSet) {
    self.engine = engine
    self.root = root
    self.catalog = catalog
    self.indexes = indexes
  }

  /// V1 and V3: reads the log as recovery would, and compares.
  mutating func checkLog(_ state: borrowing CommitterState) throws {
    guard let superblock = state.superblock?.current else { return }
    var replay = Replay(NodeArena())
    var scan = LogScan(superblock)
    let numbers = state.segments.segments.keys.sorted()
    do {
      for number in numbers {
        guard let segment = state.segments.segments[number] else { continue }
        let isLast = number == state.end.segment
        let end = isLast ? state.end.offset : UInt64(state.segments.entries[Int(number)].end)
        let link = SegmentChain.Link(segment: segment, size: end, end: end)
        try scan.read(link, isLast: false, progress: { _ in }, apply: { try replay.apply($0) })
      }
      try scan.finish()
    } catch let error as StoreError {
      report.add(.log, at: error.place ?? "the log", error.message)
      return
    }
    report.commits = scan.sequence
    compareIndex(with: replay)
  }

  private mutating func compareIndex(with replay: borrowing Replay) {
    for keyspace in catalog.keyspaces {
      let id = Int(keyspace.id)
      guard id < replay.keyspaces.count else {
        report.add(.index, at: "keyspace \(keyspace.name)", "the log does not make it")
        continue
      }
      let here = Self.words(of: keyspace, root.pointee.trees(of: keyspace))
      let there = Self.words(of: keyspace, replay.keyspaces[id])
      if here != there {
        report.add(
          .index, at: "keyspace \(keyspace.name)",
          "the index has \(here.count) keys and the log \(there.count), or other records")
      }
    }
  }

  private static func words(of keyspace: Keyspace, _ trees: KeyspaceRoot) -> [UInt64] {
    var words: [UInt64] = []
    switch keyspace.kind {
    case .dense:
      var cursor = DenseCursor(trees.dense)
      while cursor.next() { words.append(cursor.word) }
    case .bytes:
      var cursor = OrderedCursor(trees.ordered)
      while cursor.next() { words.append(cursor.payload) }
    }
    return words
  }

  /// V2 and V6.
  mutating func checkRecords() throws {
    let reader = RecordReader(root: root, verifiesChecksum: true)
    for keyspace in catalog.keyspaces {
      let trees = root.pointee.trees(of: keyspace)
      switch keyspace.kind {
      case .dense:
        var cursor = DenseCursor(trees.dense)
        while cursor.next() {
          withUnsafeBytes(of: cursor.id.littleEndian) { check(cursor.word, keyspace, $0, reader) }
        }
      case .bytes:
        var cursor = OrderedCursor(trees.ordered)
        while cursor.next() { check(cursor.payload, keyspace, cursor.key, reader) }
      }
    }
  }

  private mutating func check(
    _ word: UInt64, _ keyspace: Keyspace, _ key: UnsafeRawBufferPointer, _ reader: RecordReader
  ) {
    report.records += 1
    do {
      let record = try reader.record(at: word, keyspace: keyspace.id, key: key)
      guard record.header.kind == .blob else { return }
      report.blobs += 1
      do { _ = try engine.blobs.read(BlobReference(in: record)) } catch {
        report.add(.blob, at: error.place ?? "keyspace \(keyspace.name)", error.message)
      }
    } catch {
      report.add(.address, at: error.place ?? "keyspace \(keyspace.name)", error.message)
    }
  }

  /// V4 and V5: derives every index again, beside the one that is there.
  mutating func checkDerivedIndexes() throws {
    guard report.isClean else { return }
    let arena = NodeArena()
    let rebuilt = Root.allocate(
      keyspaceCount: root.pointee.keyspaceCount, indexCount: root.pointee.indexCount)
    defer { Root.free(rebuilt) }
    rebuilt.pointee.keyspaces.update(from: root.pointee.keyspaces, count: root.pointee.keyspaceCount)
    let available = catalog.ids.subtracting(indexes.unavailable)
    let reader = RecordReader(root: root, verifiesChecksum: false)
    var build = IndexBuild(of: catalog, indexes, rebuilt, reader, engine.blobs, arena)
    let duplicates = try build.fill(available)
    for case .duplicateKey(let index, let key, let existing, let rejected) in duplicates {
      report.add(
        .unique, at: "index \(index.name)", "\(existing) and \(rejected) share the key \(Key.bytes(key))")
    }
    for entry in catalog.indexes where available.contains(entry.index.id) {
      compare(entry.index, rebuilt.pointee.tree(of: entry.index))
    }
  }

  private mutating func compare(_ index: DerivedIndex, _ expected: OrderedTree) {
    var here = OrderedCursor(root.pointee.tree(of: index))
    var there = OrderedCursor(expected)
    while true {
      let (hasHere, hasThere) = (here.next(), there.next())
      guard hasHere || hasThere else { return }
      report.indexEntries += 1
      guard hasHere, hasThere, KeyBytes.compare(here.key, there.key) == 0, here.payload == there.payload
      else {
        let extra = hasHere && (!hasThere || KeyBytes.compare(here.key, there.key) < 0)
        report.add(
          .derivedIndex, at: "index \(index.name)", extra ? "an entry too many" : "an entry is missing")
        return
      }
    }
  }
}
