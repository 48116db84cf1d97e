// Makes LZ4 blocks of short values with a dictionary.
//
// A value of a few hundred bytes rarely repeats its own bytes, but it repeats bytes of other
// values. The dictionary logically precedes every value, so a match may start in it. One dictionary
// serves millions of values, so the cost of preparing it does not matter.
//
// The encoder sorts all positions of the dictionary by the hash of the four bytes there. It
// compares a position of a value with several of these positions and takes the longest match.
// (liblz4 indexes a third of the positions, keeps one for each hash, and copies its 16 KiB of state
// for each value.)
//
// The output is an ordinary LZ4 block:
//  LE1. A match is 4 bytes or more, starts 1 to 65,535 bytes back, and is entirely in the
//       dictionary or entirely in the value.
//  LE2. The last match begins 12 or more bytes before the end of the value, and the last 5 bytes of
//       the value are literals.
//  LE3. The same value and dictionary give the same block, on every platform.

/// Makes blocks that refer to a dictionary. It is immutable, so threads can use it concurrently.
package final class LZ4DictionaryEncoder: Sendable {
  /// The dictionary's bytes, which the encoder owns.
  // `nonisolated(unsafe)` is correct here: only `init` writes the buffer, and the encoder frees it.
  nonisolated(unsafe) private let bytes: UnsafeMutableRawBufferPointer
  /// Positions in the dictionary, grouped by hash, and ascending within each group.
  // `nonisolated(unsafe)` is correct here: only `init` writes the buffer, and the encoder frees it.
  nonisolated(unsafe) private let places: UnsafeMutableBufferPointer<UInt16>
  /// For each hash, the start of its positions in `places`. One more entry marks the end.
  // `nonisolated(unsafe)` is correct here: only `init` writes the buffer, and the encoder frees it.
  nonisolated(unsafe) private let starts: UnsafeMutableBufferPointer<UInt32>

  /// The maximum length of a dictionary, in bytes.
  package static let lengthMax = 0xFFFF
  fileprivate static let hashBits: UInt32 = 14

  /// - Parameter dictionary: The bytes to copy. If there are more than `lengthMax`, only the last
  ///   `lengthMax` of them are used.
  package init(_ dictionary: UnsafeRawBufferPointer) {
    let used = UnsafeRawBufferPointer(rebasing: dictionary.suffix(Self.lengthMax))
    bytes = .allocate(byteCount: used.count, alignment: 8)
    bytes.copyMemory(from: used)
    let count = max(0, used.count - 3)
    places = .allocate(capacity: count)
    starts = .allocate(capacity: 1 << Int(Self.hashBits) + 1)
    starts.initialize(repeating: 0)
    sortPlaces(count)
  }

  deinit {
    bytes.deallocate()
    places.deallocate()
    starts.deallocate()
  }

  /// Sorts the positions by hash, with a counting sort.
  private func sortPlaces(_ count: Int) {
    places.initialize(repeating: 0)
    for place in 0..<count { starts[Int(hash(bytes.word(at: place), Self.hashBits)) + 1] += 1 }
    for hash in 1..<starts.count { starts[hash] += starts[hash - 1] }
    // This loop moves each start to the end of its group, which is the start of the next group. The
    // loop after it moves the starts back.
    for place in 0..<count {
      let hash = Int(hash(bytes.word(at: place), Self.hashBits))
      places[Int(starts[hash])] = UInt16(place)
      starts[hash] += 1
    }
    for hash in stride(from: starts.count - 1, to: 0, by: -1) { starts[hash] = starts[hash - 1] }
    starts[0] = 0
  }

  /// Compresses a value into one block.
  ///
  /// - Parameter value: Any number of bytes up to `LZ4Block.inputSizeLimit`.
  /// - Parameter output: The buffer for the block.
  /// - Returns: The length of the block; nil if it does not fit.
  /// - Complexity: O(length of the value); allocates nothing for values up to 1 KiB.
  package func encode(
    _ value: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) -> Int? {
    let bits: UInt32 = value.count <= 1 << 10 ? 8 : value.count <= 1 << 14 ? 11 : 14
    return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 1 << Int(bits)) { table in
      table.initialize(repeating: .max)
      var matcher = Matcher(
        value: value, dictionary: UnsafeRawBufferPointer(bytes), places: UnsafeBufferPointer(places),
        starts: UnsafeBufferPointer(starts), table: table, tableBits: bits)
      var block = BlockWriter(output)
      return matcher.encode(to: &block) ? block.count : nil
    }
  }
}

