import PerdureFileIO
import PerdureTestSupport
import Testing

@Suite("Seeded generator and temporary directory")
struct SeededGeneratorTests {
  @Test("The generator returns the sequence of SplitMix64")
  func knownAnswers() {
    // From the generator's published reference sequence for seed 1234567.
    var random = SeededGenerator(seed: 1_234_567)
    #expect(
      (0..<3).map { _ in random.next() } == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
      ])
  }

  @Test("Derived generators are equal for equal indexes, and differ for different indexes")
  func derived() {
    let random = SeededGenerator(seed: 1)
    func first(_ index: UInt64) -> UInt64 {
      var part = random.derived(index)
      return part.next()
    }
    #expect(first(0) == first(0))
    #expect(Set((0..<1000).map(first)).count == 1000)
  }

  @Test("A temporary directory is removed with its contents")
  func temporaryDirectory() throws {
    let fileSystem = POSIXFileSystem()
    var directory: TemporaryDirectory? = try TemporaryDirectory()
    let path = try #require(directory?.path)
    try fileSystem.createDirectory("\(path)/d")
    _ = try fileSystem.open("\(path)/d/a", .create)
    directory = nil
    #expect(try fileSystem.kind(of: path) == nil)
  }
}
