// The examples of `CrashExplorer` and `FailureSweep`, and those of the pages of PerdureTestSupport.
// This file contains each of their lines in the same order, except the suite for objects, which is
// in Proof/GraphTests/GraphSuiteExampleTests.swift. Change the files together.

import Foundation
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

// A store like that of a program.
struct Notes {
  let store: Store
  let notes: Keyspace
  init(on fileSystem: any FileSystem) throws {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    (options.checkpoints, options.compactsAutomatically) = (.manual, false)
    store = try Store(at: "/Notes", options: options)
    notes = try store.keyspace("notes", .dense)
  }
  func add(_ number: Int, _ text: String) throws {
    try store.write { try $0.put(Array(text.utf8), id: UInt64(number), in: notes) }
  }
  func numbers() throws -> [Int] {
    var numbers: [Int] = []
    try store.snapshot().forEach(in: notes) { (id: UInt64, _: RawSpan) in
      numbers.append(Int(id))
      return true
    }
    return numbers
  }
}

struct Lost: Error {}
struct Surplus: Error {}

/// Tries a small part of all failures. Runs with other seeds try other failures.
private func FailureSweep() -> PerdureTestSupport.FailureSweep {
  var sweep = PerdureTestSupport.FailureSweep()
  sweep.part = 0.02
  return sweep
}

/// One step of a user of the notes.
private enum Step: Equatable {
  case add(String)
  case reopen

  /// The same step without the last character of its text; empty if the step has no text.
  var simpler: [Step] {
    if case .add(let text) = self, !text.isEmpty { [.add(String(text.dropLast()))] } else { [] }
  }
}

/// Simulates a wrong store of notes, which loses a long note when it is opened again.
private func whatGoesWrong(_ steps: [Step]) -> String? {
  var isLong = false
  for step in steps {
    switch step {
    case .add(let text): isLong = isLong || text.count > 2
    case .reopen: if isLong { return "a note is lost" }
    }
  }
  return nil
}

@Suite("The suites in the documentation")
struct CrashSuiteExampleTests {
  func notesReport(_ explorer: CrashExplorer) throws -> CrashReport {
    try explorer.explore { fileSystem, marker in
      let notes = try Notes(on: fileSystem)
      for number in 1...4 {
        marker.begin(number)
        try notes.add(number, "note \(number)")
        marker.acknowledge(number)
      }
    } recover: { fileSystem, _ in
      try Notes(on: fileSystem)
    } verify: { notes, context in
      let numbers = try notes.numbers()
      guard numbers.starts(with: context.acknowledged) else { throw Lost() }
      guard context.begun.starts(with: numbers) else { throw Surplus() }
    }
  }

  @Test func notesSurvivePowerCuts() throws {
    var explorer = CrashExplorer()
    explorer.recoveryDepth = 2
    explorer.imagesPerOperationMax = 16
    try notesReport(explorer).check()
  }

  @Test(arguments: CrashCanary.allCases) func notesNoticeMistakes(_ canary: CrashCanary) throws {
    var explorer = CrashExplorer()
    explorer.canary = canary
    let report = try notesReport(explorer)
    #expect(report.violation != nil)
    let isOfTheCheck = report.violation.map { ["Lost()", "Surplus()"].contains($0.reason) } ?? false
    #expect(isOfTheCheck || canary == .ignoresSync, "\(report)")
  }

  @Test func notesSurviveFailures() throws {
    var explorer = CrashExplorer()
    explorer.imagesPerOperationMax = 8
    let report = FailureSweep().run { fileSystem in
      var written: [Int] = []
      guard let notes = try? Notes(on: fileSystem) else { return written }
      for number in 1...4 {
        do { try notes.add(number, "note \(number)") } catch is StoreError { break }
        written.append(number)
      }
      return written
    } verify: { written, fileSystem in
      for disk in explorer.images(of: fileSystem.journal, after: fileSystem.operationCount) {
        let numbers = try Notes(on: disk.fileSystem()).numbers()
        guard numbers.starts(with: written) else { throw Lost() }
        guard (1...4).starts(with: numbers) else { throw Surplus() }
      }
    }
    print(report.summary)
    try report.check()
    #expect(report.struckCount > 0)
  }

