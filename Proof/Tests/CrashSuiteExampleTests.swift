// The suite in the documentation of `CrashExplorer`, as code that compiles and runs: each line of it stands here, in
// its order. Change both.

import Foundation
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

/// A store as a program might have it.
private struct Notes {
  private let store: Store
  private let notes: Keyspace

  init(on fileSystem: any FileSystem) throws {
    var options = StoreOptions()
    options.fileSystem = fileSystem
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

private struct Lost: Error {}
private struct Surplus: Error {}

@Suite("The crash-recovery suite in the documentation")
struct CrashSuiteExampleTests {
  @Test func notesSurvivePowerCuts() throws {
    var explorer = CrashExplorer()
    explorer.recoveryDepth = 2
    explorer.imagesPerOperationMax = 16
    let report = try explorer.explore { fileSystem, marker in
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
    print(report)
    try report.check()
  }

  @Test("Is this one, line by line")
  func sameText() throws {
    let here = URL(fileURLWithPath: #filePath)
    let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let source = root.appendingPathComponent("Sources/PerdureTestSupport/CrashExplorer.swift")
    let example = try Self.lines(of: source).drop { !$0.contains("@Test") }
      .prefix { $0.hasPrefix("///     ") }.map { $0.dropFirst(8).trimmingCharacters(in: .whitespaces) }
    var rest = try Self.lines(of: here)[...]
    #expect(example.count >= 18 && example.count <= 22)
    for line in example {
      let place = try #require(rest.firstIndex(of: line), "\(line)")
      rest = rest[(place + 1)...]
    }
  }

  private static func lines(of file: URL) throws -> [String] {
    try String(contentsOf: file, encoding: .utf8)
      .components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }
}
