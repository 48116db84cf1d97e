import PerdureFileIO
import PerdureFormat

// Decides whether a file with a segment's name is a segment. Openings for writing and for reading
// use this. Salvage applies the same rule (`SalvageSource.withoutUnborn`).
//
// Creating a segment ("birth") writes the header into a new file, and syncs it before any frame
// follows (FORMAT.md, B3 and B4). After a power cut before that sync, the file may have part of the
// header, zeros, noise, or old bytes (FORMAT.md, M3). Old bytes may be the complete header of an
// older segment whose file was removed. Segment numbers only increase, so the older segment has a
// lower number.
//
// Invariants
//  SB1  An unborn file has no valid frame with its own number. If it shows the header of an older
//       segment, only zeros follow the header. Otherwise the file is a copy of that segment, or was
//       renamed, and commits may be missing.
//  SB2  An interrupted birth never leaves a header of another store or of a higher number.

/// Whether the first bytes of a file are the header of its own segment.
enum SegmentBirth {
  /// The header is valid and has the file's number.
  case born(SegmentHeader)
  /// The creation was interrupted, unless the rest of the file shows otherwise (SB1).
  ///
  /// - Parameter older: The number of the older segment whose header the file shows.
  case unborn(FormatError, older: UInt64?)

  /// - Throws: `FormatError` for bytes that an interrupted creation cannot have left.
  init(_ bytes: UnsafeRawBufferPointer, number: UInt64, store: StoreID) throws(FormatError) {
    let header: SegmentHeader
    do { header = try SegmentHeader(reading: bytes) } catch {
      // FORMAT.md, R4: a write that did not reach the medium causes only these errors.
      guard [.incomplete, .wrongMagic, .wrongChecksum].contains(error.reason) else { throw error }
      self = .unborn(error, older: nil)
      return
    }
    do { try header.check(store: store, number: number) } catch {
      guard header.store == store, header.number < number else { throw error }  // SB2
      self = .unborn(error, older: header.number)
      return
    }
    self = .born(header)
  }

  /// Whether an interrupted creation may have left the first bytes of a file.
  static func isUnborn(_ bytes: [UInt8], number: UInt64, store: StoreID) -> Bool {
    let birth = try? bytes.withUnsafeBytes { try SegmentBirth($0, number: number, store: store) }
    if case .unborn? = birth { return true }
    return false
  }

  /// Whether the bytes after the header prove that a file with an incomplete header contains
  /// commits. SB1
  static func holdsCommits(
    _ file: any File, number: UInt64, showsOlder: Bool, store: StoreID
  ) throws(FileIOError) -> Bool {
    guard !showsOlder else { return try file.hasData(from: UInt64(SegmentHeader.length)) }
    return try TailJudge.hasFrame(in: file, segment: number, store: store)
  }
}

extension File {
  /// Whether any byte at or after `offset` is not zero. Holes in the file are skipped, so the cost
  /// depends on the bytes written, not on the length.
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
