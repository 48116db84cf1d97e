import PerdureFileIO
import PerdureFormat

// One backup: the files of the source are verified and copied to the target.
//
// Invariants
//  BK1  Only bytes that were verified in the source are written: frames and records of segments,
//       chunks of values. Damage ends the backup with an error that names the file and the offset.
//  BK2  The superblock is written last. Without it the files in the target are not a store.
//  BK3  The backup needs memory for one piece, one frame, one value's table of checksums, and the
//       references to all values that have files. A comparison with an earlier backup needs a
//       second table.

/// Copies the files of one backup, and counts the copied bytes.
final class BackupRun {
  static let pieceLength = FormatLimits.backupChunkMax

  private var source: BackupSource
  private let target: any BackupTarget
  private let earlier: EarlierBackup?
  /// Called after each written or compared piece with its length, and after each shared file with
  /// 0. It throws to cancel the backup.
  private let didCopy: (_ bytes: Int, BackupProgress) throws -> Void
  private let piece: UnsafeMutableRawBufferPointer
  private var progress = BackupProgress()
  private(set) var report = BackupReport()
  /// The references of the blob files to copy, by file number.
  private var references: [UInt64: BlobReference] = [:]
  /// The numbers of the blob files that are shared with the earlier backup.
  private var sharedBlobs: Set<UInt64> = []
  /// The segments that are shared with the earlier backup. Their records were not visited.
  private var sharedParts: [BackupSource.Part] = []
  private var canShare = true
  private var isPacked = false
  /// The numbers of blob files that records reference and that the source lacks. Empty if
  /// `source.knowsAllBlobs`.
  private(set) var absentBlobs: Set<UInt64> = []

  init(
    _ source: BackupSource, to target: any BackupTarget, since earlier: EarlierBackup?,
    _ didCopy: @escaping (_ bytes: Int, BackupProgress) throws -> Void
  ) {
    (self.source, self.target, self.earlier, self.didCopy) = (source, target, earlier, didCopy)
    piece = .allocate(byteCount: Self.pieceLength, alignment: 4096)
  }

  deinit { piece.deallocate() }

  func run() throws -> BackupReport {
    report.sequence = source.superblock.durableSequence
    progress.bytesTotal = source.parts.reduce(UInt64(Superblock.fileLength)) { $0 + UInt64($1.length) }
    try shareBlobs()
    while !source.parts.isEmpty {
      // Each part is released after it is copied. If compaction has removed the file's name, this
      // frees the file's space.
      try copy(source.parts.removeFirst())
      report.segments += 1
    }
    try findMissingReferences()
    for (_, reference) in references.sorted(by: { $0.key < $1.key }) { try copy(reference) }
    report.blobs = references.count + sharedBlobs.count
    try finish()
    return report
  }

  /// Shares a file of the earlier backup. If that fails, no further file is shared: the file system
  /// has no hard links, or the earlier backup is on another file system.
  private func share(_ name: StoreFileName, from path: String) -> Bool {
    canShare = target.share(name, from: path)
    return canShare
  }

  // MARK: Segments

  private func copy(_ part: BackupSource.Part) throws {
    let name = StoreFileName.segment(part.segment.number)
    let isClosed = part.segment.number < source.superblock.durableEnd.segment
    if isClosed, canShare, let earlier,
      let path = try earlier.path(of: part, piece, didCompare: { try didCopy($0, progress) }),
      share(name, from: path)
    {
      sharedParts.append(part)
      return try noteShared(UInt64(part.length))
    }
    try target.begin(name)
    try checkHeader(of: part.segment)
    var copied = 0
    try LogScan.visitFrames(of: part.segment, upTo: part.end, source.superblock.store) { frame in
      try note(frame)
      let verified = part.segment.fileOffset(of: Int(frame.position.offset) - FrameHeader.length)
      if verified - copied >= Self.pieceLength { try copy(part.segment, &copied, upTo: verified) }
    }
    try copy(part.segment, &copied, upTo: part.length)
    try target.end()
  }

  /// Notes the values of the frame that are in separate files. Also notes whether values are
  /// packed, because the superblock must declare packed values.
  private func note(_ frame: LogScan.Part) throws {
    var records = SealedRecords(in: frame.payload)
    while let (record, _, _) = try records.next() {
      switch record.header.kind {
      case .packed: isPacked = true
      case .blob:
        let reference = try BlobReference(in: record)
        if !source.knowsAllBlobs, !source.liveBlobs.contains(reference.number) {
          absentBlobs.insert(reference.number)
        }
        guard source.liveBlobs.contains(reference.number), !sharedBlobs.contains(reference.number),
          references.updateValue(reference, forKey: reference.number) == nil
        else { continue }
        progress.bytesTotal += Self.fileLength(reference, source.superblock.store)
      default: break
      }
    }
  }

  private func copy(_ segment: Segment, _ copied: inout Int, upTo end: Int) throws {
    while copied < end {
      let bytes = UnsafeMutableRawBufferPointer(rebasing: piece[..<min(piece.count, end - copied)])
      let count = try segment.file.readToEnd(into: bytes, at: UInt64(copied))
      guard count == bytes.count else {
        throw StoreError.corruption(
          FormatError(.incomplete, in: "segment", at: 0), segment: segment.number, offset: copied + count)
      }
      try put(UnsafeRawBufferPointer(bytes))
      copied += count
    }
  }

