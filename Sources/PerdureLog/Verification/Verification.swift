import PerdureFileIO
import PerdureFormat

extension Store {
  /// Checks the whole store against its invariants (`VerificationReport.Finding.Invariant`),
  /// without changing anything. Commits wait meanwhile, readers do not.
  ///
  /// - Parameter progress: Called with the number of bytes done and the total number of bytes. The
  ///   total includes an estimate for the records. Throw from it to cancel. Commits wait while it
  ///   runs. The closure must not use this store, because such a call deadlocks.
  /// - Throws: `StoreError` if the store is closed or poisoned, or if the files cannot be read; the
  ///   errors of `progress`. Damage of the bytes is not thrown but reported.
  /// - Complexity: Reads the log once, every live record once more, and the index file. Needs
  ///   memory for a second index.
  public func verify(
    progress: ((_ bytesDone: UInt64, _ bytesTotal: UInt64) throws -> Void)? = nil
  ) throws -> VerificationReport {
    try engine.inTurn { state in
      try withoutActuallyEscaping(progress ?? { _, _ in }) { progress in
        var verification = Verification(
          engine, state.root, state.catalog, state.indexes, state.logBytes, progress)
        try verification.checkSuperblock(state)
        try verification.checkLog(state)
        try verification.checkCheckpoint(state)
        try verification.checkOrder()
        try verification.checkRecords()
        try verification.checkDerivedIndexes()
        return verification.report
      }
    }
  }
}

extension CommitterState {
  /// The number of bytes of the segments up to the log's end.
  fileprivate var logBytes: UInt64 {
    segments.segments.keys.reduce(0) {
      $0 + ($1 == end.segment ? end.offset : UInt64(segments.entries[Int($1)].end))
    }
  }
}

/// One verification of a store. Each step checks the invariants named in `VerificationReport`.
struct Verification {
  let engine: Engine
  let root: UnsafeMutablePointer<Root>
  let catalog: Catalog
  private let indexes: IndexSet
  private let progress: (UInt64, UInt64) throws -> Void
  private let logBytes: UInt64
  var report = VerificationReport()

  init(
    _ engine: Engine, _ root: UnsafeMutablePointer<Root>, _ catalog: Catalog, _ indexes: IndexSet,
    _ logBytes: UInt64, _ progress: @escaping (UInt64, UInt64) throws -> Void
  ) {
    self.engine = engine
    self.root = root
    self.catalog = catalog
    self.indexes = indexes
    self.logBytes = logBytes
    self.progress = progress
  }

  /// The superblock that the next opening will use. V8
  func newestSuperblock() throws -> Superblock {
    let file = try engine.directory.open(StoreFileName.superblock.string, .read)
    return try file.read(Superblock.fileLength, at: 0).withUnsafeBytes { try Superblock.newest(in: $0) }
  }

  mutating func checkSuperblock(_ state: borrowing CommitterState) throws {
    let name = StoreFileName.superblock.string
    do {
      guard let superblock = state.superblock else { return }
      // While both superblocks are read, no other superblock can be written, for example for a
      // checkpoint.
      let (found, current) = try superblock.whileStill { (try newestSuperblock(), $0) }
      let isReader = engine.options.isReadOnly
      if found != current, !isReader {
        report.add(.superblock, at: name, "its newest copy is not the one that was written last")
      }
      // After the reader's opening, a writer may have continued. Then the newest superblock may
      // promise more commits than the reader has read.
      let promise = isReader ? current : found
      if promise.durableEnd > state.end || promise.durableSequence > root.pointee.sequence {
        report.add(.superblock, at: name, "its durable end is after the end of the log")
      }
    } catch let error as FormatError {
      report.add(.superblock, at: "\(name), byte \(error.offset)", "\(error)")
    } catch let error as FileIOError where error.code.isAboutFile {
      report.add(.superblock, at: name, "\(error)")
    } catch let error as FileIOError {
      // The system refused the read. This does not prove damage of the store.
      throw StoreError.io(error, "Verifying the superblock")
    }
  }

  /// V1, V3, V9 and V11: reads the log in the same way as recovery, and compares the results.
  mutating func checkLog(_ state: borrowing CommitterState) throws {
    guard let superblock = state.superblock?.current else { return }
    var replay = Replay(NodeArena(), of: superblock.store)
    var scan = LogScan(superblock)
    var cancellation: (any Error)?
    do {
      var done: UInt64 = 0
      for number in state.segments.segments.keys.sorted() {
        guard let link = Self.link(number, state) else { continue }
        var reported: UInt64 = 0
        try scan.read(link, isLast: false, progress: { _ in }) { parts in
          try replay.apply(parts)
          let offset = parts.last?.position.offset ?? 0
          guard offset >= reported + Self.progressStepBytes else { return }
          reported = offset
          do { try reportProgress(done + offset) } catch {
            cancellation = error
            throw error
          }
        }
        done += link.size
      }
      try scan.finish()
    } catch let error as StoreError where cancellation == nil {
      report.add(.log, at: error.place ?? "the log", error.message)
      report.commits = scan.sequence
      return
    }
    try reportProgress(logBytes)
    report.commits = scan.sequence
    compareCatalog(with: replay)
    compareIndex(with: replay)
    compareUsage(state, with: replay.usage)
  }

