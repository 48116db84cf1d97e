import PerdureFileIO
import PerdureFormat

// Whether a file with a segment's name is a segment: the one place that decides, for opening,
// readers and salvage.
//
// A birth writes one header into a new file, and syncs it before any frame follows (FORMAT.md, B3
// and B4). A power cut before that sync leaves any part of the header, zeros, noise, or old bytes
// of the medium (M3). Old bytes may be a whole header: that of an older segment, whose file was
// removed. Numbers only grow, so its number is lower.
//
// Invariants
//  U1  A file that is not born has no valid frame of its own number. Behind the header of an older
//      segment it has nothing but zeros: else it is a copy of that segment, or was renamed, and
//      commits may be missing.
//  U2  A header of another store, or of a higher number, is never what a birth leaves.

/// What the first bytes of a file say.
enum SegmentBirth {
  /// The header is valid, and is that of the file's number.
  case born(SegmentHeader)
  /// The birth was cut short, if the rest of the file says nothing else (U1).
  ///
  /// - Parameter older: The number of the older segment whose header the file shows.
  case unborn(FormatError, older: UInt64?)

  /// - Throws: `FormatError` for what no birth leaves that was cut short.
  init(_ bytes: UnsafeRawBufferPointer, number: UInt64, store: StoreID) throws(FormatError) {
    let header: SegmentHeader
    do { header = try SegmentHeader(reading: bytes) } catch {
      // R4: only what a write that did not arrive can leave behind.
      guard [.incomplete, .wrongMagic, .wrongChecksum].contains(error.reason) else { throw error }
      self = .unborn(error, older: nil)
      return
    }
    do { try header.check(store: store, number: number) } catch {
      guard header.store == store, header.number < number else { throw error }  // U2
      self = .unborn(error, older: header.number)
      return
    }
    self = .born(header)
  }

  /// Whether the first bytes of a file are what a birth leaves that was cut short.
  static func isUnborn(_ bytes: [UInt8], number: UInt64, store: StoreID) -> Bool {
    let birth = try? bytes.withUnsafeBytes { try SegmentBirth($0, number: number, store: store) }
    if case .unborn? = birth { return true }
    return false
  }

  /// Whether the bytes behind the header say that a file whose header is not its own held commits.
  /// U1
  static func holdsCommits(
    _ file: any File, number: UInt64, showsOlder: Bool, store: StoreID
  ) throws(FileIOError) -> Bool {
    guard !showsOlder else { return try file.hasData(from: UInt64(SegmentHeader.length)) }
    return try TailJudge.hasFrame(in: file, segment: number, store: store)
  }
}

extension File {
  /// Whether a byte from `offset` on is not zero. What was never written is skipped: a long file
  /// costs no more than its bytes.
  fileprivate func hasData(from offset: UInt64) throws(FileIOError) -> Bool {
    var offset = offset
    while let data = try nextData(from: offset) {
      let bytes = try read(64 << 10, at: max(data, offset))
      if bytes.contains(where: { $0 != 0 }) { return true }
      if bytes.count < 64 << 10 { return false }
      offset = max(data, offset) + UInt64(bytes.count)
    }
    return false
  }
}
