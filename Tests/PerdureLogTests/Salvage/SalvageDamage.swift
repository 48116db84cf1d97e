import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport

@testable import PerdureLog

/// A damaged copy of a store. It knows which bytes of the files are intact.
struct SalvageDamage {
  let original: SalvagedStore
  private(set) var fileSystem = SimulatedFileSystem()
  private(set) var steps: [String] = []
  /// The files and ranges of exchanged sectors.
  private(set) var moved: [(file: String, range: Range<Int>)] = []
  private var files: [String: [UInt8]]
  private var intact: [String: [Bool]] = [:]

  init(
    _ original: SalvagedStore, count: Int, movesSectors: Bool, _ random: inout SeededGenerator
  ) throws {
    self.original = original
    files = Dictionary(uniqueKeysWithValues: original.files.map { ($0, original.image.bytes(at: $0) ?? []) })
    for _ in 0..<count { damage(movesSectors, &random) }
    var image = original.image
    for (file, bytes) in files { image.setBytes(bytes, at: file) }
    fileSystem = image.fileSystem()
    for file in original.files where files[file] == nil { try fileSystem.remove(file) }
    try fileSystem.remove(SalvagedStore.path + "/LOCK")
    for file in original.files { intact[file] = compare(original.image.bytes(at: file) ?? [], files[file]) }
  }

  private func compare(_ before: [UInt8], _ after: [UInt8]?) -> [Bool] {
    before.indices.map { place in after.map { place < $0.count && $0[place] == before[place] } ?? false }
  }

  private mutating func damage(_ movesSectors: Bool, _ random: inout SeededGenerator) {
    guard !files.isEmpty else { return }  // All files were removed.
    let file = random.pick(files.keys.sorted())
    let length = files[file]?.count ?? 0
    guard length > 0 else { return }
    let place = random.pick(0..<length)
    switch random.pick(0..<(movesSectors ? 12 : 10)) {
    case 0...3:
      files[file]?[place] ^= 1 << random.pick(0..<8 as Range<UInt8>)
      steps.append("bit at \(place) of \(file)")
    case 4...6:
      let sector = random.pick([512, 512, 4096])
      let start = place / sector * sector
      for byte in start..<min(start + sector, length) { files[file]?[byte] = 0 }
      steps.append("zeros from \(start) for \(sector) of \(file)")
    case 7, 8:
      let end = min(length, place + random.pick(1...1500))
      for byte in place..<end { files[file]?[byte] = .random(in: 0...255, using: &random) }
      steps.append("noise from \(place) to \(end) of \(file)")
    case 9 where random.chance(30):
      files[file] = nil
      steps.append("\(file) removed")
    case 9:
      let bytes = files[file] ?? []
      files[file] = Array(bytes[..<place])
      steps.append("\(file) cut to \(place)")
    default:
      let other = random.pick(files.keys.filter { $0.hasSuffix(".segment") }.sorted() + [file])
      exchange(file, place, other, random.pick(0..<max(1, files[other]?.count ?? 1)))
    }
  }

  private mutating func exchange(_ a: String, _ placeInA: Int, _ b: String, _ placeInB: Int) {
    let (startA, startB) = (placeInA / 512 * 512, placeInB / 512 * 512)
    guard startA + 512 <= files[a]?.count ?? 0, startB + 512 <= files[b]?.count ?? 0 else { return }
    for offset in 0..<512 {
      let (byte, other) = (files[a]?[startA + offset] ?? 0, files[b]?[startB + offset] ?? 0)
      files[a]?[startA + offset] = other
      files[b]?[startB + offset] = byte
    }
    moved += [(a, startA..<(startA + 512)), (b, startB..<(startB + 512))]
    steps.append("sectors at \(startA) of \(a) and \(startB) of \(b) exchanged")
  }

  private func isIntact(_ range: Range<Int>, of file: String) -> Bool {
    guard let bytes = intact[file], range.upperBound <= bytes.count else { return false }
    return bytes[range].allSatisfy { $0 }
  }

  private func isIntact(_ record: SalvagedStore.LogRecord) -> Bool {
    guard isIntact(record.range, of: record.file) else { return false }
    if let entry = record.entry, !isIntact(entry, of: record.file) { return false }
    guard let blob = record.blobFile else { return true }
    return intact[blob].map { $0.allSatisfy { $0 } } ?? false
  }

  private var superblock: Superblock? {
    files[SalvagedStore.path + "/SUPERBLOCK"].flatMap { bytes in
      try? bytes.withUnsafeBytes { try Superblock.newest(in: $0) }
    }
  }

  /// Whether the superblock, a header or frames identify the store. Otherwise a frame cannot be
  /// distinguished from bytes that look like a frame.
  private var storeIsKnown: Bool {
    if superblock != nil { return true }
    let hasHeader = files.contains { file, bytes in
      bytes.withUnsafeBytes { bytes in
        (try? SegmentHeader(reading: bytes)) != nil || (try? BlobHeader(reading: bytes)) != nil
      }
    }
    return hasHeader || framesTellStore
  }

