import Foundation
import PerdureCompression
import PerdureTestSupport
import Testing

private let seed = SeededGenerator.seedFromEnvironment()

/// A frame with every check: independent blocks, block checksum, content size and content checksum.
private let fixture = hexBytes(
  """
  04224d187c406100000000000000d931000000ff0654686520717569636b2062726f776e20666f782e20150015bd206a
  756d70732c20616e640b008020616761696e2e0a05a74668000000008e2bc5b4
  """)
private let fixtureContent =
  "The quick brown fox. The quick brown fox. The quick brown fox jumps, and jumps, and jumps again.\n"

@Suite("LZ4 frames") struct LZ4FrameReaderTests {
  @Test("A frame with every check opens, however the source cuts it", arguments: [1, 3, 7, 64, .max])
  func fixtureOpens(pieceSize: Int) throws {
    for decoder in [LZ4Block.self, LZ4BlockDecoder.self] as [any LZ4BlockDecoding.Type] {
      let bytes = try content(of: fixture, pieceSize: pieceSize, decoder: decoder)
      #expect(String(decoding: bytes, as: UTF8.self) == fixtureContent)
    }
  }

  @Test("Every option and block size opens", arguments: 0..<32)
  func options(bits: Int) throws {
    var random = SeededGenerator(seed: seed &+ UInt64(bits))
    let bytes = sample(150_000, using: &random)
    let builder = FrameBuilder(
      independentBlocks: bits & 1 != 0, blockChecksums: bits & 2 != 0, contentChecksum: bits & 4 != 0,
      contentSize: bits & 8 != 0 ? UInt64(bytes.count) : nil, sizeClass: bits & 16 != 0 ? 4 : 7)
    #expect(try content(of: builder.frame(bytes, blockSize: 60_000)) == bytes, "seed \(seed)")
  }

  @Test("Linked blocks reach into those before, across more than 64 KiB and through stored ones")
  func linkedBlocks() throws {
    // Each linked block copies 4 bytes from `back` bytes before it and adds five literals.
    func linked(back: Int) -> FrameBuilder.Block {
      .compressed([0x00, UInt8(back & 255), UInt8(back >> 8), 0x50, 1, 2, 3, 4, 5])
    }
    var random = SeededGenerator(seed: seed)
    let first = sample(65_536, using: &random)
    let second = sample(30_000, using: &random)
    var expected = first + second
    for back in [65_535, 30_009, 4] {
      expected += expected[(expected.count - back)...].prefix(4) + [1, 2, 3, 4, 5]
    }
    let stream = FrameBuilder(independentBlocks: false, contentChecksum: true).frame(
      [.stored(first), .stored(second), linked(back: 65_535), linked(back: 30_009), linked(back: 4)],
      content: expected)
    #expect(try content(of: stream) == expected, "seed \(seed)")
    #expect(try content(of: stream, decoder: LZ4BlockDecoder.self) == expected, "seed \(seed)")
  }

  @Test("Independent blocks may not reach back")
  func independentBlocks() {
    let stream = FrameBuilder().frame(
      [.stored(Array("abcdefgh".utf8)), .compressed([0x00, 8, 0, 0x50, 1, 2, 3, 4, 5])], content: [])
    let error = #expect(throws: CompressionError.self) { try content(of: stream) }
    #expect(error?.code == .damaged)
    // 7 bytes of header, 4 + 8 of the first block, 4 of the second's size, then the offset.
    #expect((23...27).contains(error?.byteOffset ?? 0))
  }

  @Test("Frames follow each other; skippable ones are passed over; no history is carried over")
  func concatenated() throws {
    let other = try FrameBuilder(contentChecksum: true).frame(Array("second".utf8))
    let stream =
      FrameBuilder.skippable([1, 2, 3]) + fixture + FrameBuilder.skippable([], number: 15) + other
      + FrameBuilder.skippable([UInt8](repeating: 9, count: 200_000), number: 7)
    for pieceSize in [5, Int.max] {
      let bytes = try content(of: stream, pieceSize: pieceSize)
      #expect(String(decoding: bytes, as: UTF8.self) == fixtureContent + "second")
    }
    #expect(try content(of: FrameBuilder.skippable([1, 2])) == [])
    let reachingBack = FrameBuilder(independentBlocks: false).frame(
      [.compressed([0x00, 8, 0, 0x50, 1, 2, 3, 4, 5])], content: [])
    #expect(throws: CompressionError.self) { try content(of: fixture + reachingBack) }
  }

  @Test("Empty frames and empty blocks hold nothing")
  func emptyFrames() throws {
    #expect(try content(of: FrameBuilder(contentChecksum: true, contentSize: 0).frame([], content: [])) == [])
    #expect(try content(of: FrameBuilder().frame([.stored([]), .stored([7])], content: [])) == [7])
  }

