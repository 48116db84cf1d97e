import PerdureCompression
import PerdureTestSupport
import Testing

private let seed = SeededGenerator.seedFromEnvironment()
private let decoders: [any LZ4BlockDecoding.Type] = [LZ4Block.self, LZ4BlockDecoder.self]

/// Compresses `value` with a dictionary; nil if the block does not fit.
private func encoded(_ value: [UInt8], _ dictionary: [UInt8], room: Int? = nil) -> [UInt8]? {
  let encoder = dictionary.withUnsafeBytes { LZ4DictionaryEncoder($0) }
  var output = [UInt8](
    repeating: 0xEE, count: (room ?? LZ4Block.compressedSizeLimit(ofInput: value.count)) + 8)
  let length = value.withUnsafeBytes { value in
    output.withUnsafeMutableBytes {
      encoder.encode(value, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<($0.count - 8)]))
    }
  }
  #expect(output.suffix(8).allSatisfy { $0 == 0xEE })
  return length.map { Array(output[..<$0]) }
}

/// The output of a block, between guard bytes that must stay unchanged.
private func opened(
  _ block: [UInt8], _ dictionary: [UInt8], by decoder: any LZ4BlockDecoding.Type, room: Int
) -> (bytes: [UInt8]?, error: CompressionError?) {
  var memory = [UInt8](repeating: 0xC5, count: room + 128)
  var error: CompressionError?
  var count: Int?
  memory.withUnsafeMutableBytes { memory in
    let output = UnsafeMutableRawBufferPointer(rebasing: memory[64..<(64 + room)])
    block.withUnsafeBytes { block in
      dictionary.withUnsafeBytes { dictionary in
        do throws(CompressionError) {
          count = try decoder.decompress(block, into: output, dictionary: dictionary)
        } catch let failure {
          error = failure
        }
      }
    }
  }
  #expect((memory.prefix(64) + memory.suffix(64)).allSatisfy { $0 == 0xC5 }, "\(decoder)")
  return (count.map { Array(memory[64..<(64 + $0)]) }, error)
}

@Suite("LZ4 blocks with a dictionary")
struct LZ4DictionaryTests {
  @Test(
    "Both decoders restore a value, for dictionaries of any length",
    arguments: [0, 1, 3, 4, 100, 16_384, 65_535, 65_536, 70_000])
  func roundTrip(_ dictionaryLength: Int) throws {
    var random = SeededGenerator(seed: seed &+ UInt64(dictionaryLength))
    let dictionary = sample(dictionaryLength, using: &random)
    for length in [0, 1, 4, 5, 11, 12, 13, 14, 20, 60, 300, 1024, 1025, 5000, 70_000, 200_000] {
      // Inserts a part of the dictionary into the middle of the value.
      var value = sample(length, using: &random)
      if dictionaryLength > 100 {
        let start = Int.random(in: 0..<(dictionaryLength - 50), using: &random)
        value = Array((value.prefix(length / 2) + dictionary[start...] + value).prefix(length))
      }
      let block = try #require(encoded(value, dictionary))
      for decoder in decoders {
        #expect(opened(block, dictionary, by: decoder, room: length).bytes == value, "seed \(seed)")
      }
    }
  }

