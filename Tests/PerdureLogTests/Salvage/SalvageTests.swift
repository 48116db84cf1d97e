import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Salvaging a damaged store")
struct SalvageTests {
  private let fileSystem = SimulatedFileSystem()
  private let path = SalvagedStore.path

  private var options: StoreOptions { SalvagedStore.options(fileSystem, 4096) }

  private func segment(_ number: UInt64) -> String { path + "/" + StoreFileName.segment(number).string }

  private func bytes(_ file: String) throws -> [UInt8] {
    let file = try fileSystem.open(file, .read)
    return try file.read(Int(file.size()), at: 0)
  }

  private func overwrite(_ file: String, _ range: Range<Int>, with byte: UInt8 = 0) throws {
    try fileSystem.open(file, .readWrite).write(
      [UInt8](repeating: byte, count: range.count), at: UInt64(range.lowerBound))
  }

  /// Makes ten commits in several segments. They put "v1" … "v10" under ids 1 to 10.
  private func fill(closing: Bool = true) throws {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for id in 1...10 as ClosedRange<UInt64> {
      try store.write {
        try $0.put(Array("v\(id)".utf8) + [UInt8](repeating: 1, count: 700), id: id, in: rows)
      }
    }
    if closing { try store.close() }
  }

  private func salvage(keepsUnfinishedCommits: Bool = false) throws -> (SalvageReport, Set<UInt64>) {
    let report = try Store.salvage(
      from: path, to: SalvagedStore.target, options: options, keepsUnfinishedCommits: keepsUnfinishedCommits)
    let content = try SalvagedStore.content(of: SalvagedStore.target, fileSystem)
    return (
      report,
      Set(
        content.keys.map {
          $0.key.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
        })
    )
  }

  private let all = Set(1...10 as ClosedRange<UInt64>)

  @Test("A failed sync of the new store is an error, with the system's error as cause")
  func failedSyncs() throws {
    var codes: Set<StoreError.Code> = []
    for nth in 1...12 {
      let fileSystem = SimulatedFileSystem()
      let store = try Store(at: SalvagedStore.path, options: SalvagedStore.options(fileSystem, 4096))
      let rows = try store.keyspace("rows", .dense)
      for id in 1...9 as ClosedRange<UInt64> {
        try store.write { try $0.put([UInt8](repeating: 1, count: 700), id: id, in: rows) }
      }
      try store.close()
      fileSystem.inject(
        InjectedFailure(
          of: .sync, nth: nth, repeats: true, code: .noSpace, pathContains: SalvagedStore.target))
      do {
        _ = try Store.salvage(
          from: SalvagedStore.path, to: SalvagedStore.target, options: SalvagedStore.options(fileSystem, 4096)
        )
      } catch let error as StoreError {
        codes.insert(error.code)
        #expect(error.cause?.code == .noSpace, "\(error)")
      }
    }
    #expect(!codes.isEmpty && codes.isSubset(of: [.io, .diskFull]), "\(codes)")
  }

  @Test("An intact store is restored unchanged, and the report is clean")
  func undamaged() throws {
    try fill()
    let (report, ids) = try salvage()
    #expect(ids == all)
    #expect(report.isClean)
    #expect(report.contents == [.init(keyspace: "rows", keys: 10)])
    #expect(report.lastSequence == 11 && report.commitsLost.isEmpty && report.commitsIncomplete.isEmpty)
  }

  @Test("Without the superblock and the lock, all values are restored")
  func noSuperblock() throws {
    try fill()
    try fileSystem.remove(path + "/SUPERBLOCK")
    try fileSystem.remove(path + "/LOCK")
    let (report, ids) = try salvage()
    #expect(ids == all)
    #expect(report.damages.map(\.reason) == [.superblock])
  }

  @Test("Without the superblock and segment headers, all values are restored")
  func noHeaders() throws {
    try fill()
    try fileSystem.remove(path + "/SUPERBLOCK")
    for number in 1...3 as ClosedRange<UInt64> { try overwrite(segment(number), 0..<128) }
    let (report, ids) = try salvage()
    #expect(ids == all)
    #expect(report.damages.filter { $0.reason == .segmentHeader }.count == 3)
  }

