import Foundation
import PerdureCompression
import PerdureTestSupport
import Testing

private let seed = SeededGenerator.seedFromEnvironment()
private let decoders: [any LZ4BlockDecoding.Type] = [LZ4Block.self, LZ4BlockDecoder.self]

@Suite("LZ4 blocks") struct LZ4BlockTests {
  @Test(
    "Both decoders restore the input of a block", arguments: [0, 1, 4, 12, 13, 100, 65_535, 300_000])
  func roundTrip(size: Int) throws {
    var random = SeededGenerator(seed: seed &+ UInt64(size))
    let bytes = sample(size, using: &random)
    let block = try compressed(bytes)
    #expect(block.count <= LZ4Block.compressedSizeLimit(ofInput: size))
    for decoder in decoders {
      let result = open(block, by: decoder, room: size)
      #expect(result.outcome == .bytes(bytes), "\(decoder), seed \(seed)")
      #expect(result.wallsStand)
      #expect(try block.withUnsafeBytes { try decoder.decompress($0, size: size) } == bytes)
    }
  }

  @Test("Repetitive input is compressed")
  func shrinks() throws {
    let bytes = [UInt8](repeating: 7, count: 100_000)
    #expect(try compressed(bytes).count < 1_000)
  }

  @Test("A block that exceeds the output buffer is refused, not truncated")
  func compressIntoTooLittle() {
    let noise = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 31 >> 3) }
    var output = [UInt8](repeating: 0, count: 20)
    let error = #expect(throws: CompressionError.self) {
      try noise.withUnsafeBytes { input in
        try output.withUnsafeMutableBytes { try LZ4Block.compress(input, into: $0) }
      }
    }
    #expect(error?.code == .outputTooSmall)
  }

  @Test("A decompressed size that differs from the expected size is an error", arguments: [50, 70])
  func wrongSize(expected: Int) throws {
    let block = try compressed([UInt8](repeating: 1, count: 60))
    for decoder in decoders {
      #expect(throws: CompressionError.self) {
        try block.withUnsafeBytes { try decoder.decompress($0, size: expected) }
      }
    }
  }

  @Test("An empty block is reported as truncated")
  func emptyBlock() {
    for decoder in decoders {
      #expect(open([], by: decoder, room: 10).outcome == .failure(.truncated))
      #expect(open([], by: decoder, room: 0).outcome == .failure(.truncated))
    }
  }

  @Test("Into an output of zero bytes, only an empty value can be decoded")
  func noRoom() {
    for decoder in decoders {
      #expect(open([0], by: decoder, room: 0).outcome == .bytes([]))
      #expect(open([0], by: decoder, room: 0, dictionary: [1, 2, 3]).outcome == .bytes([]))
      #expect(open([0x10, 65], by: decoder, room: 0).error != nil)
    }
  }

  @Test("Errors name the offset in the block", arguments: decoders.indices)
  func errorOffsets(decoder: Int) {
    // One literal, then a match with offset 9 after only 1 byte of output.
    let block: [UInt8] = [0x10, 65, 9, 0, 0x50, 66, 67, 68, 69, 70]
    let error = open(block, by: decoders[decoder], room: 100).error
    #expect(error?.code == .damaged)
    #expect((2...4).contains(error?.byteOffset ?? 0))
  }

  @Test("A match may refer to the dictionary, but not to bytes before its start")
  func dictionary() {
    // A match of 4 bytes with offset 6, then five literals.
    let block: [UInt8] = [0x00, 6, 0, 0x50, 1, 2, 3, 4, 5]
    for decoder in decoders {
      let result = open(block, by: decoder, room: 20, dictionary: Array("abcdef".utf8))
      #expect(result.outcome == .bytes(Array("abcd".utf8) + [1, 2, 3, 4, 5]))
      #expect(result.wallsStand)
      #expect(
        open(block, by: decoder, room: 20, dictionary: Array("bcdef".utf8)).outcome == .failure(.damaged))
    }
  }

  @Test("A match that overlaps its own output repeats the bytes", arguments: 1...20)
  func overlap(offset: Int) {
    let start = (0..<offset).map { UInt8($0) }
    // A match of 4 + 15 + 40 bytes, then five literals.
    let block: [UInt8] = [0x0F, UInt8(offset), 0, 40, 0x50, 91, 92, 93, 94, 95]
    let expected = (0..<59).map { UInt8($0 % offset) } + [91, 92, 93, 94, 95]
    for decoder in decoders {
      #expect(open(block, by: decoder, room: 100, dictionary: start).outcome == .bytes(expected))
    }
  }

  @Test("The Swift decoder refuses offset 0")
  func offsetZero() {
    let block: [UInt8] = [0x10, 65, 0, 0, 0x50, 66, 67, 68, 69, 70]
    #expect(open(block, by: LZ4BlockDecoder.self, room: 100).outcome == .failure(.damaged))
    #expect(open(block, by: LZ4Block.self, room: 100).wallsStand)
  }

  @Test("A length whose bytes are all 255 is refused without overflow")
  func endlessLength() {
    let block = [0xF0] + [UInt8](repeating: 255, count: 1_000_000)
    for decoder in decoders {
      #expect(open(block, by: decoder, room: 1_000).error != nil)
    }
  }
}

