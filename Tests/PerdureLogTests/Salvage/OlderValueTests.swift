import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Salvage counts and names every restored value that is not the newest one.
@Suite("Older values after a salvage")
struct OlderValueTests {
  private let path = SalvagedStore.path

  /// A kind of damage. Each case damages a store once.
  enum Kind: String, CaseIterable {
    case blobGone, blobDamaged, dictionaryDamaged, tombstoneDamaged, recordDamaged, frameHeaderDamaged
    case segmentGone, segmentCut, sectorsExchanged, olderGeneration, segmentHeaderDamaged, footerDamaged
    case lastCommitDamaged
  }

  /// The committed versions of keys. Each value has its version number.
  private struct History {
    var files: [String: [UInt8]] = [:]
    /// The segment files before compaction.
    var former: [String: [UInt8]] = [:]
    /// The newest version; nil means removed.
    var newest: [UInt64: UInt32?] = [:]
    /// Whether the store was closed.
    var isClosed = true
  }

  private func options(_ fileSystem: any FileSystem, isPacked: Bool = false) -> StoreOptions {
    var options = SalvagedStore.options(fileSystem, 8192)
    options.reserveBytes = 0
    options.compactsAutomatically = false
    options.checkpoints = .manual
    if isPacked {
      options.compression.modes = ["rows": .eachValue]
      options.compression.groupsColdRecords = true
      options.compression.groupLengthTarget = 1024
    }
    return options
  }

  private func files(_ fileSystem: SimulatedFileSystem) -> [String: [UInt8]] {
    let image = fileSystem.currentImage
    return Dictionary(
      uniqueKeysWithValues: image.paths.filter { !$0.hasSuffix("/") && !$0.hasSuffix("/LOCK") }.map {
        ($0, image.bytes(at: $0) ?? [])
      })
  }

  /// Trains a dictionary from values, and removes these values.
  private func makeDictionary(_ store: Store, _ rows: Keyspace) throws {
    let ids = 1000..<1200 as Range<UInt64>
    try store.write { for id in ids { try $0.put(PackedStore.value(id, kind: 0), id: id, in: rows) } }
    #expect(try store.trainDictionary(for: rows) != nil)
    try store.write { for id in ids { try $0.remove(id: id, in: rows) } }
  }

  private func history(
    _ random: inout SeededGenerator, closes: Bool, usesDictionary: Bool = false
  ) throws -> History {
    let fileSystem = SimulatedFileSystem()
    var history = History()
    history.isClosed = closes
    var options = options(fileSystem, isPacked: random.chance(40))
    if usesDictionary {
      options.compression.modes = ["rows": .dictionary]
      options.compression.trainsAutomatically = false
      options.compression.dictionaryBytes = 2048
    }
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    if usesDictionary { try makeDictionary(store, rows) }
    let commits = random.pick(40...120)
    for version in 1...UInt32(commits) {
      try store.write { transaction in
        for _ in 0..<random.pick(1...3) {
          let id = UInt64(random.pick(1...12))
          if random.chance(15) {
            try transaction.remove(id: id, in: rows)
            history.newest[id] = .some(nil)
          } else {
            let length = random.chance(15) ? random.pick(1100...3000) : random.pick(0...400)
            let head = withUnsafeBytes(of: version.littleEndian) { Array($0) }
            let rest =
              usesDictionary && random.chance(70)
              ? PackedStore.value(UInt64(version), kind: 0) : [UInt8](repeating: 5, count: length)
            try transaction.put(head + rest, id: id, in: rows)
            history.newest[id] = version
          }
        }
      }
      if Int(version) == commits / 3 || Int(version) == commits * 2 / 3 {
        history.former.merge(files(fileSystem)) { $1 }
        try store.compact()
      }
    }
    // The checkpoint at closing stores the generation of every segment.
    if closes {
      try store.checkpoint()
      try store.close()
    }
    history.files = files(fileSystem)
    return history
  }

  private struct Frame {
    var file: String
    var start: Int
    var records: [(header: RecordHeader, range: Range<Int>)]
  }

