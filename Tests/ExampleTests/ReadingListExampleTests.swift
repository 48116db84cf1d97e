import ChildProcesses
import Foundation
import PerdureTestSupport
import Testing

@Suite("The example program of the tutorial")
struct ReadingListExampleTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test(
    "The last steps of the tutorial equal the files of the example",
    arguments: [
      ("ReadingList-12.swift", "Examples/ReadingList/ReadingList.swift"),
      ("ReadingList-Tests.swift", "Tests/ExampleTests/ReadingListTests.swift"),
    ])
  func sameText(_ step: String, _ file: String) throws {
    let tutorial = "Sources/Perdure/Perdure.docc/Tutorial/\(step)"
    let texts = try [tutorial, file].map {
      try String(contentsOf: Self.root.appendingPathComponent($0), encoding: .utf8)
    }
    #expect(texts[0] == texts[1], "\(tutorial) and \(file) differ")
  }

  @Test("The commands store books across runs and report refused changes")
  func commands() throws {
    let directory = try TemporaryDirectory()
    func run(_ arguments: String...) throws -> String {
      let run = try ChildRun(built: "ReadingList", [directory.file("Books")] + arguments)
      #expect(run.status == 0 && run.errors == "")
      return run.output
    }
    #expect(try run("add", "Solaris", "Stanisław Lem") == "")
    #expect(try run("add", "The Dispossessed", "Ursula K. Le Guin") == "")
    #expect(try run("add", "Fiasco", "Stanisław Lem") == "")
    #expect(try run("finish", "Solaris", "6").hasPrefix("refused: stars "))
    #expect(try run("finish", "Solaris", "5") == "")
    #expect(try run("list") == "Stanisław Lem: Fiasco\nUrsula K. Le Guin: The Dispossessed\n")
    #expect(try run("remove", "Stanisław Lem") == "")
    #expect(try run("list") == "Ursula K. Le Guin: The Dispossessed\n")
    #expect(try run("add").contains("ReadingList STORE add TITLE AUTHOR\n"))
  }
}
