import PerdureFileIO
import PerdureFormat

// Reading does not show files that only take space, so the names are checked too. They are compared
// with the superblock, the segments' headers and the values, each read here, and not with the
// engine's own state.
//
// - SF1 The files of long values are those of the values that are there, one each.
// - SF2 The index files are the one that the superblock names, or none.
// - SF3 Up to the segment in which the durable log ends, the segments are those that lead there.
//   After it there may be others: a last one without a header, and void ones whose numbers must
//   stay (R12).
// - SF4 Nothing is in preparation, and every name is one of FORMAT.md.

/// The files of a store without a present reader or writer.
struct StoreFiles {
  private let directory: String
  private let fileSystem: any FileSystem
  private let names: [StoreFileName]

  init(of directory: String, on fileSystem: any FileSystem) throws {
    (self.directory, self.fileSystem) = (directory, fileSystem)
    names = try fileSystem.contents(of: directory).sorted().map { name in
      guard let meaning = StoreFileName(name) else { throw Violation("\(name) is no file of a store") }
      return meaning
    }
  }

  /// Throws unless there is what a store needs after its recovery, and nothing else.
  func checkRecovered() throws {
    let superblock = try bytes(of: .superblock).withUnsafeBytes { try Superblock.newest(in: $0) }
    for case .temporary(let stem) in names { throw Self.leftover(.temporary(stem)) }
    let indexes = names.filter { if case .index = $0 { true } else { false } }
    try Self.compare(indexes, with: superblock.checkpoint.map { [.index($0.indexFile)] } ?? [])
    let last = superblock.durableEnd.segment
    let segments = names.filter { if case .segment(let number) = $0 { number <= last } else { false } }
    try Self.compare(segments, with: try chain(to: last))
  }

  /// The segments that lead to this one, it included; number 0 is that of none.
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

  /// Throws unless these values, and nothing else, have files of their own: when a store was
  /// recovered, and when it was closed. SF1
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

  /// Nil if the file was never whole.
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
    for name in needed where !found.contains(name) { throw Violation("\(name.string) is gone") }
  }

  private static func leftover(_ name: StoreFileName) -> Violation {
    Violation("nothing needs \(name.string), and it is still there")
  }

  private func bytes(of name: StoreFileName, upTo end: Int = .max) throws -> [UInt8] {
    let file = try fileSystem.open(directory + "/" + name.string, .read)
    let bytes = try file.read(min(end, Int(try file.size())), at: 0)
    try file.close()
    return bytes
  }
}