  @Test("Without the superblock and headers, frames with damaged records identify the store")
  func noHeadersAndNoWholeFrame() throws {
    try fill()
    try fileSystem.remove(path + "/SUPERBLOCK")
    for number in 1...3 as ClosedRange<UInt64> {
      let frames = try SalvagedFrames(segment(number), bytes(segment(number)), number).frames
      try overwrite(segment(number), 0..<128)
      for frame in frames where frame.count > 700 {
        try overwrite(segment(number), (frame.lowerBound + 300)..<(frame.lowerBound + 304))
      }
    }
    let (report, ids) = try salvage()
    #expect(ids.isEmpty)
    #expect(report.frames >= 10 && report.contents == [.init(keyspace: "rows", keys: 0)])
  }

  @Test("If the first sectors of two segments are exchanged, only these sectors are lost")
  func exchangedHeaders() throws {
    try fill()
    let (first, second) = try (bytes(segment(1)), bytes(segment(2)))
    try fileSystem.open(segment(1), .readWrite).write(Array(second[..<512]), at: 0)
    try fileSystem.open(segment(2), .readWrite).write(Array(first[..<512]), at: 0)
    let (report, ids) = try salvage()
    let frames =
      try SalvagedFrames(segment(1), first, 1).frames + SalvagedFrames(segment(2), second, 2).frames
    let hit = frames.count { $0.lowerBound < 512 && $0.count > 700 }
    #expect(ids.count >= 10 - hit && ids.isSubset(of: all))
    #expect(report.damages.filter { $0.reason == .segmentHeader }.count == 2)
    #expect(!report.damages.contains { $0.reason == .foreign })
  }

  @Test("A renamed segment is identified by its header")
  func renamed() throws {
    try fill()
    let content = try bytes(segment(2))
    try fileSystem.remove(segment(2))
    try fileSystem.open(segment(9), .create).write(content, at: 0)
    let (report, ids) = try salvage()
    #expect(ids == all)
    #expect(report.damages.map(\.reason) == [.foreign])
  }

  @Test("A record that ends with zeros is restored even if its frame header is damaged")
  func zerosAtEnd() throws {
    do {
      let store = try Store(at: path, options: options)
      let rows = try store.keyspace("rows", .dense)
      for id in 1...20 as ClosedRange<UInt64> {
        try store.write { try $0.put([1] + [UInt8](repeating: 0, count: 300), id: id, in: rows) }
      }
      try store.close()
    }
    let frames = try SalvagedFrames(segment(1), bytes(segment(1)), 1).frames.filter { $0.count > 300 }
    let last = try #require(frames.last)
    try overwrite(segment(1), last.lowerBound..<(last.lowerBound + 64))
    for file in try fileSystem.contents(of: path) where file.hasSuffix(".segment") {
      if path + "/" + file != segment(1) { try fileSystem.remove(path + "/" + file) }
    }
    let (_, found) = try salvage()
    #expect(frames.count < 20 && found == Set(1...UInt64(frames.count)))
  }

  @Test("Damage in a frame header loses no record, and damage in a record loses only that record")
  func frameAndRecord() throws {
    try fill()
    let store = try SalvagedFrames(segment(2), bytes(segment(2)), 2)
    try overwrite(segment(2), store.frames[0].lowerBound..<(store.frames[0].lowerBound + 64))
    try overwrite(segment(2), (store.frames[1].upperBound - 50)..<store.frames[1].upperBound)
    let (report, ids) = try salvage()
    #expect(ids.count == 9)
    #expect(report.damages.map(\.reason) == [.frames, .records])
    #expect(report.damages.map(\.file) == Array(repeating: StoreFileName.segment(2).string, count: 2))
    #expect(Int(report.damages[0].offset) == store.frames[0].lowerBound && report.damages[0].length == 64)
    #expect(report.commitsIncomplete.count == 1)
    #expect(report.keysMaybeOlder > 0 && report.keysMaybeOlder < 9)
  }

