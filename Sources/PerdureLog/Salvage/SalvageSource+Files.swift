import PerdureFileIO
import PerdureFormat

// Reads the files of a damaged store. A directory entry with the name of a store file may be
// anything: a pipe, a directory, a dangling link. A file that cannot be read counts as damaged, and
// the report names it if it is a segment. Errors about the process are thrown instead: a lack of
// memory or descriptors, or no permission to read.

extension FileIOError {
  /// Throws if this error concerns the process instead of the file. Any other error of reading a
  /// damaged store counts as damage of the file. Only this function makes that decision.
  ///
  /// - Throws: This error, if the process lacks memory or descriptors. `StoreError` with code `.io`
  ///   if it has no permission to read the file.
  func checkIsDamage() throws {
    if code.isShortage { throw self }
    guard code == .permissionDenied else { return }
    throw StoreError(
      .io,
      "The file could not be checked for damage: the process has no permission to read it; give the process the "
        + "permission to read all files of the store",
      at: path, cause: self)
  }
}

extension SalvageSource {
  /// Opens the segment files and reads their headers. The report names files that cannot be opened.
  ///
  /// - Throws: As `checkIsDamage`. `StoreError` with code `.unsupportedFormat` if a newer version
  ///   of Perdure has written a segment: its records may have another meaning.
  mutating func readHeaders(_ numbers: [UInt64], _ report: inout SalvageReport) throws -> [SourceSegment] {
    var found: [SourceSegment] = []
    for number in numbers.sorted() {
      let name = StoreFileName.segment(number).string
      let file: any File
      let size: UInt64
      do throws(FileIOError) {
        file = try directory.open(name, .read)
        size = try file.size()
      } catch {
        try error.checkIsDamage()
        report.add(.unreadable, in: name, 0, 0)
        noteMissing(number)
        continue
      }
      defer { try? file.close() }
      found.append(
        SourceSegment(
          number: number, name: name, size: Int(clamping: size), header: try header(of: file, name)))
    }
    return found
  }

  /// The header of a segment file; nil if it is damaged or cannot be read.
  private func header(of file: any File, _ name: String) throws -> SegmentHeader? {
    let bytes: [UInt8]
    do throws(FileIOError) { bytes = try file.read(SegmentHeader.length, at: 0) } catch {
      try error.checkIsDamage()
      return nil
    }
    do {
      return try bytes.withUnsafeBytes { try SegmentHeader(reading: $0) }
    } catch let error as FormatError {
      if error.reason == .unsupported { throw StoreError.unsupported(error, at: name) }
      return nil
    }
  }

  /// Opens a file for reading; nil if it cannot be opened.
  ///
  /// - Throws: As `checkIsDamage`.
  func openIfReadable(_ name: String) throws -> (any File)? {
    do throws(FileIOError) { return try directory.open(name, .read) } catch {
      try error.checkIsDamage()
      return nil
    }
  }

  /// Reads `count` bytes of a file, or fewer if the file ends before. Returns nil if the file
  /// cannot be read.
  ///
  /// - Throws: As `checkIsDamage`.
  func bytesIfReadable(_ name: String, _ offset: UInt64, _ count: Int) throws -> [UInt8]? {
    do throws(FileIOError) {
      let file = try directory.open(name, .read)
      defer { try? file.close() }
      return try file.read(count, at: offset)
    } catch {
      try error.checkIsDamage()
      return nil
    }
  }

  /// Omits the files of segments whose creation was interrupted. The number of such a file is
  /// higher than those of the last segment and of the durable end in the superblock. The file has
  /// only zeros, or the header of an older segment and then zeros. Recovery uses the same rule
  /// (`SegmentBirth`, FORMAT.md, B6 and R4).
  func withoutUnborn(_ files: [SourceSegment]) throws -> [SourceSegment] {
    let last = files.last { $0.header?.number == $0.number && $0.header?.store == store }?.number ?? 0
    let promised = superblock?.durableEnd.segment ?? 0
    return try files.filter { file in
      guard file.number > max(last, promised) else { return true }
      guard let header = file.header else { return try !isZero(file, from: 0) }
      let isOlder = header.store == store && header.number < file.number
      return try !(isOlder && isZero(file, from: SegmentHeader.length))
    }
  }

  private func isZero(_ segment: SourceSegment, from first: Int) throws -> Bool {
    for start in stride(from: first, to: segment.size, by: 64 << 10) {
      let count = min(64 << 10, segment.size - start)
      guard let bytes = try bytesIfReadable(segment.name, UInt64(start), count), bytes.count == count,
        bytes.allSatisfy({ $0 == 0 })
      else { return false }
    }
    return true
  }

  /// The maximum length of a root block that is read. The root block of a store with two million
  /// blob files is about this long.
  private static let rootLengthMax: UInt32 = 16 << 20

  /// The generation of each segment in the newest checkpoint, by segment number: how often the
  /// segment was rewritten. Empty if the checkpoint cannot be read.
  func generationsCounted() throws -> [UInt64: UInt64] {
    guard let store, let reference = superblock?.checkpoint, reference.rootLength <= Self.rootLengthMax else {
      return [:]
    }
    let name = StoreFileName.index(reference.indexFile).string
    let start = UInt64(reference.rootSlot) * UInt64(IndexFileHeader.unitLength)
    guard let head = try bytesIfReadable(name, 0, IndexFileHeader.unitLength),
      (try? head.withUnsafeBytes {
        try IndexFileHeader(reading: $0).check(store: store, number: reference.indexFile)
      }) != nil,
      // A length that exceeds the file must not cause an allocation.
      try bytesIfReadable(name, start + UInt64(max(reference.rootLength, 1)) - 1, 1)?.count == 1,
      let block = try bytesIfReadable(name, start, Int(reference.rootLength)),
      block.count == Int(reference.rootLength),
      block.withUnsafeBytes({ Checksum.crc32c($0) }) == reference.rootChecksum,
      let root = try? block.withUnsafeBytes({ try CheckpointRoot(reading: $0) })
    else { return [:] }
    return root.segmentUsage.withUnsafeBytes { table in
      let entries = stride(
        from: 0, through: table.count - SegmentUsageTable.entryLength, by: SegmentUsageTable.entryLength)
      return Dictionary(
        entries.map { (table.integer(at: $0) as UInt64, table.integer(at: $0 + 8) as UInt64) },
        uniquingKeysWith: max)
    }
  }
}
