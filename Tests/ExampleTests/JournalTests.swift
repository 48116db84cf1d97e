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
      let words = try #require(try journal.nextLine()).split(separator: " ")
      #expect(words.first == "found")
      let found = try #require(words.last.flatMap { Int($0) })
      #expect((reported...(reported + 1)).contains(found), "round \(round)")
      reported = found
      for _ in 0..<(7 * round) {
        #expect(try journal.nextLine() == "saved \(reported + 1)")
        reported += 1
      }
      journal.kill()
      // The program also reported the lines that are still in the pipe.
      while let line = try journal.nextLine() {
        #expect(line == "saved \(reported + 1)")
        reported += 1
      }
    }
    #expect(reported >= 7 * 36)
  }
}

/// A program whose output is read line by line while it runs.
private final class LineReader {
  private let process = Process()
  private let pipe = Pipe()
  private var buffer = Data()

  init(built name: String, _ arguments: [String]) throws {
    let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent(name)
    process.arguments = arguments
    process.standardOutput = pipe
    try process.run()
  }

  deinit { kill() }

  /// The next complete line; nil at the end of the output.
  func nextLine() throws -> String? {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self)
        buffer = Data(buffer[buffer.index(after: end)...])
        return line
      }
      guard let more = try pipe.fileHandleForReading.read(upToCount: 4096), !more.isEmpty else { return nil }
      buffer += more
    }
  }

  func kill() {
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }
}
