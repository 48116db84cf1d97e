#if canImport(CLZ4)
  internal import CLZ4
#endif

/// The content of a stream of LZ4 frames, decompressed by liblz4 in pieces.
///
/// Memory use is at most two blocks of a frame (4 MiB each) and a few buffers.
final class FrameStream {
  /// Fills the buffer from its start, and returns the number of bytes; 0 only at the end.
  typealias Source = (_ buffer: UnsafeMutableRawBufferPointer) throws -> Int

  #if canImport(CLZ4)
    private static let inputCapacity = 1 << 16
    /// The smallest block size of LZ4 frames. With longer pieces, a damaged block also loses the
    /// output of earlier blocks in its piece.
    private static let pieceCapacity = 1 << 16

    private let source: Source
    private var context: OpaquePointer?
    private var input: [UInt8] = []
    private var inputOffset = 0
    private var bytesConsumed = 0
    /// Whether the stream is between frames. The source may end only there.
    private var isBetweenFrames = false
    /// Whether the last piece was full. Then liblz4 may have more output.
    private var hasMoreOutput = false

    init(source: @escaping Source) throws(ArchiveReadError) {
      self.source = source
      guard LZ4F_isError(LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))) == 0 else {
        throw ArchiveReadError(.unreadable, "liblz4 found no memory to decompress the index.")
      }
    }

    deinit { LZ4F_freeDecompressionContext(context) }

    /// Appends the next bytes of the content. Returns false at the end.
    func appendPiece(to piece: inout [UInt8]) throws(ArchiveReadError) -> Bool {
      let start = piece.count
      while piece.count == start {
        if inputOffset == input.count, !hasMoreOutput {
          try refill()
          if input.isEmpty {
            if isBetweenFrames { return false }
            throw ArchiveReadError(
              .truncated, "The LZ4 frame ends too early, at byte \(bytesConsumed) of the file.")
          }
        }
        let produced = try decompress()
        hasMoreOutput = produced.count == Self.pieceCapacity
        piece += produced
      }
      return true
    }

    private func refill() throws(ArchiveReadError) {
      inputOffset = 0
      do {
        input = try [UInt8](unsafeUninitializedCapacity: Self.inputCapacity) { buffer, count in
          count = try source(UnsafeMutableRawBufferPointer(buffer))
        }
      } catch {
        throw ArchiveReadError(.unreadable, "The index cannot be read: \(error).")
      }
    }

    private func decompress() throws(ArchiveReadError) -> [UInt8] {
      var consumed = input.count - inputOffset
      var result = 0
      let produced = input.withUnsafeBytes { input in
        [UInt8](unsafeUninitializedCapacity: Self.pieceCapacity) { output, count in
          count = Self.pieceCapacity
          let place = input.baseAddress?.advanced(by: inputOffset)
          result = LZ4F_decompress(context, output.baseAddress, &count, place, &consumed, nil)
          if LZ4F_isError(result) != 0 { count = 0 }
        }
      }
      guard LZ4F_isError(result) == 0 else { throw Self.error(result, after: bytesConsumed) }
      inputOffset += consumed
      bytesConsumed += consumed
      // A call without input or output changes nothing, but its result looks like that of a new
      // frame.
      if consumed > 0 || !produced.isEmpty { isBetweenFrames = result == 0 }
      return produced
    }

    private static func error(_ code: Int, after byte: Int) -> ArchiveReadError {
      let name = LZ4F_getErrorName(code).map { String(cString: $0) } ?? "unknown error"
      let isVersion = name == "ERROR_headerVersion_wrong"
      return ArchiveReadError(
        isVersion ? .unsupported : .damaged,
        "The LZ4 frame cannot be decompressed (\(name)), at or after byte \(byte) of the file.")
    }
  #else
    init(source: @escaping Source) throws(ArchiveReadError) {
      throw ArchiveReadError(.unsupported, "This build has no liblz4; only plain text can be read.")
    }

    func appendPiece(to piece: inout [UInt8]) throws(ArchiveReadError) -> Bool { false }
  #endif
}
