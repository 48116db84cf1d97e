import PerdureFormat

/// Writes a backup stream. FORMAT.md, "Backup stream".
final class BackupStreamWriter: BackupTarget {
  private let store: StoreID
  private let output: (UnsafeRawBufferPointer) throws -> Void
  private var chunks: UInt64 = 0
  private var files: UInt64 = 0
  private var byteCount: UInt64 = 0
  private var file = (kind: BackupChunk.Kind.superblock, number: UInt64(0))
  private var offset: UInt64 = 0

  init(_ store: StoreID, _ output: @escaping (UnsafeRawBufferPointer) throws -> Void) throws {
    (self.store, self.output) = (store, output)
    try withUnsafeTemporaryAllocation(byteCount: BackupStreamHeader.length, alignment: 8) { bytes in
      BackupStreamHeader(store: store).write(to: bytes)
      try output(UnsafeRawBufferPointer(bytes))
    }
  }

  func begin(_ name: StoreFileName) throws {
    switch name {
    case .superblock: file = (.superblock, 0)
    case .segment(let number): file = (.segment, number)
    case .blob(let number): file = (.blob, number)
    default: preconditionFailure("a backup has no other files")
    }
    offset = 0
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    try put(
      BackupChunk(
        kind: file.kind, isLast: false, payloadLength: UInt32(bytes.count), number: file.number,
        offset: offset),
      bytes)
    offset += UInt64(bytes.count)
    byteCount += UInt64(bytes.count)
  }

  func end() throws {
    try put(
      BackupChunk(kind: file.kind, isLast: true, payloadLength: 0, number: file.number, offset: offset),
      UnsafeRawBufferPointer(start: nil, count: 0))
    files += 1
  }

  /// Writes the chunk that ends the stream. All files must have been written.
  func finish() throws {
    try put(
      BackupChunk(kind: .end, isLast: true, payloadLength: 0, number: files, offset: byteCount),
      UnsafeRawBufferPointer(start: nil, count: 0))
  }

  private func put(_ chunk: BackupChunk, _ payload: UnsafeRawBufferPointer) throws {
    try withUnsafeTemporaryAllocation(byteCount: BackupChunk.length, alignment: 8) { bytes in
      chunk.write(to: bytes, payload, store: store, place: chunks)
      try output(UnsafeRawBufferPointer(bytes))
    }
    if !payload.isEmpty { try output(payload) }
    chunks += 1
  }
}
