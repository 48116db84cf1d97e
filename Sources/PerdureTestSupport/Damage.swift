// Damage that media cause to the bytes of one file. `Damage` is a value, so it can be printed,
// saved and repeated.

/// A change of the bytes of a file that the program did not make.
///
/// Use it in tests of code that reads files. This test flips each bit of a file in turn:
///
///     for damage in Damage.bits(of: bytes.count) {
///       #expect(reads(damage.applied(to: bytes)) != .wrongly)
///     }
///
/// This test tries a thousand random cases of damage:
///
///     var random = SeededGenerator.forTest("damage")
///     for _ in 0..<1000 {
///       let damage = Damage.random(in: bytes.count, using: &random)
///       #expect(reads(damage.applied(to: bytes)) != .wrongly, "\(damage), seed \(random.seed)")
///     }
///
/// Offsets after the end are ignored, so a `Damage` for one file can also be applied to a shorter
/// file.
public enum Damage: Hashable, Sendable {
  /// One bit is flipped: bit `n % 8` of byte `n / 8`.
  case bit(Int)
  /// The file ends after this number of bytes.
  case truncation(Int)
  /// The range contains zeros, like a sector that was never written.
  case zeros(Range<Int>)
  /// The range contains random bytes with this seed.
  case noise(Range<Int>, seed: UInt64)
  /// The bytes at `from` are also at `to`, as after a write to the wrong offset.
  case copy(from: Int, to: Int, length: Int)
  /// The bytes at two offsets are exchanged.
  case exchange(Int, Int, length: Int)
  /// Other bytes are at the offset, such as bytes of another file or of an earlier state of this
  /// file.
  case foreign([UInt8], at: Int)
  /// The whole file is replaced, for example by an earlier state.
  case replacement([UInt8])
}

extension Damage: CustomStringConvertible {
  /// The kind of damage and its offsets.
  public var description: String {
    switch self {
    case .bit(let bit): "bit \(bit % 8) of byte \(bit / 8) flipped"
    case .truncation(let length): "cut to \(length) bytes"
    case .zeros(let range): "zeros in \(range)"
    case .noise(let range, let seed): "noise of seed \(seed) in \(range)"
    case .copy(let from, let to, let length): "\(length) bytes of \(from) at \(to) too"
    case .exchange(let a, let b, let length): "\(length) bytes of \(a) and \(b) exchanged"
    case .foreign(let bytes, let offset): "\(bytes.count) bytes of something else at \(offset)"
    case .replacement(let bytes): "another file of \(bytes.count) bytes"
    }
  }
}

extension Damage {
  /// Damages the bytes.
  ///
  /// - Complexity: O(n) for the changed bytes.
  public func apply(to bytes: inout [UInt8]) {
    switch self {
    case .bit(let bit):
      if bit >= 0, bit / 8 < bytes.count { bytes[bit / 8] ^= 1 << UInt8(bit % 8) }
    case .truncation(let length): bytes.removeLast(max(0, bytes.count - max(0, length)))
    case .zeros(let range):
      for place in range.clamped(to: bytes.indices) { bytes[place] = 0 }
    case .noise(let range, let seed):
      var random = SeededGenerator(seed: seed)
      for place in range.clamped(to: bytes.indices) { bytes[place] = .random(in: 0...255, using: &random) }
    case .copy(let from, let to, let length):
      Self.put(Self.part(bytes, from, length), at: to, in: &bytes)
    case .exchange(let a, let b, let length):
      let (first, second) = (Self.part(bytes, a, length), Self.part(bytes, b, length))
      Self.put(second, at: a, in: &bytes)
      Self.put(first, at: b, in: &bytes)
    case .foreign(let foreign, let offset): Self.put(foreign[...], at: offset, in: &bytes)
    case .replacement(let others): bytes = others
    }
  }

  /// The bytes with the damage.
  public func applied(to bytes: [UInt8]) -> [UInt8] {
    var damaged = bytes
    apply(to: &damaged)
    return damaged
  }

  private static func part(_ bytes: [UInt8], _ start: Int, _ length: Int) -> ArraySlice<UInt8> {
    bytes[(start..<(start + length)).clamped(to: bytes.indices)]
  }

  private static func put(_ new: ArraySlice<UInt8>, at offset: Int, in bytes: inout [UInt8]) {
    let range = (offset..<(offset + new.count)).clamped(to: bytes.indices)
    bytes.replaceSubrange(range, with: new.prefix(range.count))
  }
}

// All damages of one kind.
extension Damage {
  /// A flip of each bit of a file of `count` bytes, in order.
  public static func bits(of count: Int) -> some Sequence<Damage> {
    (0..<(8 * count)).lazy.map { .bit($0) }
  }

  /// A truncation of a file of `count` bytes to each shorter length.
  public static func truncations(of count: Int) -> some Sequence<Damage> {
    (0..<count).lazy.map { .truncation($0) }
  }

  /// Damage to each sector of a file. The kinds are: zeros, noise, the bytes of the neighbouring
  /// sector, an exchange with another sector, a copy to another sector, and other bytes.
  ///
  /// Some elements change nothing, such as the exchange of a sector with itself. A test that counts
  /// them must compare the bytes.
  ///
  /// - Parameters:
  ///   - count: The file's length.
  ///   - sector: The length of a sector, such as 512 or 4,096.
  ///   - others: The source of other bytes. If it is shorter than a sector, this kind is omitted.
  ///   - random: The source of all random choices.
  public static func sectors(
    of count: Int, sector: Int, others: [UInt8] = [], using random: inout SeededGenerator
  ) -> [Damage] {
    precondition(sector > 0, "The length of a sector must be greater than 0.")
    var all: [Damage] = []
    for start in stride(from: 0, to: count, by: sector) {
      let range = start..<min(count, start + sector)
      let other = Int.random(in: 0...((count - 1) / sector), using: &random) * sector
      all.append(.zeros(range))
      all.append(.noise(range, seed: random.next()))
      all.append(.copy(from: start >= sector ? start - sector : start + sector, to: start, length: sector))
      all.append(.exchange(start, other, length: min(sector, count - max(start, other))))
      all.append(.copy(from: start, to: other, length: sector))
      if others.count >= sector {
        let place = Int.random(in: 0...(others.count - sector) / sector, using: &random) * sector
        all.append(.foreign(Array(others[place..<(place + sector)]), at: start))
      }
    }
    return all
  }

  /// Random damage to a file.
  ///
  /// - Parameters:
  ///   - count: The length of the file in bytes, 1 or more.
  ///   - random: The source of all random choices.
  public static func random(in count: Int, using random: inout SeededGenerator) -> Damage {
    precondition(count > 0, "An empty file cannot be damaged.")
    let place = Int.random(in: 0..<count, using: &random)
    let sector = random.pick([512, 512, 4096])
    let start = place / sector * sector
    switch Int.random(in: 0..<8, using: &random) {
    case 0...2: return .bit(8 * place + Int.random(in: 0..<8, using: &random))
    case 3: return .zeros(start..<min(count, start + sector))
    case 4:
      let end = min(count, place + Int.random(in: 1...1500, using: &random))
      return .noise(place..<end, seed: random.next())
    case 5: return .truncation(place)
    default:
      let other = Int.random(in: 0..<count, using: &random) / sector * sector
      return random.chance(50)
        ? .copy(from: other, to: start, length: sector)
        : .exchange(other, start, length: min(sector, count - max(start, other)))
    }
  }
}