@Suite("The Swift decoder and liblz4 return the same bytes") struct LZ4DecoderAgreementTests {
  @Test("The decoders agree on every truncated block and on every output size")
  func cutsAndRooms() throws {
    var random = SeededGenerator(seed: seed)
    for size in [0, 3, 20, 90, 250] {
      let block = try compressed(sample(size, using: &random))
      for cut in 0...block.count { expectAgreement(Array(block[..<cut]), room: size, "seed \(seed)") }
      for room in 0...(size + 40) { expectAgreement(block, room: room, "seed \(seed)") }
    }
  }

  @Test("The decoders agree on damaged blocks", arguments: 0..<8)
  func damagedBlocks(part: Int) throws {
    var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(part))
    for round in 0..<2_500 {
      let size = Int.random(in: 0...600, using: &random)
      let block = mutated(try compressed(sample(size, using: &random)), using: &random)
      let slack = [0, 0, 1, 7, 13, 100].randomElement(using: &random) ?? 0
      let dictionary = sample(Int.random(in: 0...80, using: &random), using: &random)
      expectAgreement(
        block, room: size + slack, dictionary: dictionary, "seed \(seed), part \(part), round \(round)")
    }
  }

  @Test(
    "The decoders agree for all lengths of the last sequences, and for all output lengths", arguments: 0...24)
  func endOfBlock(firstLiterals: Int) {
    var random = SeededGenerator(seed: seed &+ UInt64(firstLiterals))
    let lengths = (0...40).flatMap { match in (0...16).map { (match, $0) } }
    for (matchLength, tail) in LongRun.cases(lengths, &random) {
      var block = [UInt8(min(firstLiterals, 15) << 4 | min(matchLength, 15))]
      if firstLiterals >= 15 { block.append(UInt8(firstLiterals - 15)) }
      block += (0..<firstLiterals).map { UInt8($0) } + [2, 0]
      if matchLength >= 15 { block.append(UInt8(matchLength - 15)) }
      block += [UInt8(min(tail, 15) << 4)] + (tail >= 15 ? [UInt8(tail - 15)] : [])
      block += (0..<tail).map { UInt8(100 + $0) }
      let size = firstLiterals + matchLength + 4 + tail
      for room in max(0, size - 2)...(size + 14) {
        expectAgreement(block, room: room, dictionary: [1, 2, 3], "")
        expectAgreement(Array(block.dropLast()), room: room, dictionary: [1, 2, 3], "")
      }
    }
  }

  @Test("The decoders agree on random bytes")
  func noise() {
    var random = SeededGenerator(seed: seed)
    for round in 0..<20_000 {
      let size = Int.random(in: 1...40, using: &random)
      let block = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
      expectAgreement(block, room: Int.random(in: 0...200, using: &random), "seed \(seed), round \(round)")
    }
  }

  private func expectAgreement(
    _ block: [UInt8], room: Int, dictionary: [UInt8] = [], _ how: @autoclosure () -> String
  ) {
    let native = open(block, by: LZ4Block.self, room: room, dictionary: dictionary)
    let swift = open(block, by: LZ4BlockDecoder.self, room: room, dictionary: dictionary)
    #expect(native.wallsStand && swift.wallsStand, "\(how())")
    if let error = swift.error {
      // Rule LB4: only liblz4 accepts offset 0.
      let isRefused = native.error != nil || error.message.hasSuffix("offset 0")
      #expect(isRefused, "\(block) into \(room): \(error), \(how())")
    } else if native.error == nil {
      #expect(native.outcome == swift.outcome, "\(block) into \(room): \(how())")
    }
    if let offset = swift.error?.byteOffset { #expect((0...block.count).contains(offset)) }
  }
}