  /// The frames of segments without groups.
  private func frames(_ files: [String: [UInt8]]) throws -> [Frame] {
    var found: [Frame] = []
    for (file, bytes) in files.sorted(by: { $0.key < $1.key }) {
      guard case .segment(let number) = StoreFileName(SalvagedStore.name(file)) else { continue }
      try bytes.withUnsafeBytes { bytes in
        let header = try SegmentHeader(reading: bytes)
        var search = SegmentSearch(bytes, number, header.store, end: nil, durableEnd: 0)
        while let piece = search.next() {
          guard case .frame(_, let start, let payload) = piece else { continue }
          var frame = Frame(file: file, start: start, records: [])
          var records = SealedRecords(in: bytes.part(payload.lowerBound, payload.count))
          while let (record, offset, _) = try records.next() {
            let place = payload.lowerBound + offset
            frame.records.append((record.header, place..<(place + record.header.unpaddedLength)))
          }
          found.append(frame)
        }
      }
    }
    return found
  }

  /// Damages the store once.
  ///
  /// - Returns: False if this kind of damage is not possible in the store.
  private func damage(_ kind: Kind, _ history: inout History, _ random: inout SeededGenerator) throws -> Bool
  {
    func pick(_ suffix: String) -> String? {
      let names = history.files.keys.filter { $0.hasSuffix(suffix) }.sorted()
      return names.isEmpty ? nil : random.pick(names)
    }
    func flip(_ file: String, _ place: Int) { history.files[file]?[place] ^= 0x55 }
    let frames = try frames(history.files)
    func record(_ isRight: (RecordHeader) -> Bool) -> (file: String, range: Range<Int>)? {
      let found = frames.flatMap { frame in
        frame.records.filter { isRight($0.header) }.map { (frame.file, $0.range) }
      }
      return found.isEmpty ? nil : random.pick(found)
    }
    switch kind {
    case .blobGone:
      guard let file = pick(".blob") else { return false }
      history.files[file] = nil
    case .blobDamaged:
      guard let file = pick(".blob"), let count = history.files[file]?.count else { return false }
      flip(file, random.pick(0..<count))
    case .dictionaryDamaged:
      guard let (file, range) = record({ $0.keyspace == 0 && $0.valueLength > 64 }) else { return false }
      flip(file, range.upperBound - 1)
    case .tombstoneDamaged:
      guard let (file, range) = record({ $0.kind == .tombstone }) else { return false }
      flip(file, random.pick(range))
    case .recordDamaged:
      guard let (file, range) = record({ $0.keyspace != 0 }) else { return false }
      flip(file, random.pick(range))
    case .frameHeaderDamaged:
      guard !frames.isEmpty else { return false }
      let frame = random.pick(frames)
      flip(frame.file, frame.start + random.pick(0..<64))
    case .segmentGone:
      guard let file = pick(".segment") else { return false }
      history.files[file] = nil
    case .segmentCut:
      // A cut at the end of a frame leaves no trace in the remaining bytes.
      let ends = frames.filter { !$0.records.isEmpty }
      guard !ends.isEmpty else { return false }
      let frame = random.pick(ends)
      history.files[frame.file] = Array((history.files[frame.file] ?? [])[..<frame.start])
    case .sectorsExchanged:
      guard let a = pick(".segment"), let b = pick(".segment") else { return false }
      let (countA, countB) = (history.files[a]?.count ?? 0, history.files[b]?.count ?? 0)
      guard min(countA, countB) >= 1024 else { return false }
      let (placeA, placeB) = (random.pick(0..<countA / 512) * 512, random.pick(0..<countB / 512) * 512)
      let (sectorA, sectorB) = (
        Array((history.files[a] ?? [])[placeA..<(placeA + 512)]),
        Array((history.files[b] ?? [])[placeB..<(placeB + 512)])
      )
      history.files[a]?.replaceSubrange(placeA..<(placeA + 512), with: sectorB)
      history.files[b]?.replaceSubrange(placeB..<(placeB + 512), with: sectorA)
    case .olderGeneration:
      let names = history.files.keys.filter {
        $0.hasSuffix(".segment") && history.former[$0] != nil && history.former[$0] != history.files[$0]
      }
      guard let file = names.sorted().randomElement(using: &random), history.isClosed else { return false }
      history.files[file] = history.former[file]
    case .segmentHeaderDamaged:
      guard let file = pick(".segment") else { return false }
      flip(file, random.pick(0..<128))
    case .footerDamaged:
      guard let file = pick(".segment"), let count = history.files[file]?.count else { return false }
      let cut = random.pick(1...min(count, 400))
      history.files[file] = Array((history.files[file] ?? [])[..<(count - cut)])
    case .lastCommitDamaged:
      guard let last = frames.last(where: { !$0.records.isEmpty }), let range = last.records.last?.range
      else { return false }
      flip(last.file, random.pick(range))
    }
    return true
  }

