import ChildProcesses
import Foundation
import Testing

@Suite("The journal example, which is killed while it saves")
struct JournalTests {
  @Test("After each kill, the journal has every reported entry and at most one more")
  func killed() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "perdure-journal-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var reported = 0
    for round in 1...8 {
      let journal = try LineReader(built: "Journal", [folder.appending(path: "store").path])
      let words = try #require(journal.nextLine()).split(separator: " ")
      #expect(words.first == "found")
      let found = try #require(words.last.flatMap { Int($0) })
      #expect((reported...(reported + 1)).contains(found), "round \(round)")
      reported = found
      for _ in 0..<(7 * round) {
        #expect(journal.nextLine() == "saved \(reported + 1)")
        reported += 1
      }
      journal.kill()
      // The program also reported the lines that are still in the pipe.
      while let line = journal.nextLine() {
        #expect(line == "saved \(reported + 1)")
        reported += 1
      }
    }
    #expect(reported >= 7 * 36)
  }
}
