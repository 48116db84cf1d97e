import PerdureTestSupport
import Testing

@Suite("Damage as a value")
struct DamageTests {
  private let bytes = (0..<32).map { UInt8($0) }

  @Test("Each kind has its documented effect, and no other")
  func kinds() {
    func changes(_ damage: Damage) -> [Int: UInt8] {
      let after = damage.applied(to: bytes)
      return bytes.indices.reduce(into: [:]) { if after[$1] != bytes[$1] { $0[$1] = after[$1] } }
    }
    #expect(changes(.bit(8 * 3 + 7)) == [3: 0x83])
    #expect(changes(.zeros(4..<6)) == [4: 0, 5: 0])
    #expect(changes(.copy(from: 0, to: 30, length: 8)) == [30: 0, 31: 1])
    #expect(changes(.exchange(2, 9, length: 1)) == [2: 9, 9: 2])
    #expect(changes(.foreign([7, 7], at: 31)) == [31: 7])
    #expect(Damage.truncation(3).applied(to: bytes) == [0, 1, 2])
    #expect(Damage.truncation(99).applied(to: bytes) == bytes)
    #expect(Damage.replacement([1]).applied(to: bytes) == [1])
    let noise = Damage.noise(8..<24, seed: 5)
    #expect(noise.applied(to: bytes) == noise.applied(to: bytes))
    #expect(changes(noise).keys.allSatisfy { (8..<24).contains($0) } && changes(noise).count > 8)
  }

  @Test("Damage beyond the end of a file changes nothing")
  func behindTheEnd() {
    for damage in [
      Damage.bit(8 * 99), .zeros(40..<50), .noise(99..<120, seed: 1), .copy(from: 90, to: 99, length: 9),
      .exchange(80, 90, length: 4), .foreign([1], at: 32),
    ] {
      #expect(damage.applied(to: bytes) == bytes, "\(damage)")
    }
  }

  @Test(
    "Damage that overlaps the end of a file changes only bytes of the file",
    arguments: [
      (.bit(8 * 31 + 7), [31: 31 ^ 128]), (.bit(8 * 32), [:]), (.zeros(30..<40), [30: 0, 31: 0]),
      (.copy(from: 30, to: 0, length: 9), [0: 30, 1: 31]),
      (.copy(from: 0, to: 30, length: 9), [30: 0, 31: 1]),
      (.copy(from: 28, to: 30, length: 9), [30: 28, 31: 29]),
      (.exchange(30, 0, length: 9), [0: 30, 1: 31, 30: 0, 31: 1]),
      (.exchange(0, 30, length: 9), [0: 30, 1: 31, 30: 0, 31: 1]),
      (.foreign([7, 8, 9], at: 30), [30: 7, 31: 8]), (.truncation(32), [:]),
    ] as [(Damage, [Int: UInt8])])
  func acrossTheEnd(_ damage: Damage, _ changes: [Int: UInt8]) {
    var wanted = bytes
    for (place, byte) in changes { wanted[place] = byte }
    #expect(damage.applied(to: bytes) == wanted)
  }

  @Test("Noise that overlaps the end of a file changes only bytes of the file")
  func noiseAcrossTheEnd() {
    let damaged = Damage.noise(16..<99, seed: 5).applied(to: bytes)
    #expect(damaged.count == 32 && damaged[..<16] == bytes[..<16] && damaged[16...] != bytes[16...])
  }

  @Test("Every bit, every length and every sector of a file is tried once")
  func all() {
    var random = SeededGenerator.forTest("damage")
    #expect(Set(Damage.bits(of: 32)).count == 256 && Set(Damage.truncations(of: 32)).count == 32)
    let sectors = Damage.sectors(of: 32, sector: 8, others: bytes, using: &random)
    #expect(sectors.count == 4 * 6)
    #expect(sectors.filter { if case .zeros = $0 { true } else { false } }.count == 4)
    for _ in 0..<1000 {
      let damage = Damage.random(in: 32, using: &random)
      #expect(damage.applied(to: bytes).count <= 32, "\(damage)")
    }
  }
}