  @Test("The encoder returns nil if the block exceeds the output buffer", arguments: 0..<20)
  func room(_ part: Int) throws {
    var random = SeededGenerator(seed: seed &* 31 &+ UInt64(part))
    let dictionary = sample(500, using: &random)
    let value = sample(Int.random(in: 0...700, using: &random), using: &random)
    let whole = try #require(encoded(value, dictionary))
    for room in LongRun.cases(Array(0...(whole.count + 4)), &random) {
      let block = encoded(value, dictionary, room: room)
      if room < whole.count { #expect(block == nil) } else { #expect(block == nil || block == whole) }
    }
    #expect(encoded(value, dictionary, room: whole.count + 4) == whole)
  }

  @Test("A value that is part of the dictionary is compressed to a few bytes")
  func repeated() throws {
    var random = SeededGenerator(seed: seed)
    let dictionary = (0..<4000).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect(try #require(encoded(Array(dictionary[1000..<1200]), dictionary)).count < 16)
    #expect(try #require(encoded(Array(dictionary[1000..<1200]), [])).count > 200)
  }

  @Test("Without a usable dictionary, the encoder still finds repetitions within the value")
  func alone() throws {
    let value = [UInt8](repeating: 9, count: 1000)
    for dictionary in [[], [9], [9, 9, 9]] as [[UInt8]] {
      let block = try #require(encoded(value, dictionary))
      #expect(block.count < 20)
      for decoder in decoders { #expect(opened(block, dictionary, by: decoder, room: 1000).bytes == value) }
    }
  }

  @Test("A match may begin in the dictionary, end in the value, and overlap itself")
  func overlap() {
    // A match of 4 + 6 bytes with offset 3, the length of the dictionary; then five literals.
    let block: [UInt8] = [0x06, 3, 0, 0x50, 1, 2, 3, 4, 5]
    for decoder in decoders {
      let result = opened(block, Array("xyz".utf8), by: decoder, room: 20)
      #expect(result.bytes == Array("xyzxyzxyzx".utf8) + [1, 2, 3, 4, 5])
      #expect(opened(block, Array("yz".utf8), by: decoder, room: 20).error?.code == .damaged)
      #expect(opened(block, [], by: decoder, room: 20).error?.code == .damaged)
      #expect(opened([], Array("xyz".utf8), by: decoder, room: 20).error?.code == .truncated)
    }
  }

  @Test(
    "Decoding a damaged block fails or returns bytes, and never writes outside the output", arguments: 0..<8)
  func damaged(_ part: Int) throws {
    var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(part))
    let dictionary = sample(300, using: &random)
    for round in 0..<LongRun.count(1_000) {
      let value = sample(Int.random(in: 0...400, using: &random), using: &random)
      let block = mutated(try #require(encoded(value, dictionary)), using: &random)
      let other = round % 3 == 0 ? Array(dictionary.prefix(7)) : dictionary
      let slack = [0, 1, 13, 100].randomElement(using: &random) ?? 0
      let (theirs, ours) = (
        opened(block, other, by: LZ4Block.self, room: value.count + slack),
        opened(block, other, by: LZ4BlockDecoder.self, room: value.count + slack)
      )
      // The format forbids offset 0. The Swift decoder refuses it; liblz4 outputs arbitrary bytes.
      if let theirs = theirs.bytes, let ours = ours.bytes {
        #expect(theirs == ours, "seed \(seed), part \(part), round \(round)")
      }
    }
  }
}

@Suite("Training of dictionaries")
struct DictionaryTrainerTests {
  /// Records of a few words, each with a different number.
  private func samples(_ count: Int, from first: Int = 0) -> DictionarySamples {
    var random = SeededGenerator(seed: 7 &+ UInt64(first))
    let words = ["perpendicular", "equilibrium", "transmission", "characteristic", "acknowledgement"]
    var samples = DictionarySamples()
    for number in first..<(first + count) {
      let (one, other) = (
        words.randomElement(using: &random) ?? "", words.randomElement(using: &random) ?? ""
      )
      let text =
        "{\"number\":\(number &* 7919 % 100_003),\"kind\":\"\(one)\",\"title\":\"\(other) of \(one)\"}"
      Array(text.utf8).withUnsafeBytes { samples.append($0) }
    }
    return samples
  }

  @Test("A trained dictionary compresses similar values to less than half their size")
  func ratio() {
    let trained = DictionaryTrainer.train(on: samples(500), lengthMax: 2048)
    #expect(trained.bytes.count <= 2048)
    let unseen = samples(500, from: 10_000)
    #expect(DictionaryTrainer.perMille(unseen, with: trained.bytes) < 450)
    #expect(DictionaryTrainer.perMille(unseen, with: []) > 900)
    #expect(abs(trained.perMille - DictionaryTrainer.perMille(unseen, with: trained.bytes)) < 50)
  }

  @Test("The same samples give the same dictionary")
  func determinism() {
    let (one, other) = (samples(300), samples(300))
    #expect(
      DictionaryTrainer.train(on: one, lengthMax: 1024).bytes
        == DictionaryTrainer.train(on: other, lengthMax: 1024).bytes)
  }

  @Test("A dictionary is never longer than requested", arguments: [1, 10, 100, 1000, 65_535])
  func length(_ lengthMax: Int) {
    #expect(DictionaryTrainer.train(on: samples(200), lengthMax: lengthMax).bytes.count <= lengthMax)
  }

  @Test("Without samples, or with dissimilar or very short samples, a dictionary has no benefit")
  func nothingInCommon() {
    var random = SeededGenerator(seed: seed)
    var noise = DictionarySamples()
    for _ in 0..<50 {
      let bytes = (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) }
      bytes.withUnsafeBytes { noise.append($0) }
    }
    let trained = DictionaryTrainer.train(on: noise, lengthMax: 1024)
    #expect(trained.perMille > 980)
    let none = DictionaryTrainer.train(on: DictionarySamples(), lengthMax: 1024)
    #expect(none.bytes.isEmpty && none.perMille == 1000)
    var short = DictionarySamples()
    for _ in 0..<100 { ([1, 2] as [UInt8]).withUnsafeBytes { short.append($0) } }
    ([] as [UInt8]).withUnsafeBytes { short.append($0) }
    #expect(DictionaryTrainer.train(on: short, lengthMax: 1024).bytes.isEmpty)
  }

  @Test("Training accepts random samples", arguments: 0..<30)
  func anySamples(_ part: Int) {
    var random = SeededGenerator(seed: seed &* 97 &+ UInt64(part))
    var samples = DictionarySamples()
    for _ in 0..<Int.random(in: 0...60, using: &random) {
      sample(Int.random(in: 0...300, using: &random), using: &random).withUnsafeBytes { samples.append($0) }
    }
    let lengthMax = Int.random(in: 1...3000, using: &random)
    let trained = DictionaryTrainer.train(on: samples, lengthMax: lengthMax)
    #expect(trained.bytes.count <= lengthMax)
    #expect((0...1000).contains(trained.perMille))
  }
}
