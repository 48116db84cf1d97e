import ArgumentParser
import FoundationEssentials
import Perdure
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Entity private final class Ship: ManagedObject {
  @Attribute(.unique) var name: String
  var tonnage: Int64
  @Relationship(inverse: "ship") var sailors: ToMany<Sailor>
}

@Entity private final class Sailor: ManagedObject {
  var name: String
  @Relationship(inverse: "sailors") var ship: Ship?
}

@Entity private final class Harbour: ManagedObject {
  @Relationship(inverse: "home", deleteRule: .noAction) var boats: ToMany<Boat>
}

@Entity(isAbstract: true) private class Craft: ManagedObject {
  var name: String
}

@Entity private final class Boat: Craft {
  var speed: Double
  var launched: Date
  @Relationship(inverse: "boats") var home: Harbour?
}

/// The bytes of a store's files, except for READERS, in which each reader registers itself.
func filesOfStore(at path: String) throws -> [String: [UInt8]] {
  let fileSystem = POSIXFileSystem()
  var files: [String: [UInt8]] = [:]
  for name in try fileSystem.contents(of: path) where name != "READERS" {
    let file = try fileSystem.open(path + "/" + name, .read)
    files[name] = try file.read(Int(file.size()), at: 0)
    try file.close()
  }
  return files
}

/// Changes the first byte of the first occurrence of a text in the log.
func damageLog(_ text: String, in path: String) throws {
  let fileSystem = POSIXFileSystem()
  let name = try #require(try fileSystem.contents(of: path).first { $0.hasSuffix(".segment") })
  let file = try fileSystem.open(path + "/" + name, .readWrite)
  let bytes = try file.read(Int(file.size()), at: 0)
  let text = Array(text.utf8)
  let place = try #require(bytes.indices.first { bytes[$0...].starts(with: text) })
  try file.write([text[0] ^ 1], at: UInt64(place))
  try file.close()
}

/// The output and the exit code of a command.
struct Outcome {
  var lines: [String] = []
  var errors = ""
  var code = ExitCode.success

  /// Runs a command line. The arguments do not include the program's name.
  init(_ arguments: String..., isTerminal: Bool = false) throws {
    try self.init(arguments, isTerminal: isTerminal)
  }

  init(_ arguments: [String], isTerminal: Bool = false) throws {
    var lines: [String] = []
    var errors = ""
    let console = Console(
      output: { lines.append($0) }, errors: { errors += $0 },
      terminal: .init(drawsProgress: isTerminal), now: { .zero })
    let command = try PerdureCommand.command(for: arguments)
    code = try #require(command as? any ConsoleCommand).report(on: console)
    self.lines = lines
    self.errors = errors
  }
}

extension Console {
  /// A console that discards all output.
  static var silent: Console {
    Console(output: { _ in }, errors: { _ in }, terminal: .init(), now: { .zero })
  }
}

