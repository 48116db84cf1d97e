import ArgumentParser
import FoundationEssentials
import Perdure
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Entity private final class Cargo: ManagedObject {
  var label: String
  var seal: Data
  var weight: Float
  var exact: Double
}

extension CommandTests {
  @Test("dump continues after unreadable records, in the log and in files, and exits with 1")
  func dumpDamaged() throws {
    let store = try Store(at: path)
    let numbers = try store.keyspace("numbers", .dense)
    try store.write { try $0.put([UInt8](repeating: 7, count: 1_100_000), id: 2, in: numbers) }
    try store.checkpoint()
    try store.close()
    try damage()
    let fileSystem = POSIXFileSystem()
    let blob = try #require(try fileSystem.contents(of: path).first { $0.hasSuffix(".blob") })
    try fileSystem.open(path + "/" + blob, .readWrite).write([8], at: 500_000)
    let outcome = try Outcome("dump", path)
    #expect(outcome.code == .findings)
    let keys = outcome.lines.map { $0.split(separator: "\t").prefix(2).joined(separator: " ") }
    #expect(keys == ["pages 0x0001", "pages /index", "numbers 1", "numbers 2", "numbers 3"])
    for (line, name) in [(1, "pages /index"), (3, "numbers 2")] {
      #expect(outcome.lines[line].contains("\t#?\tcannot be read: corruption"), "\(outcome.lines)")
      #expect(outcome.errors.contains("error: \(name) cannot be read: corruption"), "\(outcome.errors)")
    }
    #expect(outcome.errors.split(separator: "\n").count == 2)
    #expect(outcome.lines.last?.hasSuffix("\"aaa\"") == true)
    let json = try Outcome("dump", path, "--json", "--keyspace", "pages")
    #expect(json.code == .findings && json.lines.count == 2)
    #expect(json.lines[1].hasPrefix(#"{"keyspace":"pages","key":"/index","problem":"corruption"#))
  }

  @Test(
    "For an unknown name, dump suggests similar names of the store; its help states the default line limit")
  func nearNames() throws {
    let entity = try Outcome("dump", try makeGraph(), "--entity", "Shop")
    #expect(entity.code == .failed)
    #expect(entity.errors.contains("The store has no entity Shop. Did you mean Ship? It has Ship, Sailor"))
    let keyspace = try Outcome("dump", path, "--keyspace", "page")
    #expect(keyspace.code == .failed)
    #expect(keyspace.errors.contains("The store has no keyspace page. Did you mean pages?"))
    #expect(DumpCommand.helpMessage().contains("(default: all)"))
  }

  @Test("dump prints a Float with the digits of its description, and bytes in hexadecimal")
  func dumpUnambiguous() throws {
    let path = directory.file("Cargo.perdure")
    let container = try PersistentContainer(name: "Cargo", classes: [Cargo.self], at: path)
    try container.loadPersistentStores()
    let context = container.newContext()
    let cargo = Cargo(context: context)
    (cargo.label, cargo.seal, cargo.weight, cargo.exact) = ("ab", Data([0x61, 0x62]), 0.1, 0.1)
    try context.save()
    try container.close()
    let line = #"label="ab" seal={"hex":"6162"} weight=0.1 exact=0.1"#
    #expect(
      try Outcome("dump", path, "--entity", "Cargo").lines
        == ["Cargo/p1\t" + line.replacing(" ", with: "\t")])
    #expect(
      try Outcome("dump", path, "--entity", "Cargo", "--json").lines == [
        #"{"entity":"Cargo","id":1,"properties":{"label":"ab","seal":{"hex":"6162"},"weight":0.1,"exact":0.1}}"#
      ])
  }
}