@inline(__always)
private func hash(_ word: UInt32, _ bits: UInt32) -> UInt32 { (word &* 2_654_435_761) >> (32 &- bits) }

extension UnsafeRawBufferPointer {
  @inline(__always)
  fileprivate func word(at offset: Int) -> UInt32 {
    loadUnaligned(fromByteOffset: offset, as: UInt32.self)
  }
}

extension UnsafeMutableRawBufferPointer {
  fileprivate func word(at offset: Int) -> UInt32 { UnsafeRawBufferPointer(self).word(at: offset) }
}

/// Finds repetitions in a value.
private struct Matcher {
  struct Match {
    var length: Int
    /// The position of the bytes to copy. If it is negative, it counts back from the end of the
    /// dictionary.
    var source: Int
  }

  let value: UnsafeRawBufferPointer
  let dictionary: UnsafeRawBufferPointer
  let places: UnsafeBufferPointer<UInt16>
  let starts: UnsafeBufferPointer<UInt32>
  /// The last position in the value with each hash.
  let table: UnsafeMutableBufferPointer<UInt32>
  let tableBits: UInt32

  /// See LE1 and LE2.
  private static let lengthMin = 4
  private static let lastMatchDistance = 12
  private static let lastLiterals = 5
  private static let offsetMax = 0xFFFF
  /// The maximum number of dictionary positions that are compared with a position of the value.
  private static let candidatesMax = 16
  /// A match of this length is used without a search for a longer one.
  private static let longEnough = 32

  mutating func encode(to block: inout BlockWriter) -> Bool {
    let lastStart = value.count - Self.lastMatchDistance
    var place = 0
    var anchor = 0
    while place <= lastStart {
      guard var match = find(at: place, note: true) else {
        // The step grows by one position for each 128 bytes without a match.
        place += 1 + (place - anchor) >> 7
        continue
      }
      if match.length < Self.longEnough, place < lastStart, let next = find(at: place + 1, note: false),
        next.length > match.length + 1
      {
        place += 1
        match = next
      }
      extendBackwards(&match, &place, to: anchor)
      let literals = UnsafeRawBufferPointer(rebasing: value[anchor..<place])
      guard block.append(literals, offset: place - match.source, length: match.length) else { return false }
      for inside in (place + 1)..<min(place + match.length, lastStart + 1, place + 64) { note(inside) }
      place += match.length
      anchor = place
    }
    return block.append(last: UnsafeRawBufferPointer(rebasing: value[anchor...]))
  }

  @inline(__always)
  private func note(_ place: Int) {
    table[Int(hash(value.word(at: place), tableBits))] = UInt32(truncatingIfNeeded: place)
  }

  /// The longest match that the limited search finds at a position.
  private func find(at place: Int, note: Bool) -> Match? {
    let word = value.word(at: place)
    var best = Match(length: Self.lengthMin - 1, source: 0)
    let slot = Int(hash(word, tableBits))
    let before = Int(table[slot])
    if note { table[slot] = UInt32(truncatingIfNeeded: place) }
    if before < place, place - before <= Self.offsetMax, value.word(at: before) == word {
      let length = commonLength(value, before, place, max: value.count - Self.lastLiterals - place)
      if length > best.length { best = Match(length: length, source: before) }
    }
    findInDictionary(word, place, &best)
    return best.length >= Self.lengthMin ? best : nil
  }

