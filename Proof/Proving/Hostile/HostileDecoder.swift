package import PerdureTestSupport

/// A decoder of untrusted bytes, which must return a value or throw a typed error for any input.
package struct HostileDecoder: Sendable {
  /// The name of the decoder, and of its folder in the corpus: lowercase words joined by hyphens.
  package let name: String
  /// The cost of one run, as a multiple of the cost of the simplest decoder.
  package let cost: Int
  /// Whether the decoder may throw this error.
  private let isAllowed: @Sendable (any Error) -> Bool
  private let decode: @Sendable (UnsafeRawBufferPointer) throws -> Void
  private let repair: @Sendable (inout [UInt8]) -> Void
  private let makeSamples: @Sendable () throws -> [[UInt8]]

  /// - Parameters:
  ///   - repair: Corrects the checksums of arbitrary bytes, because random changes do not produce
  ///     valid ones.
  ///   - samples: Returns bytes as writers encode them.
  ///   - decode: Decodes bytes that begin at a multiple of 16. Throws errors of the given type, and
  ///     `Violation` for a broken contract.
  package init<Failure: Error>(
    _ name: String, cost: Int = 1, throwing: Failure.Type,
    repair: @escaping @Sendable (inout [UInt8]) -> Void = { _ in },
    samples: @escaping @Sendable () throws -> [[UInt8]],
    decode: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) {
    (self.name, self.cost, self.repair, makeSamples, self.decode) = (name, cost, repair, samples, decode)
    isAllowed = { $0 is Failure }
  }

  /// The first inputs of the corpus: each sample once unchanged, and once with corrected checksums.
  package func samples() throws -> [[UInt8]] { try makeSamples().flatMap { [[0] + $0, [1] + $0] } }

  /// Passes an input to the decoder. The first byte determines whether checksums are corrected.
  ///
  /// - Throws: `Violation` if the decoder breaks its contract.
  package func run(_ input: UnsafeRawBufferPointer) throws {
    guard let flags = input.first else { return }
    var bytes = Array(input.dropFirst())
    if flags & 1 == 1 { repair(&bytes) }
    // The copy has exactly the length of the input, so that a memory checker detects a read after
    // its end.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    do { try decode(UnsafeRawBufferPointer(copy)) } catch let violation as Violation {
      throw violation
    } catch  where isAllowed(error) {
      return
    } catch {
      throw Violation("\(name) throws \(type(of: error)): \(error)")
    }
  }

  /// Passes an input in an array to the decoder.
  package func run(_ input: [UInt8]) throws { try input.withUnsafeBytes { try run($0) } }
}

/// Mutations of kinds that often reveal errors of decoders.
package enum HostileMutation {
  private static let interesting: [UInt64] = [
    0, 1, 2, 7, 8, 9, 16, 64, 127, 128, 255, 256, 4095, 4096, 0x7FFF, 0x8000, 0xFFFF, 1 << 16, 1 << 20,
    1 << 24, (1 << 25) - 1, 1 << 28, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1 << 40, 1 << 62, 1 << 63, .max,
  ]

  /// Makes one to four changes. Some of them copy pieces of `others`. In most cases, the first byte
  /// is set so that checksums are corrected.
  package static func mutate(
    _ bytes: inout [UInt8], others: [[UInt8]], using random: inout SeededGenerator
  ) {
    if random.chance(80), !bytes.isEmpty { bytes[0] = 1 }
    for _ in 0..<random.pick(1...4) where bytes.count > 1 {
      let place = random.chance(50) ? random.pick(1..<min(bytes.count, 96)) : random.pick(1..<bytes.count)
      switch random.pick(0..<8) {
      case 0: bytes[place] ^= 1 << random.pick(0..<8 as Range<UInt8>)
      case 1: bytes[place] = .random(in: 0...255, using: &random)
      case 2, 3: put(random.pick(interesting), at: place, &bytes, &random)
      case 4: bytes.removeSubrange(place..<min(bytes.count, place + random.pick(1...16)))
      case 5: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 16)], at: place)
      case 6: bytes.removeLast(random.pick(1..<bytes.count))
      default:
        let other = random.pick(others)
        guard other.count > 1 else { continue }
        let from = random.pick(1..<other.count)
        let piece = other[from..<min(other.count, from + random.pick(1...64))]
        let end = min(bytes.count, place + piece.count)
        bytes.replaceSubrange(place..<end, with: piece)
      }
    }
  }

  /// Writes a number of 1, 2, 4 or 8 bytes: `value`, or a number close to the current one.
  private static func put(
    _ value: UInt64, at place: Int, _ bytes: inout [UInt8], _ random: inout SeededGenerator
  ) {
    let width = random.pick([1, 2, 4, 8])
    // Fields begin at multiples of their width, counted after the first byte.
    let start = random.chance(70) ? (place - 1) / width * width + 1 : place
    guard start + width <= bytes.count else { return }
    var number = value
    if random.chance(30) {
      number = bytes[start..<(start + width)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
      number = number &+ UInt64(bitPattern: Int64.random(in: -9...9, using: &random))
    }
    for offset in 0..<width {
      bytes[start + offset] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(offset)))
    }
  }
}