  static func link(_ number: UInt64, _ state: borrowing CommitterState) -> SegmentChain.Link? {
    guard let segment = state.segments.segments[number] else { return nil }
    let isLast = number == state.end.segment
    let end = isLast ? state.end.offset : UInt64(state.segments.entries[Int(number)].end)
    return SegmentChain.Link(segment: segment, size: end, end: end)
  }

  /// The intervals between reports of progress, in bytes of the log and in records.
  private static let progressStepBytes: UInt64 = 1 << 20
  private static let progressStepRecords = 4096

  /// Reports progress. The log is half of the work, and the records are the other half.
  private func reportProgress(_ done: UInt64) throws {
    try progress(min(done, 2 * logBytes), max(2 * logBytes, 1))
  }

  /// V9: compares the catalogs.
  private mutating func compareCatalog(with replay: borrowing Replay) {
    if catalog.keyspaces != replay.catalog.keyspaces {
      report.add(.catalog, at: "the catalog", "its keyspaces differ from those that the log defines")
    }
    if catalog.dictionaries != replay.catalog.dictionaries {
      report.add(.catalog, at: "the catalog", "its dictionaries differ from those that the log defines")
    }
    let here = catalog.indexes.map { $0.definition }
    if here != replay.catalog.indexes.map({ $0.definition }) {
      report.add(.catalog, at: "the catalog", "its indexes differ from those that the log defines")
    }
  }

  /// V7: visits every tree from its first to its last entry.
  mutating func checkOrder() throws {
    for keyspace in catalog.keyspaces {
      let trees = root.trees(of: keyspace)
      switch keyspace.kind {
      case .dense: checkOrder(of: trees.dense, "keyspace \(keyspace.name)")
      case .bytes: checkOrder(of: trees.ordered, "keyspace \(keyspace.name)")
      }
    }
    for entry in catalog.indexes {
      checkOrder(of: root.tree(of: entry.index), "index \(entry.index.name)")
    }
    try reportProgress(logBytes)
  }

  private mutating func checkOrder(of table: DenseTable, _ place: String) {
    var cursor = DenseCursor(table)
    var (count, last) = (0, nil as UInt64?)
    while cursor.next() {
      if table.file.isDamaged { return reportDamagedIndex(place) }
      if let last, cursor.id <= last {
        report.add(.order, at: place, "id \(cursor.id) is after \(last)")
        return
      }
      last = cursor.id
      count += 1
    }
    if count != table.count {
      report.add(.order, at: place, "it has \(count) ids, but its count is \(table.count)")
    }
  }

  private mutating func checkOrder(of tree: OrderedTree, _ place: String) {
    var cursor = OrderedCursor(tree)
    var (count, last) = (0, [UInt8]())
    while cursor.next() {
      if tree.file.isDamaged { return reportDamagedIndex(place) }
      let isAfter = last.withUnsafeBytes { count == 0 || KeyBytes.compare(cursor.key, $0) > 0 }
      guard isAfter else {
        report.add(.order, at: place, "key \(Key.bytes(Array(cursor.key))) is after \(Key.bytes(last))")
        return
      }
      last = Array(cursor.key)
      count += 1
    }
    if count != tree.count {
      report.add(.order, at: place, "it has \(count) keys, but its count is \(tree.count)")
    }
  }

  /// Reports a damaged node. The tree below it cannot be checked, and a substitute node has too
  /// many entries to visit.
  private mutating func reportDamagedIndex(_ place: String) {
    do { try engine.checkIndex() } catch { report.add(.order, at: place, error.message) }
  }

  private mutating func compareIndex(with replay: borrowing Replay) {
    for keyspace in catalog.keyspaces {
      let id = Int(keyspace.id)
      // If the log does not define the keyspace, its trees count as empty. V9 reports that.
      let there = id < replay.keyspaces.count ? replay.keyspaces[id] : KeyspaceRoot()
      let here = root.trees(of: keyspace)
      if !Self.haveSameWords(keyspace.kind, here, there) {
        let (count, logged) = (here.count(keyspace.kind), there.count(keyspace.kind))
        report.add(
          .index, at: "keyspace \(keyspace.name)",
          "the index has \(count) keys and the log \(logged), or their records differ")
      }
    }
  }

  /// Whether both indexes have the same addresses, in the same order of keys. (V2 checks that the
  /// record at each address has the key.)
  private static func haveSameWords(
    _ kind: KeyspaceKind, _ here: KeyspaceRoot, _ there: KeyspaceRoot
  ) -> Bool {
    switch kind {
    case .dense:
      var a = DenseCursor(here.dense)
      var b = DenseCursor(there.dense)
      while a.next() { guard b.next(), a.word == b.word else { return false } }
      return !b.next()
    case .bytes:
      var a = OrderedCursor(here.ordered)
      var b = OrderedCursor(there.ordered)
      while a.next() { guard b.next(), a.payload == b.payload else { return false } }
      return !b.next()
    }
  }

