import Testing

@testable import DebianIndexReading

@Suite("LZ4 frames of an index")
struct FrameStreamTests {
  /// Reads a whole stream. The source returns at most `pieceSize` bytes at a time.
  private func content(of stream: [UInt8], pieceSize: Int = .max) throws(ArchiveReadError) -> [UInt8] {
    var position = 0
    let frames = try FrameStream { buffer in
      let count = min(buffer.count, pieceSize, stream.count - position)
      buffer.copyBytes(from: stream[position..<(position + count)])
      position += count
      return count
    }
    var content: [UInt8] = []
    while try frames.appendPiece(to: &content) {}
    return content
  }

  /// Text with repetitions, and runs of one byte.
  private func text(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8($0 % 1000 < 500 ? $0 % 251 : 97) }
  }

  private func skippable(_ bytes: [UInt8]) -> [UInt8] {
    [0x57, 0x2A, 0x4D, 0x18, UInt8(bytes.count), 0, 0, 0] + bytes
  }

  @Test("A stream has the same content for every piece size of the source", arguments: [1, 7, 4096, .max])
  func pieces(pieceSize: Int) throws {
    for length in [0, 1, 100, 65_536, pieceSize == 1 ? 70_000 : 2_000_000] {
      let text = text(length)
      #expect(try content(of: frame(text), pieceSize: pieceSize) == text, "\(length)")
    }
  }

  @Test("Consecutive frames are read, and skippable frames are skipped")
  func concatenated() throws {
    let stream =
      try skippable([1, 2, 3]) + frame(text(10)) + skippable([]) + frame(text(300)) + skippable([9])
    #expect(try content(of: stream, pieceSize: 5) == text(10) + text(300))
  }

  @Test("A stream that ends inside a frame throws a truncation error")
  func cut() throws {
    let stream = try skippable([1, 2, 3]) + frame(text(300))
    for length in 0..<stream.count where length != 11 {
      let error = #expect(throws: ArchiveReadError.self) { try content(of: Array(stream[..<length])) }
      #expect(error?.code == .truncated, "\(length)")
    }
  }

  @Test("Every flipped bit of a frame with all checksums throws an error")
  func flipped() throws {
    let stream = try frame(text(300))
    for bit in 0..<(8 * stream.count) {
      var damaged = stream
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: ArchiveReadError.self, "bit \(bit)") { try content(of: damaged) }
    }
  }

  @Test("Bytes after the last frame throw an error")
  func trailing() throws {
    let error = #expect(throws: ArchiveReadError.self) { try content(of: frame(text(10)) + text(20)) }
    #expect(error?.code == .damaged)
  }

  @Test("The error of a failing source is reported")
  func failingSource() throws {
    struct Broken: Error {}
    let frames = try FrameStream { _ in throw Broken() }
    var piece: [UInt8] = []
    let error = #expect(throws: ArchiveReadError.self) { try frames.appendPiece(to: &piece) }
    #expect(error?.code == .unreadable && error?.message.contains("Broken") == true)
  }
}
