// Makes a dictionary from samples. The dictionary consists of pieces of samples. Each piece occurs
// in many samples.
//
// The algorithm is a greedy cover. The worth of a run of 6 bytes is the number of samples that
// contain it, or zero if only one sample contains it. The worth of a piece is the sum over its
// runs. The samples are divided into parts, and each part contributes its best piece in turn, so
// all parts are represented. Choosing a piece sets the worth of its runs to zero.
//
// The best piece length depends on the data. So one half of the samples trains one dictionary for
// each piece length. The other half is compressed with each dictionary. The piece length with the
// best result is then used with all samples.
//
//  TR1. The same samples give the same dictionary.
//  TR2. A dictionary is at most as long as requested, and consists of pieces of samples. If no run
//       occurs in two samples, the dictionary is empty.

/// The samples, concatenated.
package struct DictionarySamples: Sendable {
  package private(set) var bytes: [UInt8] = []
  /// The end of each sample in `bytes`.
  package private(set) var ends: [Int] = []

  package init() {}

  package mutating func append(_ sample: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: sample)
    ends.append(bytes.count)
  }

  package var count: Int { ends.count }

  package func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  /// Every second sample, starting with sample `first` (0 or 1).
  fileprivate func half(_ first: Int) -> DictionarySamples {
    var half = DictionarySamples()
    bytes.withUnsafeBytes { bytes in
      for index in stride(from: first, to: count, by: 2) {
        half.append(UnsafeRawBufferPointer(rebasing: bytes[range(index)]))
      }
    }
    return half
  }
}

/// Makes dictionaries for `LZ4DictionaryEncoder`. It has no state.
package enum DictionaryTrainer {
  /// The piece lengths to try, in bytes.
  private static let pieceLengths = [16, 32, 64, 128]
  fileprivate static let runLength = 6

  /// A dictionary and its measured effect.
  package struct Trained: Sendable {
    package var bytes: [UInt8]
    /// The compressed size per 1,000 original bytes, at most 1,000. It was measured on one half of
    /// the samples, with a dictionary of the other half.
    package var perMille: Int
  }

  /// Makes a dictionary for values that resemble the samples.
  ///
  /// - Parameter samples: All available samples, up to a few megabytes. A hundred times the
  ///   dictionary's length is enough.
  /// - Parameter lengthMax: The maximum length of the dictionary in bytes, up to
  ///   `LZ4DictionaryEncoder.lengthMax`.
  /// - Complexity: O(bytes of the samples); about 100 ms for a megabyte.
  package static func train(on samples: DictionarySamples, lengthMax: Int) -> Trained {
    let (learned, unseen) = (samples.half(0), samples.half(1))
    var best = (length: pieceLengths[0], perMille: Int.max)
    for length in pieceLengths {
      let dictionary = cover(learned, pieceLength: length, lengthMax: lengthMax)
      let perMille = perMille(unseen, with: dictionary)
      if perMille < best.perMille { best = (length, perMille) }
    }
    let bytes = cover(samples, pieceLength: best.length, lengthMax: lengthMax)
    return Trained(bytes: bytes, perMille: best.perMille)
  }

  /// The compressed size of the samples with a dictionary, per 1,000 original bytes; at most 1,000.
  package static func perMille(_ samples: DictionarySamples, with dictionary: [UInt8]) -> Int {
    guard !samples.bytes.isEmpty else { return 1000 }
    return dictionary.withUnsafeBytes { packedLength(samples, with: $0) } * 1000 / samples.bytes.count
  }

  /// The compressed size of the samples with a dictionary, in bytes. A sample that does not shrink
  /// counts with its original size.
  ///
  /// - Parameter overhead: The bytes that each compressed value needs besides its block.
  package static func packedLength(
    _ samples: DictionarySamples, with dictionary: UnsafeRawBufferPointer, overhead: Int = 4
  ) -> Int {
    let encoder = LZ4DictionaryEncoder(dictionary)
    let longest = samples.ends.indices.reduce(0) { max($0, samples.range($1).count) }
    let output = UnsafeMutableRawBufferPointer.allocate(byteCount: longest + 16, alignment: 8)
    defer { output.deallocate() }
    return samples.bytes.withUnsafeBytes { bytes in
      samples.ends.indices.reduce(0) { sum, index in
        let value = UnsafeRawBufferPointer(rebasing: bytes[samples.range(index)])
        let packed = encoder.encode(value, into: output).map { $0 + overhead } ?? value.count
        return sum + min(packed, value.count)
      }
    }
  }

  private static func cover(_ samples: DictionarySamples, pieceLength: Int, lengthMax: Int) -> [UInt8] {
    var covering = Covering(samples, pieceLength: pieceLength)
    return covering.dictionary(lengthMax)
  }
}

