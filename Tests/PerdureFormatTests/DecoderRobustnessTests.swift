import PerdureFormat
import PerdureTestSupport
import Testing

@Suite("Decoding of damaged bytes")
struct DecoderRobustnessTests {
  @Test("Decoded structures encode to the same bytes", arguments: Structure.all)
  func roundTrip(_ structure: Structure) throws {
    #expect(try structure.decode(structure.sample) == structure.sample)
  }

  @Test("Every single flipped bit is detected", arguments: Structure.covered)
  func bitFlips(_ structure: Structure) {
    var bytes = structure.sample
    for bit in 0..<(8 * bytes.count) {
      bytes[bit / 8] ^= 1 << (bit % 8)
      if structure.errorOfDecoding(bytes) == nil { Issue.record("bit \(bit % 8) of byte \(bit / 8)") }
      bytes[bit / 8] ^= 1 << (bit % 8)
    }
    #expect(structure.errorOfDecoding(bytes) == nil)
  }

  @Test(
    "A truncated structure is incomplete, and the error has the offset of its end", arguments: Structure.all)
  func truncations(_ structure: Structure) {
    for length in 0..<structure.sample.count {
      let error = structure.errorOfDecoding(Array(structure.sample.prefix(length)))
      let end = structure.firstPlace + length
      #expect(error?.reason == .incomplete && error?.offset == end, "\(length) bytes")
    }
  }

  @Test(
    "Structures of fixed length are refused if they have extra bytes",
    arguments: [Structure.blobReference, .tombstone])
  func extensions(_ structure: Structure) {
    let error = structure.errorOfDecoding(structure.sample + [0])
    #expect(error?.reason == .incomplete && error?.offset == structure.sample.count + 1)
  }

  @Test("Damaged buffers decode to a value or give an error with an offset in the buffer")
  func mutations() {
    var random = SeededGenerator.forTest("hostile bytes")
    var passed = 0
    for round in 0..<LongRun.count(LongRun.count(30_000), long: 100_000) {
      // A superblock slot is long, so it is damaged in only one of 50 rounds.
      let mother = round % 50 == 0 ? .superblock : Structure.all.dropFirst().randomElement(using: &random)
      guard let mother else { continue }
      var bytes = mother.sample
      random.damage(&bytes)
      if Bool.random(using: &random) { mother.repair(&bytes) }
      for structure in round % 50 == 0 ? [mother] : Structure.all {
        func fail(_ what: String) {
          Issue.record("seed \(random.seed), round \(round), \(structure.name): \(what)")
        }
        do throws(FormatError) {
          let first = try structure.decode(bytes)
          passed += 1
          if try structure.decode(first) != first { fail("decodes to something else") }
        } catch {
          let places = 0...(structure.firstPlace + max(bytes.count, 64))
          if !places.contains(error.offset) { fail("\(error)") }
        }
      }
    }
    // Some damaged buffers must still be valid. Otherwise the test covers only the first check.
    #expect(passed > 1000, "seed \(random.seed)")
  }

  @Test("Every decoder with a checksum refuses random bytes", arguments: Structure.covered)
  func noise(_ structure: Structure) {
    var random = SeededGenerator.forTest("hostile bytes")
    for _ in 0..<500 {
      let bytes = (0..<structure.sample.count).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(structure.errorOfDecoding(bytes) != nil, "seed \(random.seed)")
    }
  }
}

extension SeededGenerator {
  /// Makes one to four changes that disks or bugs typically cause.
  mutating func damage(_ bytes: inout [UInt8]) {
    for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
      // Half of the changes affect the first bytes, which contain the lengths and kinds.
      let reach = Bool.random(using: &self) ? min(bytes.count, 64) : bytes.count
      let place = Int.random(in: 0..<reach, using: &self)
      switch Int.random(in: 0..<6, using: &self) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
      case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &self) ?? 0
      case 2: for i in place..<min(place + 4, bytes.count) { bytes[i] = 0xFF }
      case 3: for i in place..<min(place + 8, bytes.count) { bytes[i] = 0 }
      case 4: bytes.removeLast(Int.random(in: 0...min(8, bytes.count), using: &self))
      default: bytes.append(UInt8.random(in: 0...255, using: &self))
      }
    }
  }
}