  @Test("An empty stream is truncated")
  func emptyStream() {
    let error = #expect(throws: CompressionError.self) { try content(of: []) }
    #expect(error?.code == .truncated)
  }

  @Test("Every cut is reported as truncated, at the cut")
  func everyCut() throws {
    let stream = FrameBuilder.skippable([1, 2, 3]) + fixture
    for cut in 1..<stream.count where cut != 11 {
      let error = #expect(throws: CompressionError.self) { try content(of: Array(stream[..<cut])) }
      #expect(error?.code == .truncated, "cut at \(cut)")
      #expect(error?.byteOffset == cut, "cut at \(cut)")
    }
  }

  @Test("Every flipped bit of a frame with every check is reported")
  func everyBit() throws {
    for bit in 0..<(8 * fixture.count) {
      var stream = fixture
      stream[bit / 8] ^= 1 << UInt8(bit % 8)
      let error = #expect(throws: CompressionError.self, "bit \(bit)") { try content(of: stream) }
      #expect((0...stream.count).contains(error?.byteOffset ?? -1), "bit \(bit)")
    }
  }

  @Test("What came before the damage is handed out, then the same error each time")
  func damageLater() throws {
    var stream = try FrameBuilder(blockChecksums: true).frame([UInt8](repeating: 5, count: 131_072))
    stream[stream.count - 5] ^= 1
    var position = 0
    var reader = LZ4FrameReader { buffer in
      let count = min(buffer.count, stream.count - position)
      buffer.copyBytes(from: stream[position..<(position + count)])
      position += count
      return count
    }
    #expect(try reader.withNextChunk { $0.count } == 65_536)
    var offsets: [Int] = []
    for _ in 0..<2 {
      do throws(CompressionError) {
        _ = try reader.withNextChunk { $0.count }
      } catch {
        offsets.append(error.byteOffset)
        #expect(error.code == .damaged)
      }
    }
    #expect(offsets.count == 2 && offsets[0] == offsets[1])
  }

  @Test("What this reader does not have is named, not guessed")
  func unsupported() {
    let dictionary = FrameBuilder(dictionaryID: 42).frame([], content: [])
    let version = FrameBuilder(version: 2).frame([], content: [])
    for stream in [dictionary, version] {
      let error = #expect(throws: CompressionError.self) { try content(of: stream) }
      #expect(error?.code == .unsupported)
      #expect(error?.byteOffset == 4)
    }
  }

  @Test("A block longer than its frame allows is refused before it is read")
  func oversizedBlock() {
    let stream = FrameBuilder().frame([.stored([UInt8](repeating: 1, count: 65_537))], content: [])
    let error = #expect(throws: CompressionError.self) { try content(of: stream) }
    #expect(error?.code == .damaged)
    #expect(error?.byteOffset == 7)
  }

  @Test("A promised content size is kept", arguments: [4, 6] as [UInt64])
  func contentSize(promised: UInt64) {
    let stream = FrameBuilder(contentSize: promised).frame([.stored([1, 2, 3, 4, 5])], content: [])
    #expect(throws: CompressionError.self) { try content(of: stream) }
  }

  @Test("Bytes behind the last frame are damage, with their place")
  func trailingBytes() {
    let error = #expect(throws: CompressionError.self) { try content(of: fixture + [1, 2, 3, 4, 5]) }
    #expect(error?.code == .damaged)
    #expect(error?.byteOffset == fixture.count)
  }

  @Test("A failing source is reported as unreadable with its cause")
  func failingSource() {
    struct Broken: Error {}
    var reader = LZ4FrameReader { _ in throw Broken() }
    do throws(CompressionError) {
      _ = try reader.withNextChunk { $0.count }
      Issue.record("The source's error was lost")
    } catch {
      #expect(error.code == .unreadable)
      #expect(error.cause is Broken)
    }
  }

  @Test("Damaged streams never trap, and what liblz4 opens both open")
  func mutatedStreams() throws {
    var random = SeededGenerator(seed: seed)
    for round in 0..<3_000 {
      let bytes = sample(Int.random(in: 0...500, using: &random), using: &random)
      let frame = try FrameBuilder(independentBlocks: round % 2 == 0).frame(bytes, blockSize: 200)
      let stream = mutated(frame, using: &random)
      let native = try? content(of: stream)
      do throws(CompressionError) {
        let swift = try content(of: stream, decoder: LZ4BlockDecoder.self)
        #expect(native == nil || native == swift, "seed \(seed), round \(round)")
      } catch {
        #expect(
          native == nil || error.message.hasSuffix("offset 0"), "seed \(seed), round \(round): \(error)")
      }
    }
  }
}
