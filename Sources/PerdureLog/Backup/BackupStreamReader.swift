import PerdureFileIO
import PerdureFormat

/// Reads a backup stream and writes its files. FORMAT.md, "Backup stream".
///
/// Each chunk is verified before its bytes are used. Files arrive complete and in this order:
/// segments by number, values by number, the superblock.
struct BackupStreamReader {
  private let input: (_ count: Int) throws -> [UInt8]
  private let target: any BackupTarget
  private let didCopy: (_ bytes: Int, BackupProgress) throws -> Void
  private(set) var store = StoreID(high: 0, low: 0)
  private(set) var report = BackupReport()
  private var progress = BackupProgress()
  /// The number of bytes read from the stream.
  private var place: UInt64 = 0
  private var chunks: UInt64 = 0
  private var files: UInt64 = 0
  private var current: (kind: BackupChunk.Kind, number: UInt64, length: UInt64)?
  private var last = (kind: BackupChunk.Kind.segment, number: UInt64(0))
  private var superblock: [UInt8] = []

  init(
    to target: any BackupTarget, _ input: @escaping (_ count: Int) throws -> [UInt8],
    _ didCopy: @escaping (_ bytes: Int, BackupProgress) throws -> Void
  ) {
    (self.target, self.input, self.didCopy) = (target, input, didCopy)
  }

  /// - Returns: The store's superblock. It is also in the target, with the other files.
  mutating func run() throws -> Superblock {
    let bytes = try read(BackupStreamHeader.length)
    store = try checked(at: 0) {
      try bytes.withUnsafeBytes { try BackupStreamHeader(reading: $0) }
    }.store
    while try readChunk() {}
    guard try read(upTo: 1).isEmpty else { throw Self.damaged("bytes follow its end", at: place) }
    let superblock = try self.superblock.withUnsafeBytes { bytes in
      try checked(at: place) { try Superblock.newest(in: bytes) }
    }
    guard superblock.store == store else {
      throw Self.damaged("its superblock belongs to another store", at: place)
    }
    report.sequence = superblock.durableSequence
    return superblock
  }

  /// - Returns: Whether more chunks follow.
  private mutating func readChunk() throws -> Bool {
    let start = place
    let header = try read(BackupChunk.length)
    let length = try checked(at: start) {
      try header.withUnsafeBytes { try BackupChunk.payloadLength(in: $0) }
    }
    let payload = try read(length)
    let (store, number) = (store, chunks)
    let chunk = try checked(at: start) {
      try header.withUnsafeBytes { header in
        try payload.withUnsafeBytes { payload in
          try BackupChunk(reading: header, payload, store: store, place: number)
        }
      }
    }
    chunks += 1
    if chunk.kind == .end {
      guard current == nil, last.kind == .superblock, chunk.number == files,
        chunk.offset == report.bytesCopied
      else { throw Self.damaged("files are missing", at: start) }
      return false
    }
    try accept(chunk, payload, at: start)
    return true
  }

  private mutating func accept(_ chunk: BackupChunk, _ payload: [UInt8], at start: UInt64) throws {
    if current == nil {
      try begin(chunk, at: start)
      current = (chunk.kind, chunk.number, 0)
    }
    guard let file = current, file.kind == chunk.kind, file.number == chunk.number,
      file.length == chunk.offset
    else { throw Self.damaged("a file is incomplete", at: start) }
    if chunk.kind == .superblock {
      guard superblock.count + payload.count <= Superblock.fileLength else {
        throw Self.damaged("its superblock is too long", at: start)
      }
      superblock += payload
    }
    if !payload.isEmpty { try payload.withUnsafeBytes { try target.write($0) } }
    report.bytesCopied += UInt64(payload.count)
    progress.bytesDone = report.bytesCopied
    progress.bytesTotal = report.bytesCopied
    current?.length += UInt64(payload.count)
    if chunk.isLast {
      try target.end()
      current = nil
    }
    try didCopy(payload.count, progress)
  }

  private mutating func begin(_ chunk: BackupChunk, at start: UInt64) throws {
    let isNext: Bool
    switch (last.kind, chunk.kind) {
    case (.segment, .segment), (.blob, .blob): isNext = chunk.number > last.number
    case (.segment, .blob), (.segment, .superblock), (.blob, .superblock): isNext = true
    default: isNext = false
    }
    guard isNext else { throw Self.damaged("its files are in the wrong order", at: start) }
    last = (chunk.kind, chunk.number)
    files += 1
    switch chunk.kind {
    case .segment:
      report.segments += 1
      try target.begin(.segment(chunk.number))
    case .blob:
      report.blobs += 1
      try target.begin(.blob(chunk.number))
    case .superblock, .end: try target.begin(.superblock)
    }
  }

  // MARK: Bytes

  private mutating func read(_ count: Int) throws -> [UInt8] {
    let bytes = try read(upTo: count)
    guard bytes.count == count else { throw Self.damaged("it ends too early", at: place) }
    return bytes
  }

  private mutating func read(upTo count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try input(count - bytes.count)
      if more.isEmpty { break }
      guard more.count <= count - bytes.count else {
        throw StoreError(
          .invalidArgument, "The closure that reads the backup returned more bytes than were requested")
      }
      if bytes.isEmpty { bytes = more } else { bytes += more }
    }
    place += UInt64(bytes.count)
    return bytes
  }

  private func checked<R>(at start: UInt64, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as FormatError {
      if error.reason == .unsupported {
        throw StoreError(
          .unsupportedFormat, "The backup needs a newer version of Perdure: \(error)", at: "byte \(start)")
      }
      throw Self.damaged("\(error)", at: start + UInt64(error.offset))
    }
  }

  private static func damaged(_ why: String, at place: UInt64) -> StoreError {
    StoreError(
      .corruption, "The backup is damaged: \(why). Nothing was restored; restore another backup",
      at: "byte \(place)")
  }
}
