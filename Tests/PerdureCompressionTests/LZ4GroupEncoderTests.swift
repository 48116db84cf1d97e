import PerdureTestSupport
import Testing

@testable import PerdureCompression

@Suite("LZ4 blocks of record groups")
struct LZ4GroupEncoderTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  private func encode(_ bytes: [UInt8], room: Int) -> [UInt8]? {
    var output = [UInt8](repeating: 0xEE, count: room + 8)
    let length = output.withUnsafeMutableBytes { output in
      bytes.withUnsafeBytes {
        LZ4GroupEncoder().encode($0, into: UnsafeMutableRawBufferPointer(rebasing: output[..<room]))
      }
    }
    #expect(output.suffix(8).allSatisfy { $0 == 0xEE })
    return length.map { Array(output[..<$0]) }
  }

  @Test("Both decoders restore random bytes")
  func roundTrip() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let bytes = sample(Int.random(in: 1...70_000, using: &random), using: &random)
      let block = try #require(encode(bytes, room: LZ4Block.compressedSizeLimit(ofInput: bytes.count)))
      let size = bytes.count
      #expect(try block.withUnsafeBytes { try LZ4Block.decompress($0, size: size) } == bytes)
      #expect(try block.withUnsafeBytes { try LZ4BlockDecoder.decompress($0, size: size) } == bytes)
    }
  }

  @Test("The encoder returns nil if the output has no space for the block")
  func noRoom() {
    var random = SeededGenerator(seed: seed)
    let noise = (0..<5000).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect(encode(noise, room: 4750) == nil)
    #expect(encode(noise, room: 1) == nil)
    #expect(encode([UInt8](repeating: 1, count: 5000), room: 4750) != nil)
  }
}