@Suite("The command perdure")
struct CommandTests {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("Pages.perdure")
    let store = try Store(at: path)
    let pages = try store.keyspace("pages", .bytes)
    let numbers = try store.keyspace("numbers", .dense)
    try store.write { transaction in
      try transaction.put(Array("<h1>\n".utf8), key: Array("/index".utf8), in: pages)
      try transaction.put([0xFF, 1], key: [0, 1], in: pages)
    }
    for id in 1...3 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 0x61, count: Int(id)), id: id, in: numbers) }
    }
    try store.close()
  }

  func makeGraph() throws -> String {
    let path = directory.file("Fleet.perdure")
    let container = try PersistentContainer(name: "Fleet", classes: [Ship.self, Sailor.self], at: path)
    try container.loadPersistentStores()
    let context = container.newContext()
    let ship = Ship(context: context)
    ship.name = "Fram"
    ship.tonnage = 402
    let sailor = Sailor(context: context)
    sailor.name = "Otto \"S.\""
    sailor.ship = ship
    try context.save()
    try container.close()
    return path
  }

  /// Creates a store with three boats whose harbour was deleted.
  private func makeBoats() throws -> String {
    let path = directory.file("Boats.perdure")
    let container = try PersistentContainer(
      name: "Boats", classes: [Harbour.self, Craft.self, Boat.self], at: path)
    try container.loadPersistentStores()
    let context = container.newContext()
    let harbour = Harbour(context: context)
    for (name, speed, time) in [("Adler", 1.5, 0.25), ("Biber", .nan, -0.5), ("Castor", -.infinity, 60)] {
      let boat = Boat(context: context)
      (boat.name, boat.speed, boat.home) = (name, speed, harbour)
      boat.launched = Date(timeIntervalSinceReferenceDate: time)
    }
    try context.save()
    context.delete(harbour)
    try context.save()
    try container.close()
    return path
  }

  /// Changes a byte of the record of page `/index`.
  func damage() throws { try damageLog("<h1>", in: path) }

  // MARK: - verify

  @Test("verify of an intact store reports a clean store and exits with 0")
  func verify() throws {
    let outcome = try Outcome("verify", path)
    #expect(outcome.code == .success)
    #expect(outcome.lines.last?.hasSuffix(": clean") == true)
    #expect(outcome.errors == "")
    let json = try Outcome("verify", path, "--json")
    #expect(json.lines.count == 1)
    #expect(json.lines[0].contains("\"clean\":true,\"opens\":true,\"findings\":[],\"findingCount\":0"))
  }

  @Test("verify of a store with objects also checks the graph")
  func verifyGraph() throws {
    let outcome = try Outcome("verify", try makeGraph())
    #expect(outcome.code == .success)
    #expect(outcome.lines.last == "graph: 2 objects, 0 links: clean")
  }

  @Test("On a terminal, the progress of opening and verification is shown and then erased")
  func progressOfVerification() throws {
    let graph = try makeGraph()
    let fileSystem = POSIXFileSystem()
    for name in try fileSystem.contents(of: graph) where name.hasSuffix(".index") {
      try fileSystem.remove(graph + "/" + name)
    }
    let outcome = try Outcome("verify", graph, isTerminal: true)
    for work in ["opening", "verifying", "verifying the graph"] {
      #expect(outcome.errors.contains("\r\(work) [##############################] 100 %"), "\(work)")
    }
    #expect(outcome.errors.hasSuffix(" \r"))
    #expect(outcome.lines.last?.hasSuffix("clean") == true)
  }

  @Test("verify of a store with a damaged value names the invariant, and exits with 1")
  func verifyDamaged() throws {
    let store = try Store(at: path)
    let numbers = try store.keyspace("numbers", .dense)
    try store.write { try $0.put([UInt8](repeating: 7, count: 1_100_000), id: 9, in: numbers) }
    try store.close()
    let fileSystem = POSIXFileSystem()
    let name = try #require(try fileSystem.contents(of: path).first { $0.hasSuffix(".blob") })
    try fileSystem.open(path + "/" + name, .readWrite).write([8], at: 500_000)
    let outcome = try Outcome("verify", path)
    #expect(outcome.code == .findings)
    #expect(outcome.lines.first == "V6 (blob files): 1 finding")
    #expect(outcome.lines[1].hasPrefix("  at \(name)"))
    #expect(outcome.lines.last == "log: 7 commits, 8 records, 0 index entries, 1 blob file: 1 finding")
    let json = try Outcome("verify", path, "--json")
    #expect(json.code == .findings)
    #expect(json.lines[0].contains("\"clean\":false") && json.lines[0].contains("\"invariant\":\"V6\""))
  }

  @Test("References that the delete rule `noAction` leaves are counted, but they are not findings")
  func verifyNoAction() throws {
    let outcome = try Outcome("verify", try makeBoats())
    #expect(outcome.code == .success)
    #expect(
      outcome.lines.last
        == "graph: 3 objects, 0 links, 3 references to deleted objects left by the delete rule noAction: clean"
    )
  }

  @Test("verify and dump report an unreadable row and continue with the next row")
  func damagedRow() throws {
    let path = try makeBoats()
    // The checkpoint saves the index, so opening the store does not read the damaged log.
    let opened = try OpenedStore(forWritingAt: path, on: .silent)
    try opened.engine.checkpoint()
    try opened.engine.close()
    try damageLog("Biber", in: path)
    let outcome = try Outcome("verify", path)
    #expect(outcome.code == .findings)
    let engine = try #require(outcome.lines.firstIndex { $0.hasPrefix("V") })
    let graph = try #require(outcome.lines.firstIndex { $0.hasPrefix("  at Boat/p2: ") })
    #expect(engine < graph && outcome.lines[graph - 1] == "G1 (rows): 1 finding")
    #expect(outcome.lines[graph].contains("perdure salvage"))
    // The log cannot be read to its end, so the number of commits is unknown.
    let log = try #require(outcome.lines.first { $0.hasPrefix("log: ") })
    #expect(!log.contains("commit") && log.contains(" finding"), "\(log)")
    #expect(outcome.lines.last?.hasPrefix("graph: 3 objects") == true)
    #expect(try Outcome("verify", path, "--json").code == .findings)
    let dump = try Outcome("dump", path, "--entity", "Boat")
    #expect(dump.code == .findings)
    #expect(dump.lines.count == 3 && dump.lines[1].hasPrefix("Boat/p2\tcannot be read: "))
    let json = try Outcome("dump", path, "--entity", "Boat", "--json")
    #expect(json.lines.count == 3 && json.lines[1].hasPrefix(#"{"entity":"Boat","id":2,"problem":"#))
  }

  @Test("Commands print why a store does not open, and verify reports findings")
  func unopened() throws {
    let missing = try Outcome("verify", directory.file("none"), "--json")
    #expect(missing.code == .failed)
    #expect(missing.lines[0].hasPrefix("{\"error\":{\"code\":\"notAStore\""))
    #expect(missing.errors.hasPrefix("error: notAStore"))
    try POSIXFileSystem().remove(path + "/SUPERBLOCK")
    let verify = try Outcome("verify", path)
    #expect(verify.code == .findings && verify.lines[0].hasPrefix("The store does not open: corruption"))
    #expect(verify.lines[1] == "V8 (superblock): 1 finding")
    for command in ["stats", "dump"] {
      let outcome = try Outcome(command, path)
      #expect(outcome.code == .failed && outcome.lines.isEmpty)
      #expect(outcome.errors.hasPrefix("error: corruption"))
    }
  }

  // MARK: - stats

  @Test("stats prints all statistics as lines and as JSON")
  func stats() throws {
    let outcome = try Outcome("stats", path)
    #expect(outcome.code == .success)
    #expect(outcome.lines.contains { $0.hasPrefix("keys of numbers ") && $0.hasSuffix(" 3") })
    #expect(outcome.lines.contains { $0.hasPrefix("log bytes ") })
    let json = try Outcome("stats", path, "--json")
    #expect(json.lines[0].contains("\"keyspaces\":{\"pages\":2,\"numbers\":3}"))
    #expect(json.lines[0].contains("\"keys\":5"))
    // Statistics have not only numbers, but also Booleans, reasons and lists.
    for name in Mirror(reflecting: try Store(at: path).statistics).children.compactMap(\.label) {
      #expect(json.lines[0].contains("\"\(name)\":"), "\(name)")
      let words = StatsCommand.words(name)
      #expect(outcome.lines.contains { $0.hasPrefix(words) }, "\(name)")
    }
    #expect(json.lines[0].contains(#""oldestSnapshots":[]"#))
    #expect(outcome.lines.contains { $0.hasPrefix("is short of space ") && $0.hasSuffix(" no") })
    #expect(outcome.lines.contains { $0.hasPrefix("oldest snapshots ") && $0.hasSuffix(" none") })
    let fleet = try makeGraph()
    let graph = try Outcome("stats", fleet)
    #expect(graph.lines.contains { $0.hasPrefix("objects of Ship ") && $0.hasSuffix(" 1") })
    #expect(graph.lines.contains { $0.hasPrefix("entries of unique index Ship.name ") && $0.hasSuffix(" 1") })
    #expect(graph.lines.contains { $0.hasPrefix("entries of relationship Sailor.ship ") })
    let graphJSON = try Outcome("stats", fleet, "--json")
    #expect(graphJSON.lines[0].contains(#""unique index Ship.name":1"#), "\(graphJSON.lines)")
  }

  // MARK: - dump

  @Test("dump prints keyspace, key, commit and value")
  func dump() throws {
    let outcome = try Outcome("dump", path)
    #expect(
      outcome.lines == [
        "pages\t0x0001\t#3\t0xff01", "pages\t/index\t#3\t\"<h1>\\n\"", "numbers\t1\t#4\t\"a\"",
        "numbers\t2\t#5\t\"aa\"", "numbers\t3\t#6\t\"aaa\"",
      ])
    #expect(outcome.code == .success)
  }

  @Test("dump --json prints a line for each key up to the limit, and ignores the width")
  func dumpJSON() throws {
    let outcome = try Outcome("dump", path, "--json", "--limit", "3", "--width", "1")
    #expect(
      outcome.lines == [
        #"{"keyspace":"pages","key":"\u0000\u0001","sequence":3,"value":{"hex":"ff01"}}"#,
        #"{"keyspace":"pages","key":"/index","sequence":3,"value":"<h1>\n"}"#,
        #"{"keyspace":"numbers","key":1,"sequence":4,"value":"a"}"#,
      ])
  }

  @Test(
    "dump limits its output by keyspace, range, prefix, number of lines and width, and refuses invalid limits"
  )
  func dumpParts() throws {
    func keys(_ outcome: Outcome) -> [String] { outcome.lines.map { String($0.split(separator: "\t")[1]) } }
    #expect(keys(try Outcome("dump", path, "--keyspace", "numbers")) == ["1", "2", "3"])
    #expect(keys(try Outcome("dump", path, "--keyspace", "numbers", "--from", "2")) == ["2", "3"])
    #expect(keys(try Outcome("dump", path, "--keyspace", "numbers", "--to", "0x2")) == ["1"])
    #expect(keys(try Outcome("dump", path, "--keyspace", "numbers", "--to", "0")) == [])
    #expect(keys(try Outcome("dump", path, "--prefix", "/in")) == ["/index"])
    #expect(
      keys(try Outcome("dump", path, "--keyspace", "pages", "--from", "0x00", "--to", "/")) == ["0x0001"])
    #expect(keys(try Outcome("dump", path, "--limit", "0")) == [])
    let short = try Outcome("dump", path, "--keyspace", "numbers", "--from", "3", "--width", "2")
    #expect(short.lines == ["numbers\t3\t#6\t\"aa\"… (3 bytes)"])
    let wrong = try Outcome("dump", path, "--keyspace", "nothing")
    #expect(wrong.code == .failed && wrong.errors.contains("pages, numbers"))
    #expect(try Outcome("dump", path, "--keyspace", "numbers", "--from", "x").code == .failed)
    #expect(throws: (any Error).self) { try Outcome("dump", path, "--limit", "-1") }
  }

  @Test("dump prints the objects of an entity with the property names of the stored model")
  func dumpObjects() throws {
    let graph = try makeGraph()
    #expect(try Outcome("dump", graph, "--entity", "Ship").lines == ["Ship/p1\tname=\"Fram\"\ttonnage=402"])
    #expect(
      try Outcome("dump", graph, "--entity", "Sailor", "--json").lines == [
        #"{"entity":"Sailor","id":1,"properties":{"name":"Otto \"S.\"","ship":"Ship/p1"}}"#
      ])
    #expect(try Outcome("dump", graph, "--entity", "Ship", "--from", "2").lines == [])
    let wrong = try Outcome("dump", graph, "--entity", "Whale")
    #expect(wrong.code == .failed && wrong.errors.contains("Ship"))
    #expect(try Outcome("dump", path, "--entity", "Ship").code == .failed)
  }

  @Test("dump prints NaN, infinite numbers, fractions of seconds and objects of subentities")
  func dumpValues() throws {
    let outcome = try Outcome("dump", try makeBoats(), "--entity", "Craft")
    let expected = [
      (1, "Adler", "1.5", "2001-01-01T00:00:00.250Z"), (2, "Biber", "\"nan\"", "2000-12-31T23:59:59.500Z"),
      (3, "Castor", "\"-inf\"", "2001-01-01T00:01:00Z"),
    ]
    #expect(
      outcome.lines
        == expected.map {
          "Boat/p\($0)\tname=\"\($1)\"\tspeed=\($2)\tlaunched=\"\($3)\"\thome=\"Harbour/p1\""
        })
  }

  @Test("The error for an unknown subcommand names that subcommand and all valid subcommands")
  func unknownSubcommand() throws {
    let error = #expect(throws: (any Error).self) { try Outcome("vrfy", path) }
    let message = PerdureCommand.message(for: try #require(error))
    #expect(
      message
        == "There is no subcommand \"vrfy\". The subcommands are verify, stats, dump, query, "
        + "model, backup, restore, salvage, compact."
    )
    let near = #expect(throws: (any Error).self) { try Outcome("verfy", path) }
    #expect(PerdureCommand.message(for: try #require(near)).contains(" Did you mean verify?"))
    #expect(PerdureCommand.exitCode(for: try #require(error)) == .validationFailure)
  }
}
