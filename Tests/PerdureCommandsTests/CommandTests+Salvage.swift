import ArgumentParser
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

@testable import PerdureCommands

extension CommandTests {
  // MARK: - salvage

  @Test("salvage of a damaged store restores intact records, reports the damage and exits with 1")
  func salvage() throws {
    try damage()
    let target = directory.file("Saved.perdure")
    let outcome = try Outcome("salvage", path, target)
    #expect(outcome.code == .findings)
    #expect(outcome.lines.contains { $0.contains("records are damaged") })
    #expect(outcome.lines.last == "4 keys from 6 records in 1 segment: 1 damaged place")
    #expect(try Outcome("verify", target).code == .success)
    let again = try Outcome("salvage", path, target)
    #expect(again.code == .failed && again.errors.contains("invalidArgument"))
  }

  @Test("salvage of an intact store exits with 0, and its JSON counts the restored keys")
  func salvageJSON() throws {
    let target = directory.file("Saved.perdure")
    let outcome = try Outcome("salvage", path, target, "--json")
    #expect(outcome.code == .success)
    #expect(outcome.lines[0].contains("\"clean\":true,\"keys\":5,\"keysMaybeOlder\":0,\"damageCount\":0"))
    #expect(
      outcome.lines[0].contains(
        #"{"name":"numbers","nameLost":false,"keys":3,"keysMaybeOlder":0}"#))
  }

  // MARK: - compact

  @Test("compact removes dead records of stores with and without objects")
  func compact() throws {
    let store = try Store(at: path)
    let numbers = try store.keyspace("numbers", .dense)
    for _ in 0..<100 {
      try store.write { try $0.put([UInt8](repeating: 1, count: 1000), id: 1, in: numbers) }
    }
    try store.close()
    let outcome = try Outcome("compact", path)
    #expect(outcome.code == .success)
    #expect(outcome.lines.count == 1 && outcome.lines[0].hasPrefix("1 of 1 segment rewritten"))
    #expect(try Outcome("verify", path).code == .success)
    #expect(try Outcome("dump", path, "--keyspace", "numbers").lines.last == "numbers\t3\t#6\t\"aaa\"")
    let graph = try makeGraph()
    #expect(try Outcome("compact", graph, "--json").code == .success)
    #expect(try Outcome("verify", graph).lines.last == "graph: 2 objects, 0 links: clean")
    #expect(try Outcome("compact", directory.file("none")).code == .failed)
    #expect(try POSIXFileSystem().kind(of: directory.file("none")) == nil)
  }

  @Test("On a terminal, a progress bar is drawn and erased, and results are never printed on its line")
  func bar() throws {
    let outcome = try Outcome("verify", path, isTerminal: true)
    #expect(outcome.errors.contains("\rverifying [") && outcome.errors.contains("] 100 %"))
    #expect(outcome.errors.hasSuffix("\r"))
    #expect(outcome.lines.allSatisfy { !$0.contains("\r") })
  }
}
