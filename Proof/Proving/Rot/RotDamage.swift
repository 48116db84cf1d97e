import PerdureFileIO
import PerdureFormat
import PerdureLog
import PerdureTestSupport

/// A mutation that was applied to a file of a store.
struct RotDamage {
  let places: RotPlaces
  /// The parts of the file in which bytes changed.
  let parts: [RotPart]
  /// Whether the damage restores an earlier content of the superblock.
  let isOlderSuperblock: Bool
  /// Whether the damage restores an earlier content of a segment, which may be valid by itself.
  let isOlderSegment: Bool
  private let file: String
  /// The bytes of the file; nil if it was removed.
  private let bytes: [UInt8]?

  /// Applies a mutation; nil if it changes nothing.
  init?(_ mutation: RotMutations.Mutation, of store: RotStore, _ layout: RotLayout) {
    let before = store.files[mutation.file] ?? []
    let now = mutation.damage.map { $0.applied(to: before) }
    guard now != before else { return nil }
    (file, bytes) = (mutation.file, now)
    isOlderSegment = mutation.isOlder && Self.hasSegmentHeader(now ?? [])
    isOlderSuperblock = mutation.file == "SUPERBLOCK" && mutation.isOlder
    parts = layout.parts.filter { $0.file == mutation.file && !Self.isIntact($0.range, before, now ?? []) }
    guard let now else {
      places = RotPlaces(file: file, ranges: nil)
      return
    }
    var ranges = parts.flatMap(\.places)
    // If complete records were exchanged, only the checksum of their frame detects it.
    for part in parts where part.frame > 0 { ranges.append(part.frame..<(part.frame + 64)) }
    // A complete header of an earlier generation does not match the footer. The reader does not
    // know which of the two is older, so an error may name either.
    if parts.contains(where: { $0.kind == .segmentHeader }), Self.hasSegmentHeader(now) {
      ranges += layout.parts.filter { $0.file == mutation.file && $0.kind == .footer }.flatMap(\.places)
    }
    // The end of a truncated file is read as its footer.
    if now.count < before.count {
      ranges.append(max(0, now.count - RewrittenFooter.length)..<(before.count + 1))
    }
    places = RotPlaces(file: file, ranges: ranges)
  }

  private static func hasSegmentHeader(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { (try? SegmentHeader(reading: $0)) != nil }
  }

  private static func isIntact(_ range: Range<Int>, _ before: [UInt8], _ now: [UInt8]) -> Bool {
    guard range.upperBound <= now.count else { return false }
    return before.withUnsafeBytes { before in
      now.withUnsafeBytes { now in
        UnsafeRawBufferPointer(rebasing: before[range]).elementsEqual(
          UnsafeRawBufferPointer(rebasing: now[range]))
      }
    }
  }

  /// The store's files, including the damaged one.
  func fileSystem(_ store: RotStore) throws -> InMemoryFileSystem {
    if let bytes { return try store.fileSystem(replacing: [file: bytes]) }
    let fileSystem = try store.fileSystem()
    try fileSystem.remove(RotStore.path + "/" + file)
    return fileSystem
  }
}