  /// V2 and V6: checks every live record.
  mutating func checkRecords() throws {
    let reader = RecordReader(root: root, verifiesChecksum: true)
    // `checkOrder` visited every node and has reported the damage.
    if engine.isIndexDamaged { return }
    for keyspace in catalog.keyspaces {
      let trees = root.trees(of: keyspace)
      switch keyspace.kind {
      case .dense:
        var cursor = DenseCursor(trees.dense)
        while cursor.next() {
          try withUnsafeBytes(of: cursor.id.littleEndian) { try check(cursor.word, keyspace, $0, reader) }
          try reportRecords()
        }
      case .bytes:
        var cursor = OrderedCursor(trees.ordered)
        while cursor.next() {
          try check(cursor.payload, keyspace, cursor.key, reader)
          try reportRecords()
        }
      }
    }
    try reportProgress(logBytes * 2)
  }

  private func reportRecords() throws {
    guard report.records % Self.progressStepRecords == 0 else { return }
    let keys = catalog.keyspaces.reduce(1) { $0 + root.trees(of: $1).count($1.kind) }
    try reportProgress(logBytes + UInt64(Double(logBytes) * Double(report.records) / Double(keys)))
  }

  private mutating func check(
    _ word: UInt64, _ keyspace: Keyspace, _ key: UnsafeRawBufferPointer, _ reader: RecordReader
  ) throws(StoreError) {
    report.records += 1
    var hold = GroupHold()
    defer { hold.release() }
    do {
      let record = try reader.record(at: word, keyspace: keyspace.id, key: key, &hold)
      if record.header.kind == .packed {
        // Each of these is a separate finding, because the error has no offset in the log.
        do { try engine.contents.dictionaries.unpacked(record).deallocate() } catch {
          report.add(.address, at: error.place ?? "keyspace \(keyspace.name)", error.message)
        }
      }
      if record.header.kind == .blob { try checkBlob(of: record, keyspace) }
    } catch {
      if error.code == .io { throw error }
      report.addRecord(at: error.place ?? "keyspace \(keyspace.name)", error.message)
    }
  }

  /// Verifies the blob file of a record.
  ///
  /// - Throws: The system's error, if it does not prove damage of the file.
  private mutating func checkBlob(of record: Record, _ keyspace: Keyspace) throws(StoreError) {
    report.blobs += 1
    do { _ = try engine.blobs.read(BlobReference(in: record)) } catch {
      if let cause = error.cause, !cause.code.isAboutFile { throw error }
      report.add(.blob, at: error.place ?? "keyspace \(keyspace.name)", error.message)
    }
  }

  /// V4 and V5: derives every maintained index again, and compares it with the current one. Does
  /// nothing if a violation was found before.
  mutating func checkDerivedIndexes() throws {
    guard report.isClean else { return }
    let arena = NodeArena()
    let rebuilt = Root.allocate(
      keyspaceCount: root.pointee.keyspaceCount, indexCount: root.pointee.indexCount)
    defer { Root.free(rebuilt) }
    rebuilt.pointee.keyspaces.update(from: root.pointee.keyspaces, count: root.pointee.keyspaceCount)
    let available = catalog.ids.subtracting(indexes.unavailable)
    let reader = RecordReader(root: root, verifiesChecksum: false)
    var build = IndexBuild(of: catalog, indexes, rebuilt, reader, engine.contents, arena)
    let duplicates = try build.fill(available)
    for case .duplicateKey(let index, let key, let existing, let rejected) in duplicates.listed {
      report.add(
        .unique, at: "index \(index.name)", "\(existing) and \(rejected) share the key \(Key.bytes(key))")
    }
    report.count(.unique, duplicates.count - duplicates.listed.count)
    for entry in catalog.indexes where available.contains(entry.index.id) {
      compare(entry.index, rebuilt.tree(of: entry.index))
    }
  }

  private mutating func compare(_ index: DerivedIndex, _ expected: OrderedTree) {
    var here = OrderedCursor(root.tree(of: index))
    var there = OrderedCursor(expected)
    while true {
      let (hasHere, hasThere) = (here.next(), there.next())
      guard hasHere || hasThere else { return }
      report.indexEntries += 1
      guard hasHere, hasThere, KeyBytes.compare(here.key, there.key) == 0, here.payload == there.payload
      else {
        let extra = hasHere && (!hasThere || KeyBytes.compare(here.key, there.key) < 0)
        report.add(
          .derivedIndex, at: "index \(index.name)",
          extra ? "a surplus entry" : "an entry is missing, or two records had it and one was removed")
        return
      }
    }
  }
}