  @Test("A group with a wrong checksum is reported, even if all its records are intact")
  func groupEnd() throws {
    let random = SeededGenerator.forTest("salvage of groups with damaged ends")
    // A store may have few groups, and one group in eight has no padding that can be damaged.
    var stores: [(store: SalvagedStore, ends: [GroupEnd])] = []
    for number in 0..<16 as Range<UInt64> where stores.last?.ends.isEmpty ?? true {
      var random = random.derived(number)
      let store = try SalvagedStore(
        &random, commits: 120, segmentCapacityBytes: 16384, .init(compacts: true, packs: true))
      stores.append((store, try groupEnds(of: store)))
    }
    let (store, ends) = try #require(stores.last)
    #expect(!ends.isEmpty)
    let fileSystem = store.image.fileSystem()
    func salvage() throws -> (SalvageReport, [StoredKey: [UInt8]]) {
      let target = SalvagedStore.target
      if try fileSystem.kind(of: target) != nil {
        for name in try fileSystem.contents(of: target) { try fileSystem.remove(target + "/" + name) }
      }
      let options = SalvagedStore.options(fileSystem, 16384)
      let report = try Store.salvage(from: path, to: target, options: options)
      return (report, try SalvagedStore.content(of: target, fileSystem))
    }
    let (clean, content) = try salvage()
    #expect(clean.isClean)
    for end in ends {
      try fileSystem.open(end.file, .readWrite).write([1], at: UInt64(end.range.upperBound - 1))
    }
    let places = Set(ends.map { "\(SalvagedStore.name($0.file)) \($0.range)" })
    let (report, found) = try salvage()
    let named = report.damages.map { "\($0.file) \(Int($0.offset)..<Int($0.offset + $0.length))" }
    #expect(Set(named) == places && named.count == places.count)
    #expect(found == content && report.keysMaybeOlder == 0)
  }

  /// A group with padding after its stored bytes.
  private typealias GroupEnd = (file: String, range: Range<Int>)

  private func groupEnds(of store: SalvagedStore) throws -> [GroupEnd] {
    try store.records.compactMap { record in
      guard let place = record.entry, let bytes = store.image.bytes(at: record.file) else { return nil }
      let entry = try bytes[place].withUnsafeBytes { try GroupEntry(reading: $0) }
      return entry.storedLength % 8 == 0 ? nil : (record.file, Int(entry.fileOffset)..<Int(entry.fileEnd))
    }
  }

  @Test("A missing segment is reported, and its commits are lost")
  func missingSegment() throws {
    try fill()
    try fileSystem.remove(segment(2))
    let (report, ids) = try salvage()
    #expect(report.damages.map(\.reason) == [.segmentMissing])
    #expect(report.commitsLost.count == 1)
    #expect(ids.count + (report.commitsLost.first?.count ?? 0) == 10)
  }

  @Test("Unreadable ranges are reported, and all other values are restored")
  func unreadable() throws {
    try fill()
    let lost = try SalvagedFrames(segment(2), bytes(segment(2)), 2).frames.count
    fileSystem.inject(
      InjectedFailure(of: .read, repeats: true, pathContains: StoreFileName.segment(2).string))
    let (report, ids) = try salvage()
    #expect(ids.count == 10 - lost)
    #expect(report.damages.contains { $0.reason == .unreadable && $0.offset == 0 && $0.length > 2000 })
  }

  @Test("If another process has locked the target's draft, the salvage is refused and the draft is kept")
  func lockedTarget() throws {
    try fill()
    try fileSystem.createDirectory(SalvagedStore.target + ".copy")
    _ = try fileSystem.open(SalvagedStore.target + ".copy/LOCK", .create)
    fileSystem.inject(
      InjectedFailure(of: .lock, repeats: true, code: .locked, pathContains: SalvagedStore.target))
    let error = #expect(throws: StoreError.self) { try salvage() }
    #expect(error?.code == .locked)
    #expect(try fileSystem.contents(of: SalvagedStore.target + ".copy") == ["LOCK"])
    #expect(try fileSystem.kind(of: SalvagedStore.target) == nil)
  }