  /// Salvages the damaged store.
  private func salvage(_ history: History) throws -> (SalvageReport, [UInt64: UInt32]) {
    let fileSystem = SimulatedFileSystem()
    try fileSystem.createDirectory(path)
    for (file, bytes) in history.files { try fileSystem.open(file, .create).write(bytes, at: 0) }
    let report = try Store.salvage(from: path, to: SalvagedStore.target, options: options(fileSystem))
    var found: [UInt64: UInt32] = [:]
    for (place, value) in try SalvagedStore.content(of: SalvagedStore.target, fileSystem) {
      let id = place.key.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
      found[id] = value.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) }
    }
    return (report, found)
  }

  @Test(
    "After any single damage, every restored older value is counted and named",
    arguments: Kind.allCases)
  func everyOlderValue(_ kind: Kind) throws {
    let root = SeededGenerator.forTest("older values, \(kind.rawValue)")
    let count = UInt64(LongRun.count(12, long: 24))
    var (number, damaged, older) = (UInt64(0), 0, 0)
    // Some kinds of damage are possible only in few stores.
    while number < count || damaged <= 3 && number < 8 * count {
      var random = root.derived(number)
      defer { number += 1 }
      var history = try history(
        &random, closes: kind != .lastCommitDamaged, usesDictionary: kind == .dictionaryDamaged)
      guard try damage(kind, &history, &random) else { continue }
      damaged += 1
      let (report, found) = try salvage(history)
      let named = Set(report.olderKeys.compactMap(\.id))
      #expect(report.olderKeys.count == report.keysMaybeOlder)
      for (id, version) in found where history.newest[id] != version {
        older += 1
        // The damaged last commit of a store that was not closed counts as unfinished.
        let isReported = kind == .lastCommitDamaged && report.bytesUnfinished > 0
        #expect(
          named.contains(id) || isReported,
          "\(kind), store \(number): id \(id) has version \(version), not \(history.newest[id] as Any); \(report)"
        )
      }
      for (id, version) in history.newest where version != nil && found[id] == nil {
        #expect(
          !report.isClean || report.bytesUnfinished > 0,
          "\(kind), store \(number): id \(id) is missing and not reported; \(report)")
      }
    }
    print("\(kind.rawValue): \(damaged) stores, \(older) older values")
    #expect(damaged > 3)
    // After these kinds of damage, most stores have an older value.
    let isFrequent = [.blobGone, .blobDamaged, .segmentGone, .segmentCut].contains(kind)
    #expect(!isFrequent || older > 0)
  }

  @Test("A store without damage has no older values")
  func undamaged() throws {
    let root = SeededGenerator.forTest("no older values")
    for number in 0..<8 as Range<UInt64> {
      var random = root.derived(number)
      let (report, _) = try salvage(try history(&random, closes: number % 2 == 0))
      #expect(report.isClean && report.keysMaybeOlder == 0 && report.olderKeys.isEmpty, "\(report)")
    }
  }

  @Test("A key whose newest blob file is missing is named, and gets its older value")
  func blobGone() throws {
    let fileSystem = SimulatedFileSystem()
    let store = try Store(at: path, options: options(fileSystem))
    let names = try store.keyspace("names", .bytes)
    let key = Array("picture".utf8)
    try store.write { try $0.put([1], key: key, in: names) }
    try store.write { try $0.put([UInt8](repeating: 9, count: 5000), key: key, in: names) }
    try store.write { try $0.put([2], key: [7], in: names) }
    try store.close()
    try fileSystem.remove(path + "/" + StoreFileName.blob(1).string)
    let report = try Store.salvage(from: path, to: SalvagedStore.target, options: options(fileSystem))
    #expect(report.keysMaybeOlder == 1 && report.contents.map(\.keysMaybeOlder) == [1])
    #expect(report.olderKeys == [.init(keyspace: "names", key: key, id: nil, isCertain: true)])
    #expect(report.damages.map(\.reason) == [.blob])
  }
}
