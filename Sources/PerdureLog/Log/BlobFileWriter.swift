import PerdureFileIO
import PerdureFormat

/// Writes a blob file in pieces, front to back. FORMAT.md, "Blob file".
///
/// The header is written last, because it contains the value's length. Until then the file is
/// invalid. Memory use: one buffer, and four bytes for each chunk, which are 256 KiB for the
/// longest value.
struct BlobFileWriter: ~Copyable {
  /// Pieces up to this length are gathered in the buffer. Longer pieces are written directly. Unit:
  /// bytes.
  private static let bufferLength = 256 << 10
  /// The file is synced whenever this many bytes are unsynced. One sync of the whole file delays
  /// the syncs of commits.
  private static let syncLength: UInt64 = 32 << 20

  let number: UInt64
  private let store: StoreID
  private let directory: any Directory
  private let file: any File
  /// The length of the value so far, in bytes.
  private(set) var length: UInt64 = 0
  /// One CRC32C, little-endian, for each complete chunk.
  private var table: [UInt8] = []
  private var chunkChecksum: UInt32 = 0
  private var buffer = RawBuffer()
  private var syncedLength: UInt64 = 0

  init(_ number: UInt64, of store: StoreID, in directory: any Directory) throws(FileIOError) {
    self.number = number
    self.store = store
    self.directory = directory
    file = try directory.open(StoreFileName.blob(number).string, .create)
  }

  /// Appends bytes to the value. After an error, nothing more may be appended.
  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(FileIOError) {
    if bytes.isEmpty { return }
    addToTable(bytes)
    if buffer.count + bytes.count > Self.bufferLength { try flush() }
    if bytes.count > Self.bufferLength {
      try file.write(bytes, at: UInt64(BlobHeader.length) + length)
    } else {
      buffer.append(bytes)
    }
    length += UInt64(bytes.count)
    guard length - syncedLength >= Self.syncLength else { return }
    try flush()
    try file.sync(.full)
    syncedLength = length
  }

  /// Completes the file, and makes its content and its name durable, so that a frame may reference
  /// the file.
  consuming func finish() throws(FileIOError) -> BlobReference {
    if length % UInt64(BlobHeader.chunkLength) > 0 { endChunk() }
    let header = BlobHeader(store: store, number: number, valueLength: length)
    buffer.appendZeros(Int(header.checksumsOffset - UInt64(BlobHeader.length) - length))
    let (end, digest) = (header.checksumsOffset, table.withUnsafeBytes { Checksum.crc32c($0) })
    try write(buffer.bytes, endingAt: end)
    try file.write(table, at: end)
    var head = [UInt8](repeating: 0, count: BlobHeader.length)
    head.withUnsafeMutableBytes { header.write(to: $0) }
    try file.write(head, at: 0)
    try file.sync(.full)
    try directory.sync()
    try file.close()
    return BlobReference(number: number, valueLength: length, digest: digest)
  }

  private mutating func flush() throws(FileIOError) {
    try write(buffer.bytes, endingAt: UInt64(BlobHeader.length) + length)
    buffer.truncate(to: 0)
  }

  private func write(_ bytes: UnsafeRawBufferPointer, endingAt end: UInt64) throws(FileIOError) {
    if !bytes.isEmpty { try file.write(bytes, at: end - UInt64(bytes.count)) }
  }

  private mutating func addToTable(_ bytes: UnsafeRawBufferPointer) {
    var start = 0
    while start < bytes.count {
      let filled = Int((length + UInt64(start)) % UInt64(BlobHeader.chunkLength))
      let count = min(BlobHeader.chunkLength - filled, bytes.count - start)
      chunkChecksum = Checksum.crc32c(bytes.part(start, count), continuing: chunkChecksum)
      start += count
      if filled + count == BlobHeader.chunkLength { endChunk() }
    }
  }

  private mutating func endChunk() {
    withUnsafeBytes(of: chunkChecksum.littleEndian) { table.append(contentsOf: $0) }
    chunkChecksum = 0
  }
}