  /// Verifies the header again, and the footer of a rewritten segment. The last verification was at
  /// the opening of the segment, perhaps long ago. `LogScan.visitFrames` verifies the offset map.
  private func checkHeader(of segment: Segment) throws {
    do {
      let bytes = UnsafeRawBufferPointer(start: segment.mapping.base, count: SegmentHeader.length)
      guard try SegmentHeader(reading: bytes) == segment.header else {
        throw FormatError(.misplaced, in: "segment header", at: 0)
      }
      guard let footer = segment.footer else { return }
      let place = UnsafeRawBufferPointer(
        start: segment.mapping.base + footer.offset, count: RewrittenFooter.length)
      let now = try RewrittenFooter(
        reading: place, store: segment.header.store, number: segment.number, fileLength: footer.fileLength)
      guard now == footer else { throw FormatError(.misplaced, in: "rewritten footer", at: 0) }
    } catch let error as FormatError {
      throw StoreError.corruption(error, segment: segment.number, offset: error.offset)
    }
  }

  // MARK: Values in separate files

  /// Shares the blob files that the earlier backup also has.
  private func shareBlobs() throws {
    guard let earlier else { return }
    for number in source.liveBlobs.sorted() where canShare {
      guard let file = try source.blobs.file(number) else { continue }
      // An error of `close` does not matter: the file was only read.
      defer { try? file.close() }
      guard let path = try earlier.path(ofBlob: number, file),
        share(StoreFileName.blob(number), from: path)
      else { continue }
      let length = try file.size()
      sharedBlobs.insert(number)
      progress.bytesTotal += length
      try noteShared(length)
    }
  }

  /// Reads shared segments to find references that are still missing. A reference is missing if the
  /// earlier backup has the record's segment but has lost the record's blob file.
  private func findMissingReferences() throws {
    guard source.knowsAllBlobs else { return }
    let isMissing = { [self] in source.liveBlobs.count > references.count + sharedBlobs.count }
    for part in sharedParts where isMissing() {
      try LogScan.visitFrames(of: part.segment, upTo: part.end, source.superblock.store) { try note($0) }
    }
    sharedParts = []
    guard isMissing() else { return }
    let number = source.liveBlobs.subtracting(references.keys).subtracting(sharedBlobs).min() ?? 0
    throw StoreError(
      .corruption, "The log has no record of a value that the index names; \(StoreError.beyondRepair)",
      at: StoreFileName.blob(number).string)
  }

  private func copy(_ reference: BlobReference) throws {
    let reader = try BlobFileReader(reference, source.blobs)
    let header = BlobHeader(
      store: source.superblock.store, number: reference.number, valueLength: reference.valueLength)
    try target.begin(StoreFileName.blob(reference.number))
    try withUnsafeTemporaryAllocation(byteCount: BlobHeader.length, alignment: 8) { bytes in
      header.write(to: bytes)
      try put(UnsafeRawBufferPointer(bytes))
    }
    // Chunks are short, so several are written together.
    var filled = 0
    if reference.valueLength > 0 {
      try reader.read(0..<reference.valueLength) { chunk in
        if filled + chunk.count > piece.count { try flush(&filled) }
        UnsafeMutableRawBufferPointer(rebasing: piece[filled...]).copyMemory(from: chunk)
        filled += chunk.count
        return true
      }
    }
    try flush(&filled)
    let padding = Int(header.checksumsOffset - UInt64(BlobHeader.length) - header.valueLength)
    let rest = [UInt8](repeating: 0, count: padding) + reader.table
    try rest.withUnsafeBytes { try put($0) }
    try target.end()
  }

  private func flush(_ filled: inout Int) throws {
    try put(UnsafeRawBufferPointer(rebasing: piece[..<filled]))
    filled = 0
  }

  private static func fileLength(_ reference: BlobReference, _ store: StoreID) -> UInt64 {
    BlobHeader(store: store, number: reference.number, valueLength: reference.valueLength).fileLength
  }

  // MARK: The superblock

  private func finish() throws {
    var superblock = source.superblock
    if isPacked { superblock.incompatibleFeatures |= FormatVersion.packedValues }
    var bytes = [UInt8](repeating: 0, count: Superblock.fileLength)
    let start = superblock.slot * Superblock.slotLength
    bytes.withUnsafeMutableBytes {
      superblock.write(
        to: UnsafeMutableRawBufferPointer(rebasing: $0[start..<(start + Superblock.slotLength)]))
    }
    try target.begin(.superblock)
    try bytes.withUnsafeBytes { try put($0) }
    try target.end()
  }

  // MARK: Steps

  private func put(_ bytes: UnsafeRawBufferPointer) throws {
    if bytes.isEmpty { return }
    try target.write(bytes)
    report.bytesCopied += UInt64(bytes.count)
    progress.bytesDone += UInt64(bytes.count)
    try didCopy(bytes.count, progress)
  }

  private func noteShared(_ length: UInt64) throws {
    report.bytesShared += length
    progress.bytesDone += length
    try didCopy(0, progress)
  }
}
