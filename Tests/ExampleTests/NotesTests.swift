import ChildProcesses
import Foundation
import Testing

@Suite("The example of notes")
struct NotesTests {
  @Test("The program with classes that the plugin generates from a model file prints the documented output")
  func output() throws {
    let run = try ChildRun(built: "Notes", [])
    #expect(run.status == 0 && run.errors == "")
    #expect(
      run.output == """
        Travel has 2 notes
        * Café by the river at 48.2, 16.4
        - Night train
        1 note is about a café
        1 note is pinned

        """)
  }

  @Test("The program contains every line of the article's Swift code blocks, in order")
  func article() throws {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    func lines(_ path: String) throws -> [String] {
      try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        .components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    var rest = try lines("Examples/Notes/Notes.swift")[...]
    let blocks = try lines("Sources/Perdure/Perdure.docc/ModelFiles.md").joined(separator: "\n")
      .components(separatedBy: "```swift\n").dropFirst()
    #expect(blocks.count == 3)
    for line in blocks.flatMap({ $0.components(separatedBy: "```")[0].components(separatedBy: "\n") })
    where !line.isEmpty {
      let place = rest.firstIndex(of: line)
      #expect(place != nil, "\(line)")
      rest = rest[((place ?? rest.startIndex) + 1)...]
    }
  }
}