  @inline(__always)
  private func findInDictionary(_ word: UInt32, _ place: Int, _ best: inout Match) {
    let slot = Int(hash(word, LZ4DictionaryEncoder.hashBits))
    let (start, end) = (Int(starts[slot]), Int(starts[slot + 1]))
    var index = max(start, end - Self.candidatesMax)
    while index < end {
      let candidate = Int(places[index])
      index &+= 1
      guard dictionary.word(at: candidate) == word, place + dictionary.count - candidate <= Self.offsetMax
      else { continue }
      let lengthMax = min(value.count - Self.lastLiterals - place, dictionary.count - candidate)
      let length = commonLength(dictionary, candidate, place, max: lengthMax)
      if length > best.length { best = Match(length: length, source: candidate - dictionary.count) }
    }
  }

  /// The number of equal bytes that start at `source` and at `place`, at most `lengthMax`. The
  /// caller has already compared the first four bytes.
  @inline(__always)
  private func commonLength(
    _ bytes: UnsafeRawBufferPointer, _ source: Int, _ place: Int, max lengthMax: Int
  ) -> Int {
    var length = 4
    while length &+ 8 <= lengthMax {
      let difference =
        bytes.loadUnaligned(fromByteOffset: source &+ length, as: UInt64.self)
        ^ value.loadUnaligned(fromByteOffset: place &+ length, as: UInt64.self)
      if difference != 0 { return length &+ UInt64(littleEndian: difference).trailingZeroBitCount >> 3 }
      length &+= 8
    }
    while length < lengthMax, bytes[source &+ length] == value[place &+ length] { length &+= 1 }
    return min(length, lengthMax)
  }

  private func extendBackwards(_ match: inout Match, _ place: inout Int, to anchor: Int) {
    let (bytes, shift) = match.source < 0 ? (dictionary, dictionary.count) : (value, 0)
    while place > anchor, match.source + shift > 0,
      bytes[match.source + shift - 1] == value[place - 1]
    {
      place -= 1
      match.source -= 1
      match.length += 1
    }
  }
}

/// Writes the sequences of a block. `LZ4BlockDecoder` describes their layout.
private struct BlockWriter {
  private let output: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(_ output: UnsafeMutableRawBufferPointer) { self.output = output }

  /// Writes a sequence. Returns false if it does not fit.
  mutating func append(_ literals: UnsafeRawBufferPointer, offset: Int, length: Int) -> Bool {
    let extra = length - 4
    guard begin(literals, lowBits: min(extra, 15), more: 2 + extra / 255 + 1) else { return false }
    output[count] = UInt8(truncatingIfNeeded: offset)
    output[count + 1] = UInt8(truncatingIfNeeded: offset >> 8)
    count += 2
    appendRest(of: extra)
    return true
  }

  /// Writes the last sequence, which has no match.
  mutating func append(last literals: UnsafeRawBufferPointer) -> Bool {
    begin(literals, lowBits: 0, more: 0)
  }

  private mutating func begin(_ literals: UnsafeRawBufferPointer, lowBits: Int, more: Int) -> Bool {
    guard count + 1 + literals.count / 255 + 1 + literals.count + more <= output.count else { return false }
    output[count] = UInt8(min(literals.count, 15) << 4 | lowBits)
    count += 1
    appendRest(of: literals.count)
    guard let source = literals.baseAddress, let target = output.baseAddress else { return true }
    target.advanced(by: count).copyMemory(from: source, byteCount: literals.count)
    count += literals.count
    return true
  }

  /// Writes the part of a length that exceeds its four bits in the token.
  private mutating func appendRest(of length: Int) {
    guard length >= 15 else { return }
    var rest = length - 15
    while rest >= 255 {
      output[count] = 255
      count += 1
      rest -= 255
    }
    output[count] = UInt8(rest)
    count += 1
  }
}