  @Test("A segment copied from another store is ignored and reported")
  func foreign() throws {
    try fill()
    let other = SimulatedFileSystem()
    let store = try Store(at: path, options: SalvagedStore.options(other, 4096))
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1], id: 77, in: rows) }
    try store.close()
    let content = try #require(other.currentImage.bytes(at: segment(1)))
    let file = try fileSystem.open(path + "/" + StoreFileName.segment(9).string, .create)
    try file.write(content, at: 0)
    let (report, ids) = try salvage()
    #expect(ids == all)
    #expect(report.damages.map(\.reason) == [.foreign])
  }

  @Test("A commit that a crash interrupted is restored only on request")
  func unfinished() throws {
    do {
      let store = try Store(at: path, options: options)
      let rows = try store.keyspace("rows", .dense)
      try store.write(durability: .powerLoss) { try $0.put([1], id: 1, in: rows) }
      // Larger than a segment, so that the commit has several frames.
      try store.write { transaction in
        for id in 2...9 as ClosedRange<UInt64> {
          try transaction.put([UInt8](repeating: 2, count: 900), id: id, in: rows)
        }
      }
    }
    let last = try #require(fileSystem.contents(of: path).last { $0.hasSuffix(".segment") })
    #expect(last != StoreFileName.segment(1).string)
    try fileSystem.remove(path + "/" + last)
    let (report, ids) = try salvage()
    #expect(ids == [1])
    #expect(report.isClean)
    #expect(report.recordsUnfinished > 0)
    for name in try fileSystem.contents(of: SalvagedStore.target) {
      try fileSystem.remove(SalvagedStore.target + "/" + name)
    }
    let (kept, more) = try salvage(keepsUnfinishedCommits: true)
    #expect(more.count == 1 + report.recordsUnfinished)
    #expect(kept.recordsUnfinished == 0)
  }

  @Test("A missing blob file is reported, and an older value is restored instead")
  func blobs() throws {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    try store.write { transaction in
      try transaction.put([1], id: 1, in: rows)
      try transaction.put([UInt8](repeating: 3, count: 5000), id: 2, in: rows)
    }
    try store.write { try $0.put([UInt8](repeating: 4, count: 5000), id: 1, in: rows) }
    try store.close()
    try fileSystem.remove(path + "/" + StoreFileName.blob(2).string)
    let report = try Store.salvage(from: path, to: SalvagedStore.target, options: options)
    let content = try SalvagedStore.content(of: SalvagedStore.target, fileSystem)
    #expect(Set(content.values) == [[1], [UInt8](repeating: 3, count: 5000)])
    #expect(report.damages.map(\.reason) == [.blob])
    #expect(report.damages.first?.file == StoreFileName.blob(2).string)
  }

  /// The state of the blob files of a store without superblock and segment headers.
  enum BlobState: CaseIterable { case intact, withoutHeaders, missing }

  @Test(
    "Without superblock and segment headers, only the headers of blob files make their values readable",
    arguments: BlobState.allCases)
  func blobsOfNoStore(_ state: BlobState) throws {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1], id: 1, in: rows) }
    try store.write { transaction in
      try transaction.put([UInt8](repeating: 4, count: 5000), id: 1, in: rows)
      try transaction.put([UInt8](repeating: 5, count: 5000), id: 2, in: rows)
    }
    try store.close()
    for number in 1...2 as ClosedRange<UInt64> {
      let blob = path + "/" + StoreFileName.blob(number).string
      switch state {
      case .intact: break
      case .withoutHeaders: try overwrite(blob, 0..<BlobHeader.length)
      case .missing: try fileSystem.remove(blob)
      }
    }
    try fileSystem.remove(path + "/" + StoreFileName.superblock.string)
    for name in try fileSystem.contents(of: path) where name.hasSuffix(".segment") {
      try overwrite(path + "/" + name, 0..<SegmentHeader.length)
    }
    let report = try Store.salvage(from: path, to: SalvagedStore.target, options: options)
    let values = Set(try SalvagedStore.content(of: SalvagedStore.target, fileSystem).values)
    let long = [4, 5].map { [UInt8](repeating: $0, count: 5000) }
    #expect(values == (state == .intact ? Set(long) : [[1]]))
    #expect(report.contents.map(\.keys) == [values.count])
    let lost = report.damages.filter { $0.reason == .blob }.map(\.file)
    let names = (1...2 as ClosedRange<UInt64>).map { StoreFileName.blob($0).string }
    #expect(lost == (state == .intact ? [] : names))
  }

  @Test("A keyspace without a definition gets another name, and its index is restored")
  func definitions() throws {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    let definition = IndexDefinition(
      name: "first byte",
      source: .records(
        keyspaces: [rows], extractor: SliceExtractor.name,
        parameters: SliceExtractor.parameters([.value(offset: 0, length: 1)])))
    _ = try store.defineIndex(definition)
    try store.write { try $0.put([5], id: 1, in: rows) }
    try store.close()
    // The keyspace's record is the first of the log.
    try overwrite(segment(1), 200..<210, with: 9)
    let report = try Store.salvage(from: path, to: SalvagedStore.target, options: options)
    #expect(report.contents == [.init(keyspace: "lost-1", isNameLost: true, keys: 1)])
    #expect(report.damages.filter { $0.reason == .definition }.count == 1)
    #expect(report.indexes == 1)
    let salvaged = try Store(at: SalvagedStore.target, options: options)
    let index = try #require(try salvaged.indexes.first)
    #expect(try salvaged.snapshot().count(in: index.index) == 1)
  }

  @Test("A target that is not empty is refused and stays unchanged, and a source without a store is refused")
  func target() throws {
    try fill()
    for target in [path, "/other"] {
      if target != path {
        try fileSystem.createDirectory(target)
        _ = try fileSystem.open(target + "/x", .create)
      }
      let before = fileSystem.currentImage
      let error = #expect(throws: StoreError.self) {
        try Store.salvage(from: path, to: target, options: options)
      }
      #expect(error?.code == .invalidArgument)
      #expect(fileSystem.currentImage == before)
    }
    let error = #expect(throws: StoreError.self) {
      try Store.salvage(from: "/other", to: "/new", options: options)
    }
    #expect(error?.code == .notAStore)
  }

  @Test("Progress goes from zero to the total, and an error of the callback leaves no files")
  func progress() throws {
    struct Cancellation: Error {}
    try fill()
    var seen: [UInt64] = []
    _ = try Store.salvage(from: path, to: SalvagedStore.target, options: options) { done, total in
      #expect(done <= total)
      seen.append(done)
      if done == total { seen.append(.max) }
    }
    #expect(seen.first == 0 && seen.last == .max && seen == seen.sorted())
    for step in 0..<seen.count - 1 {
      var calls = 0
      #expect(throws: Cancellation.self) {
        try Store.salvage(from: path, to: "/cancelled", options: options) { _, _ in
          calls += 1
          if calls > step { throw Cancellation() }
        }
      }
      #expect(try fileSystem.kind(of: "/cancelled") == nil)
    }
  }
}

/// The ranges of the frames in a segment.
private struct SalvagedFrames {
  var frames: [Range<Int>] = []

  init(_ file: String, _ content: [UInt8], _ number: UInt64) throws {
    try content.withUnsafeBytes { bytes in
      let header = try SegmentHeader(reading: bytes)
      var search = SegmentSearch(bytes, number, header.store, end: nil, durableEnd: 0)
      while case .frame(_, let offset, let payload)? = search.next() {
        frames.append(offset..<payload.upperBound)
      }
    }
  }
}
