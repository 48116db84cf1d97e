import ChildProcesses
import Foundation
import PerdureFileIO
import PerdureTestSupport
import Testing

/// Kills a program that saves graphs. The graphs have values of up to 20 MiB, an ordered
/// relationship of a hundred objects, cascades, unique keys and derived attributes. The moments of
/// the kills are random, and the expected result does not depend on them.
@Suite("A process that is killed while it saves large graphs")
struct KilledGraphTests {
  private static let kills = max(3, (Environment.value(of: "PERDURE_KILLS").flatMap(Int.init) ?? 0) / 20)

  @Test("The store has each acknowledged save, at most one more, and no save in part")
  func killed() throws {
    let folder = try TemporaryDirectory()
    let store = folder.file("albums.perdure")
    var random = SeededGenerator.forTest("killed graphs")
    var acknowledged = 0
    for kill in 0..<Self.kills {
      let writer = try LineReader(built: "AlbumWriter", ["write", store])
      // If the test reads no line here, it may kill the program while the program creates or opens
      // the store.
      var lines: [String] = []
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        lines.append(try #require(writer.nextLine()))
      }
      usleep(UInt32.random(in: 0..<1_000_000, using: &random))
      writer.kill()
      while let line = writer.nextLine() { lines.append(line) }
      let numbers = lines.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
      #expect(numbers == Array((numbers.first ?? 0)..<(numbers.first ?? 0) + numbers.count), "\(lines)")
      #expect((numbers.first ?? acknowledged) == acknowledged, "kill \(kill): \(lines)")
      acknowledged = numbers.last ?? acknowledged
      let check = try ChildRun(built: "AlbumWriter", ["check", store])
      let found = [acknowledged, acknowledged + 1].first { check.output == "has \($0)\n" }
      acknowledged = try #require(
        found, "seed \(random.origin), kill \(kill): \(acknowledged) saved, \(check.output)\(check.errors)")
    }
    #expect(acknowledged > 0 || Self.kills < 20)
  }
}