  /// Whether frames identify the store: frames in two intact sectors, or one intact frame. Sectors
  /// that were moved may identify a wrong position, so they must be fewer than the intact ones.
  private var framesTellStore: Bool {
    var sectors: [String: Set<Int>] = [:]
    var isOneWhole = false
    for frame in original.frames where !frame.isGrouped {
      let header = frame.range.lowerBound..<(frame.range.lowerBound + FrameHeader.length)
      guard isIntact(header, of: frame.file) else { continue }
      let isWhole = frame.range.count > header.count && isIntact(frame.range, of: frame.file)
      let range = isWhole ? frame.range : header
      sectors[frame.file, default: []].formUnion(range.lowerBound / 512...(range.upperBound - 1) / 512)
      isOneWhole = isOneWhole || isWhole
    }
    let count = sectors.values.reduce(0) { $0 + $1.count }
    return count > moved.count && (count > 1 || isOneWhole)
  }

  /// The last commit that an intact frame header or an intact superblock slot proves.
  private var vouchedSequence: UInt64 {
    let frames = original.frames.filter {
      !$0.isGrouped && isIntact($0.range.lowerBound..<($0.range.lowerBound + FrameHeader.length), of: $0.file)
    }
    guard storeIsKnown else { return 0 }
    // A part of a commit proves the commit before it. The end of a commit proves the commit itself.
    let finished = frames.map { $0.isEnd ? $0.sequence : $0.sequence - 1 }
    return max(finished.max() ?? 0, superblock?.durableSequence ?? 0)
  }

  /// Checks the restored version of each key. It must be the version of the newest intact record.
  /// Any version of the key, or none, is allowed in two cases. Either a frame of the key has a
  /// moved sector, or no intact header or superblock proves the commit of one of its records.
  func check(_ found: [StoredKey: [UInt8]]) throws {
    var histories: [StoredKey: [SalvagedStore.LogRecord]] = [:]
    for record in original.records where record.place.keyspace != "" {
      histories[record.place, default: []].append(record)
    }
    let vouched = vouchedSequence
    for (place, history) in histories {
      let name = nameAfter(place.keyspace, found)
      let value = found[StoredKey(keyspace: name, key: place.key)]
      let isLenient = history.contains { record in
        record.sequence > vouched || framesWithMovedSectors.contains { $0.contains(record) }
      }
      if isLenient {
        guard value == nil || history.contains(where: { $0.value == value }) else {
          throw Violation("\(place) has a value that it never had")
        }
        continue
      }
      let newest = history.lastIndex { isIntact($0) }
      // Some records of a damaged group may still be restored.
      let maybe = history[(newest.map { $0 + 1 } ?? 0)...].filter { $0.entry != nil }
      guard newest.flatMap({ history[$0].value }) == value || maybe.contains(where: { $0.value == value })
      else {
        throw Violation(
          "\(name) \(place.key) has \(value?.prefix(8) ?? []) after "
            + history.map { record in
              "commit \(record.sequence) \(record.file) \(record.range) \(record.value?.prefix(8) ?? [])"
                + " \(isIntact(record) ? "intact" : "damaged")"
            }.joined(separator: "; "))
      }
    }
    let known = Set(histories.keys.map { StoredKey(keyspace: nameAfter($0.keyspace, found), key: $0.key) })
    guard found.keys.allSatisfy({ known.contains($0) }) else { throw Violation("a key that was never put") }
  }

  /// The name that a keyspace must have after the salvage. A keyspace without a definition gets
  /// another name. A moved definition may be used or not.
  private func nameAfter(_ keyspace: String, _ found: [StoredKey: [UInt8]]) -> String {
    if !moved.isEmpty, found.keys.contains(where: { $0.keyspace == keyspace }) { return keyspace }
    let definition = original.records.first {
      $0.place.keyspace == "" && $0.place.key.dropFirst().elementsEqual(keyspace.utf8)
    }
    let mayBeThere = definition?.entry != nil && found.keys.contains { $0.keyspace == keyspace }
    guard let definition, isIntact(definition) || mayBeThere else {
      return "lost-\(keyspace == "rows" ? 1 : 2)"
    }
    return keyspace
  }

  private var framesWithMovedSectors: [FrameRange] {
    original.frames.compactMap { frame in
      guard moved.contains(where: { $0.file == frame.file && $0.range.overlaps(frame.range) }) else {
        return nil
      }
      return FrameRange(file: frame.file, range: frame.range)
    }
  }
}

private struct FrameRange {
  var file: String
  var range: Range<Int>

  func contains(_ record: SalvagedStore.LogRecord) -> Bool {
    record.file == file && range.contains(record.range.lowerBound)
  }
}
