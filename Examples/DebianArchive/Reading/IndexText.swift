import Foundation

/// The text of an index in pieces. An LZ4 frame stream is decompressed.
///
/// The format is determined by the first four bytes of the file, not by its name.
struct IndexText: ~Copyable {
  private let input: StoredBytes
  private var frames: FrameStream?

  /// - Parameter source: Fills a buffer with stored bytes, and returns their number. Returns 0 only
  ///   at the end.
  /// - Throws: `.unsupported` for other compressions; `.unreadable` if the bytes cannot be read.
  init(source: @escaping FrameStream.Source) throws(ArchiveReadError) {
    let input = StoredBytes(source)
    self.input = input
    switch try input.firstBytes() {
    case let first where Self.isFrame(first):
      frames = try FrameStream { buffer in try input.read(into: buffer) }
    case let first:
      if let name = Self.foreignCompression(first) {
        throw ArchiveReadError(
          .unsupported, "The index is compressed with \(name); only LZ4 and plain text can be read.")
      }
    }
  }

  init(file: IndexFile) throws(ArchiveReadError) {
    guard let handle = FileHandle(forReadingAtPath: file.path) else {
      throw ArchiveReadError(.unreadable, "\(file.label): The index cannot be opened.")
    }
    do throws(ArchiveReadError) {
      try self.init { buffer in
        guard let data = try handle.read(upToCount: buffer.count) else { return 0 }
        data.copyBytes(to: buffer)
        return data.count
      }
    } catch {
      throw ArchiveReadError(error.code, "\(file.label): \(error.message)")
    }
  }

  /// The number of bytes of the stored file that were read.
  var storedBytesRead: Int { input.bytesRead }

  /// Replaces `piece` by the next part of the text, at most 64 KiB. Returns false at the end.
  mutating func nextPiece(_ piece: inout [UInt8]) throws(ArchiveReadError) -> Bool {
    piece.removeAll(keepingCapacity: true)
    guard let frames else { return try input.appendPiece(to: &piece) }
    return try frames.appendPiece(to: &piece)
  }

  private static func isFrame(_ bytes: [UInt8]) -> Bool {
    bytes == [0x04, 0x22, 0x4D, 0x18]
      || (bytes.count == 4 && bytes[0] & 0xF0 == 0x50 && bytes[1...] == [0x2A, 0x4D, 0x18])
  }

  private static func foreignCompression(_ bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0x1F, 0x8B]) { return "gzip" }
    if bytes.starts(with: [0xFD, 0x37, 0x7A, 0x58]) { return "xz" }
    if bytes.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) { return "zstd" }
    if bytes.starts(with: [0x42, 0x5A, 0x68]) { return "bzip2" }
    return nil
  }
}

/// Reads and counts stored bytes. `firstBytes()` returns the first four, and later reads return
/// them again.
private final class StoredBytes {
  private let source: FrameStream.Source
  private var peeked: [UInt8] = []
  private(set) var bytesRead = 0

  init(_ source: @escaping FrameStream.Source) { self.source = source }

  func firstBytes() throws(ArchiveReadError) -> [UInt8] {
    while peeked.count < 4 {
      let more = try readPiece(limit: 4 - peeked.count)
      if more.isEmpty { break }
      peeked += more
    }
    return peeked
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count: Int
    if peeked.isEmpty {
      count = try source(buffer)
    } else {
      count = min(peeked.count, buffer.count)
      buffer.copyBytes(from: peeked[..<count])
      peeked.removeFirst(count)
    }
    bytesRead += count
    return count
  }

  func appendPiece(to piece: inout [UInt8]) throws(ArchiveReadError) -> Bool {
    if peeked.isEmpty {
      piece = try readPiece(limit: 0x1_0000)
    } else {
      swap(&piece, &peeked)
    }
    bytesRead += piece.count
    return !piece.isEmpty
  }

  private func readPiece(limit: Int) throws(ArchiveReadError) -> [UInt8] {
    do {
      return try [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        count = try source(
          UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<limit]))
      }
    } catch {
      throw ArchiveReadError(.unreadable, "The index cannot be read.")
    }
  }
}
