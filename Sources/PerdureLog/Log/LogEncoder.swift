import PerdureFormat

/// Encodes a commit as chained frames in memory, before any of its bytes is written.
///
/// It does no I/O: the caller passes the end of the log, and gets addresses of records and extents
/// of bytes to write. The caller writes the commit or discards it. So a refused commit costs no I/O
/// and leaves nothing in the log.
struct LogEncoder: ~Copyable {
  /// Consecutive bytes of one segment.
  struct Extent {
    var segment: UInt64
    var offset: Int
    /// The capacity of the segment, if the segment must be created first; nil otherwise.
    var birthCapacity: Int?
    var bufferRange: Range<Int>
  }

  private let store: StoreID
  private(set) var sequence: UInt64 = 0
  /// The capacity of new segments.
  private let capacity: Int
  /// Whether new segments bind their records (`RecordCheck`).
  private let birthBindsRecords: Bool
  private(set) var extents = ShortList<Extent>()
  private var buffer = RawBuffer(capacity: 64 << 10)
  private var segment: UInt64 = 0
  private var nextSegment: UInt64 = 0
  private var segmentCapacity = 0
  private var offset = 0
  private var syncedOffset = 0
  /// Whether the current segment binds its records.
  private var bindsRecords = false
  // The current frame: its start, its part number, and the count and checksums of its records so
  // far.
  private var frameStart = -1
  private var frameOffset = 0
  private var part: UInt32 = 0
  private var recordCount: UInt32 = 0
  private var recordDigest: UInt32 = 0
  private var chainDigest: UInt32 = 0

  init(store: StoreID, birthCapacity: Int, birthBindsRecords: Bool) {
    self.store = store
    capacity = birthCapacity
    self.birthBindsRecords = birthBindsRecords
  }

  /// Discards the previous commit and begins the next one.
  ///
  /// - Parameters:
  ///   - end: The end of the log.
  ///   - segmentCapacity: The capacity of the last segment.
  ///   - bindsRecords: Whether that segment binds its records.
  mutating func begin(
    sequence: UInt64, end: LogPosition, syncedOffset: Int, segmentCapacity: Int, bindsRecords: Bool,
    nextSegment: UInt64
  ) {
    self.sequence = sequence
    self.bindsRecords = bindsRecords
    self.segmentCapacity = segmentCapacity
    self.syncedOffset = syncedOffset
    self.nextSegment = nextSegment
    segment = end.segment
    offset = Int(end.offset)
    extents.removeAll()
    buffer.removeAll()
    frameStart = -1
    part = 0
    chainDigest = 0
  }

  /// The end of the log after all extents are written.
  var end: LogPosition { LogPosition(segment: segment, offset: UInt64(offset)) }

  /// The number of finished frames.
  var partCount: Int { Int(part) }

  /// The number of bytes in all extents.
  var byteCount: Int { buffer.count }

  /// Whether no record was added.
  var isEmpty: Bool { extents.isEmpty }

  /// Adds a sealed, padded record, and returns its address. If the segment binds its records, the
  /// checksum is continued over the address, which is not known earlier.
  mutating func append(_ record: UnsafeRawBufferPointer, isBlob: Bool) -> RecordAddress {
    makeSpace(for: record.count)
    let address = RecordAddress(segment: segment, offset: offset, recordLength: record.count, isBlob: isBlob)
    let place = buffer.extend(by: record.count)
    place.copyMemory(from: record)
    var checksum: UInt32 = record.integer(at: 0)
    if bindsRecords {
      checksum = Checksum.crc32c(word64: address.rawValue, continuing: checksum)
      place.setInteger(checksum, at: 0)
    }
    offset += record.count
    recordCount += 1
    recordDigest = Checksum.crc32c(word: checksum, continuing: recordDigest)
    return address
  }

  /// Closes the last frame. The commit is complete only when that frame is in the log.
  mutating func finish() {
    guard frameStart >= 0 else { return }
    closeFrame(.commitEnd)
  }

  /// The bytes of an extent.
  func bytes(of extent: Extent) -> UnsafeRawBufferPointer { buffer.bytes.part(extent.bufferRange) }

  /// The buffered bytes that start with the record at an address; nil if this commit did not assign
  /// the address.
  func record(at address: RecordAddress) -> UnsafeRawBufferPointer? {
    for index in extents.indices.reversed() {
      let extent = extents[index]
      guard extent.segment == address.segment, extent.offset <= address.offset else { continue }
      let start = extent.bufferRange.lowerBound + address.offset - extent.offset
      return buffer.bytes.part(start..<buffer.count)
    }
    return nil
  }

  private mutating func makeSpace(for length: Int) {
    if frameStart >= 0 {
      let payload = offset - frameOffset - FrameHeader.length
      let fitsFrame = payload + length <= FormatLimits.framePayloadTarget
      if fitsFrame && offset + length <= segmentCapacity { return }
      closeFrame(.commitPart)
    }
    if offset + FrameHeader.length + length > segmentCapacity { beginSegment(toHold: length) }
    openFrame()
  }

  private mutating func beginSegment(toHold length: Int) {
    segment = nextSegment
    nextSegment += 1
    offset = SegmentHeader.length
    syncedOffset = SegmentHeader.length
    bindsRecords = birthBindsRecords
    segmentCapacity = max(capacity, SegmentHeader.length + FrameHeader.length + length)
    extents.append(
      Extent(
        segment: segment, offset: offset, birthCapacity: segmentCapacity,
        bufferRange: buffer.count..<buffer.count))
  }

  private mutating func openFrame() {
    if extents.isEmpty {
      extents.append(Extent(segment: segment, offset: offset, birthCapacity: nil, bufferRange: 0..<0))
    }
    frameStart = buffer.count
    frameOffset = offset
    buffer.appendZeros(FrameHeader.length)
    offset += FrameHeader.length
    recordCount = 0
    recordDigest = 0
  }

  private mutating func closeFrame(_ kind: FrameHeader.Kind) {
    chainDigest = Checksum.crc32c(word: recordDigest, continuing: chainDigest)
    let header = FrameHeader(
      kind: kind, part: part, sequence: sequence,
      payloadLength: UInt32(offset - frameOffset - FrameHeader.length), recordCount: recordCount,
      recordDigest: recordDigest, chainDigest: chainDigest, syncedOffset: UInt64(syncedOffset))
    let position = LogPosition(segment: segment, offset: UInt64(frameOffset))
    header.write(
      to: buffer.mutableBytes(frameStart..<(frameStart + FrameHeader.length)), store: store,
      position: position)
    part += 1
    frameStart = -1
    let last = extents.count - 1
    extents[last].bufferRange = extents[last].bufferRange.lowerBound..<buffer.count
  }
}