/// The greedy choice of pieces of one length. See the beginning of this file.
private struct Covering {
  private let samples: DictionarySamples
  private let pieceLength: Int
  /// The number of samples that contain a run, by the hash of the run.
  private var worth = [UInt32](repeating: 0, count: 1 << hashBits)
  private static let hashBits = 18

  init(_ samples: DictionarySamples, pieceLength: Int) {
    self.samples = samples
    self.pieceLength = pieceLength
    var lastSample = [UInt32](repeating: .max, count: 1 << Self.hashBits)
    for index in 0..<samples.count {
      for place in runs(in: samples.range(index)) {
        let slot = slot(place)
        guard lastSample[slot] != UInt32(index) else { continue }
        lastSample[slot] = UInt32(index)
        worth[slot] += 1
      }
    }
    // A run that occurs in one sample only does not help other samples.
    for slot in worth.indices where worth[slot] == 1 { worth[slot] = 0 }
  }

  private func runs(in range: Range<Int>) -> Range<Int> {
    range.lowerBound..<max(range.lowerBound, range.upperBound - DictionaryTrainer.runLength + 1)
  }

  private func slot(_ place: Int) -> Int {
    var run: UInt64 = 0
    for offset in 0..<DictionaryTrainer.runLength { run = run << 8 | UInt64(samples.bytes[place + offset]) }
    return Int((run &* 0x9E37_79B9_7F4A_7C15) >> (64 - UInt64(Self.hashBits)))
  }

  mutating func dictionary(_ lengthMax: Int) -> [UInt8] {
    var dictionary: [UInt8] = []
    let parts = parts(max(1, lengthMax / pieceLength))
    var found = true
    while found && dictionary.count < lengthMax {
      found = false
      for part in parts where dictionary.count < lengthMax {
        guard let piece = take(from: part) else { continue }
        dictionary += samples.bytes[piece.prefix(lengthMax - dictionary.count)]
        found = true
      }
    }
    return dictionary
  }

  /// Divides the samples into at most `count` ranges of about equal length in bytes.
  private func parts(_ count: Int) -> [Range<Int>] {
    var parts: [Range<Int>] = []
    var first = 0
    for index in 0..<samples.count
    where samples.ends[index] * count >= (parts.count + 1) * samples.bytes.count || index == samples.count - 1
    {
      parts.append(first..<(index + 1))
      first = index + 1
    }
    return parts
  }

  /// Returns the piece with the greatest worth in a part of the samples, and sets the worth of its
  /// runs to zero. Returns nil if no run has a worth.
  private mutating func take(from part: Range<Int>) -> Range<Int>? {
    var best = (worth: UInt64(0), piece: 0..<0)
    for index in part {
      let runs = runs(in: samples.range(index))
      let width = max(1, pieceLength - DictionaryTrainer.runLength + 1)
      var sum: UInt64 = 0
      for place in runs {
        sum += UInt64(worth[slot(place)])
        if place - runs.lowerBound >= width { sum -= UInt64(worth[slot(place - width)]) }
        if sum > best.worth { best = (sum, max(runs.lowerBound, place - width + 1)..<(place + 1)) }
      }
    }
    guard best.worth > 0 else { return nil }
    let piece = trimmed(best.piece)
    for place in piece { worth[slot(place)] = 0 }
    return piece.lowerBound..<(piece.upperBound + DictionaryTrainer.runLength - 1)
  }

  /// The piece without the worthless runs at its ends.
  private func trimmed(_ piece: Range<Int>) -> Range<Int> {
    var piece = piece
    while piece.count > 1, worth[slot(piece.lowerBound)] == 0 { piece = piece.dropFirst() }
    while piece.count > 1, worth[slot(piece.upperBound - 1)] == 0 { piece = piece.dropLast() }
    return piece
  }
}