  @Test func notesOfSeveralTasksSurvive() async throws {
    let fileSystem = SimulatedFileSystem()
    let notes = try Notes(on: fileSystem)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...4 {
        group.addTask {
          fileSystem.marker.begin(number)
          try notes.add(number, "note \(number)")
          fileSystem.marker.acknowledge(number)
        }
      }
      try await group.waitForAll()
    }
    var explorer = CrashExplorer()
    explorer.imagesPerOperationMax = 8
    let report = explorer.examine(fileSystem.journal) { fileSystem, _ in
      try Notes(on: fileSystem)
    } verify: { notes, context in
      guard try Set(notes.numbers()).isSuperset(of: context.acknowledged) else { throw Lost() }
    }
    try report.check()
  }

  @Test func notesSurviveRandomHistories() throws {
    let random = SeededGenerator.forTest("random histories of notes")
    for round in 0..<3 as Range<UInt64> {
      var part = random.derived(round)
      let numbers = (1...Int.random(in: 1...4, using: &part)).map { _ in Int.random(in: 1...9, using: &part) }
      var explorer = CrashExplorer(using: &part)
      explorer.imagesPerOperationMax = 8
      guard let violation = try history(numbers, explorer).violation else { continue }
      let small = try Shrinker<Int>().shrink(numbers) { candidate in
        try history(candidate, explorer).violation?.reason == violation.reason
      }
      print(small.elements, small.isConfirmed)
      throw violation
    }
  }

  /// Explores the power cuts of a program that adds notes with these numbers, in this order.
  private func history(_ numbers: [Int], _ explorer: CrashExplorer) throws -> CrashReport {
    try explorer.explore { fileSystem, marker in
      let notes = try Notes(on: fileSystem)
      for (step, number) in numbers.enumerated() {
        marker.begin(step)
        try notes.add(number, "note")
        marker.acknowledge(step)
      }
    } recover: { fileSystem, _ in
      try Notes(on: fileSystem)
    } verify: { notes, context in
      let found = try notes.numbers()
      guard context.acknowledged.allSatisfy({ found.contains(numbers[$0]) }) else { throw Lost() }
    }
  }

  @Test func whatTheFailureNeeds() throws {
    let steps: [Step] = [.add("a"), .add("note 2"), .add("bc"), .reopen, .add("long"), .reopen]
    let reason = whatGoesWrong(steps)
    let small = Shrinker<Step>().shrink(steps, simplifying: { $0.simpler }) { candidate in
      whatGoesWrong(candidate) == reason
    }
    print(small.elements, small.isConfirmed)
    #expect(small.elements.count == 2 && small.isMinimal && small.isConfirmed)
  }

  @Test(
    "This file and GraphSuiteExampleTests.swift contain the code of all examples in comments and pages",
    arguments: ["CrashExplorer.swift", "FailureSweep.swift"] + pages)
  func sameText(_ file: String) throws {
    let here = URL(fileURLWithPath: #filePath)
    let root = Self.root
    let source = root.appendingPathComponent("Sources/PerdureTestSupport/\(file)")
    let examples = file.hasSuffix(".md") ? try Self.codeBlocks(of: source) : [try Self.example(in: source)]
    #expect(!examples.isEmpty)
    // The suite for objects is in another file, which can import the graph.
    let code = try Self.lines(of: here) + Self.lines(of: root.appendingPathComponent(Self.objects))
    for example in examples {
      var rest = code[...]
      #expect(example.count >= (file.hasSuffix(".md") ? 3 : 18) && example.count <= 22)
      for line in example {
        let place = try #require(rest.firstIndex(of: line), "\(line)")
        rest = rest[(place + 1)...]
      }
    }
  }

  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// All pages of the documentation catalog.
  private static let pages: [String] = {
    let catalog = "PerdureTestSupport.docc"
    let folder = root.appendingPathComponent("Sources/PerdureTestSupport/\(catalog)").path
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    precondition(files.contains("PerdureTestSupport.md"), "There is no landing page in \(folder)")
    return files.filter { $0.hasSuffix(".md") }.map { "\(catalog)/\($0)" }.sorted()
  }()

  private static let objects = "Proof/GraphTests/GraphSuiteExampleTests.swift"

  /// The test in the comment of a file.
  private static func example(in file: URL) throws -> [String] {
    try lines(of: file).drop { !$0.hasPrefix("///     ") }
      .prefix { $0.hasPrefix("///     ") }.map { $0.dropFirst(8).trimmingCharacters(in: .whitespaces) }
  }

  private static func codeBlocks(of file: URL) throws -> [[String]] {
    try lines(of: file).split(separator: "```").compactMap { part in
      part.firstIndex(of: "```swift").map { Array(part[($0 + 1)...]) }
    }
  }

  private static func lines(of file: URL) throws -> [String] {
    try String(contentsOf: file, encoding: .utf8)
      .components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }
}
