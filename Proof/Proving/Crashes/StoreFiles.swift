import PerdureFileIO
import PerdureFormat

// Reading a store does not detect files that only occupy space, so the file names are checked too.
// They are compared with the superblock, the headers of the segments, and the values. This code
// reads all of these itself. It does not use the state of the engine.
//
// - SF1 Each long value of the store has one file. No other blob file exists.
// - SF2 The only index file is the one that the superblock names. If it names none, no index file
//   exists.
// - SF3 The segments up to the durable end are exactly the segment with this end and its chain of
//   predecessors. Later segments may exist: the newest one may have no header. Void segments
//   remain, because their numbers must not be reused (FORMAT.md, B5 and R12).
// - SF4 No temporary file exists, and FORMAT.md defines every name.

/// The files of a store that no process reads or writes now.
struct StoreFiles {
  private let directory: String
  private let fileSystem: any FileSystem
  private let names: [StoreFileName]

  init(of directory: String, on fileSystem: any FileSystem) throws {
    (self.directory, self.fileSystem) = (directory, fileSystem)
    names = try fileSystem.contents(of: directory).sorted().map { name in
      guard let meaning = StoreFileName(name) else { throw Violation("\(name) is not a file of a store") }
      return meaning
    }
  }

  /// Throws unless the files are exactly those that a recovered store needs.
  func checkRecovered() throws {
    let superblock = try bytes(of: .superblock).withUnsafeBytes { try Superblock.newest(in: $0) }
    for case .temporary(let stem) in names { throw Self.leftover(.temporary(stem)) }
    let indexes = names.filter { if case .index = $0 { true } else { false } }
    try Self.compare(indexes, with: superblock.checkpoint.map { [.index($0.indexFile)] } ?? [])
    let last = superblock.durableEnd.segment
    let segments = names.filter { if case .segment(let number) = $0 { number <= last } else { false } }
    try Self.compare(segments, with: try chain(to: last))
  }

  /// The chain of predecessors of this segment, including the segment itself. Number 0 means no
  /// segment.
  private func chain(to last: UInt64) throws -> Set<StoreFileName> {
    var chain: Set<StoreFileName> = []
    var number = last
    while number > 0 {
      chain.insert(.segment(number))
      let bytes = try bytes(of: .segment(number), upTo: SegmentHeader.length)
      number = try bytes.withUnsafeBytes { try SegmentHeader(reading: $0) }.predecessorEnd.segment
    }
    return chain
  }

  /// Throws unless exactly these values have their own files, after a recovery or after closing
  /// (SF1).
  func checkBlobs(_ values: [[UInt8]]) throws {
    var missing = values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    for name in names {
      guard case .blob = name else { continue }
      guard let value = try value(in: name), let count = missing[value], count > 0 else {
        throw Self.leftover(name)
      }
      missing[value] = count - 1
    }
    let rest = missing.values.reduce(0, +)
    guard rest == 0 else { throw Violation("\(rest) long values have no file") }
  }

  /// The value in a file; nil if its header is invalid, because the file was never complete.
  private func value(in name: StoreFileName) throws -> [UInt8]? {
    let bytes = try bytes(of: name)
    let header: BlobHeader
    do { header = try bytes.withUnsafeBytes { try BlobHeader(reading: $0) } } catch is FormatError {
      return nil
    }
    return Array(bytes.dropFirst(BlobHeader.length).prefix(Int(header.valueLength)))
  }

  private static func compare(_ found: [StoreFileName], with needed: Set<StoreFileName>) throws {
    for name in found where !needed.contains(name) { throw leftover(name) }
    for name in needed where !found.contains(name) { throw Violation("\(name.string) is missing") }
  }

  private static func leftover(_ name: StoreFileName) -> Violation {
    Violation("\(name.string) is not needed, but it still exists")
  }

  private func bytes(of name: StoreFileName, upTo end: Int = .max) throws -> [UInt8] {
    let file = try fileSystem.open(directory + "/" + name.string, .read)
    let bytes = try file.read(min(end, Int(try file.size())), at: 0)
    try file.close()
    return bytes
  }
}
