import ArgumentParser
import FoundationEssentials
import Perdure
import PerdureLog
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Entity private class Staff: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute(.composite) var address: StaffAddress?
}

@Entity private final class Worker: Staff {
  @Attribute(.indexed) var salary: Double
  var rank: Float = 0.1
  var note: String?
  var photo: Data?
  @Attribute(.transient) var mood: String?
  @Relationship(inverse: "workers") var company: Company?
}

@Entity private final class Company: ManagedObject {
  var name: String
  @Attribute(derived: "workers.@count") private(set) var workerCount: Int
  @Relationship(inverse: "company") var workers: OrderedToMany<Worker>
}

@Composite private struct StaffAddress {
  var city: String?
}

@Suite("perdure query")
struct QueryCommandTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("Staff.perdure") }

  init() throws {
    directory = try TemporaryDirectory()
    let container = try PersistentContainer(
      name: "Staff", classes: [Staff.self, Worker.self, Company.self], at: path)
    try container.loadPersistentStores()
    let context = container.newContext()
    let company = Company(context: context)
    company.name = "Acme, Inc."
    for (name, salary) in [("Ada", 3000.0), ("Bob", 1000.5), ("Cleo", 2000)] {
      let worker = Worker(context: context)
      (worker.name, worker.salary) = (name, salary)
      worker.company = name == "Cleo" ? nil : company
      worker.note = name == "Ada" ? "says \"hi\"\nand goes" : name == "Bob" ? "" : nil
      worker.photo = name == "Ada" ? Data([0x61, 0xFF]) : nil
    }
    let staff = Staff(context: context)
    staff.name = "Zed"
    staff.address = StaffAddress(city: "Rome")
    try context.save()
    try container.close()
  }

  private func query(_ arguments: String...) throws -> Outcome {
    try Outcome(["query", path] + arguments)
  }

  @Test("Without a predicate, all objects are printed with all values except to-many relationships")
  func all() throws {
    let outcome = try query("Worker")
    #expect(outcome.code == .success && outcome.errors == "")
    #expect(
      outcome.lines == [
        #"objectID   name  address.city  salary  rank  note                 photo   company"#,
        #"Worker/p1  Ada                 3000.0   0.1  says "hi"\nand goes  0x61ff  Company/p1"#,
        #"Worker/p2  Bob                 1000.5   0.1  ""                           Company/p1"#,
        #"Worker/p3  Cleo                2000.0   0.1"#, "3 objects",
      ],
      "\(outcome.lines.joined(separator: "\n"))")
  }

  @Test("A predicate, an order, columns, a limit and an offset select the printed rows")
  func selected() throws {
    let outcome = try query(
      "Worker", "company.name BEGINSWITH 'Acme' OR salary > 1500", "--order", "company.name desc, salary",
      "--columns", "name, company.name", "--columns", "company.workers.@count")
    #expect(
      outcome.lines == [
        "name  company.name  company.workers.@count", "Bob   Acme, Inc.                         2",
        "Ada   Acme, Inc.                         2", "Cleo                                     0",
        "3 objects",
      ], "\(outcome.lines.joined(separator: "\n"))")
    let window = try query(
      "Worker", "--order", "salary desc", "--columns", "name", "--limit", "1", "--offset", "1")
    #expect(window.lines == ["name", "Cleo", "1 object"])
    #expect(try query("Worker", "name == 'none'").lines == ["0 objects"])
    #expect(try query("Worker", "--limit", "0").lines == ["0 objects"])
  }

  @Test("JSON has one object per line, with whole values")
  func json() throws {
    let outcome = try query(
      "Worker", "--order", "name", "--columns", "name,note,photo,rank,company", "--format", "json")
    #expect(
      outcome.lines == [
        #"{"name":"Ada","note":"says \"hi\"\nand goes","photo":{"hex":"61ff"},"rank":0.1,"company":"Company/p1"}"#,
        #"{"name":"Bob","note":"","photo":null,"rank":0.1,"company":"Company/p1"}"#,
        #"{"name":"Cleo","note":null,"photo":null,"rank":0.1,"company":null}"#,
      ])
    let company = try query(
      "Company", "--columns", "objectID,workerCount,workers,workers.@sum.salary", "--format", "json")
    #expect(
      company.lines == [
        #"{"objectID":"Company/p1","workerCount":2,"workers":["Worker/p1","Worker/p2"],"workers.@sum.salary":4000.5}"#
      ])
  }

  @Test("CSV quotes special characters and distinguishes empty texts from nil")
  func csv() throws {
    let outcome = try query(
      "Worker", "--order", "name", "--columns", "name,note,photo,company.name", "--format", "csv")
    #expect(
      outcome.lines == [
        "name,note,photo,company.name", "Ada,\"says \"\"hi\"\"\nand goes\",0x61ff,\"Acme, Inc.\"",
        "Bob,\"\",,\"Acme, Inc.\"", "Cleo,,,",
      ])
    #expect(CSVText.line([nil]) == "\"\"" && CSVText.line([nil, nil]) == ",")
  }

  @Test("Results include objects of subentities, whose ids name their own entity")
  func subentities() throws {
    let outcome = try query(
      "Staff", "--order", "name desc", "--columns", "objectID,address.city", "--limit", "2")
    #expect(outcome.lines == ["objectID   address.city", "Staff/p1   Rome", "Worker/p3", "2 objects"])
  }

  @Test("Long values are cut at the table's width, but not in JSON and CSV")
  func hugeValues() throws {
    let container = try PersistentContainer(
      name: "Staff", classes: [Staff.self, Worker.self, Company.self], at: path)
    try container.loadPersistentStores()
    let context = container.newContext()
    let worker = Worker(context: context)
    (worker.name, worker.salary) = ("Max", 1)
    worker.note = String(repeating: "é\u{7}", count: 400_000)
    worker.photo = Data(repeating: 0xAB, count: 1_500_000)
    try context.save()
    try container.close()
    let columns = ["--columns", "note,photo"]
    let table = try Outcome(["query", path, "Worker", "name == 'Max'", "--width", "30"] + columns)
    #expect(
      table.lines[1] == "é\\u{7}é\\u{7}é\\u{7}é\\u{7}é…  0xababababab… (1500000 bytes)",
      "\(table.lines)")
    let json = try Outcome(["query", path, "Worker", "name == 'Max'", "--format", "json"] + columns)
    #expect(json.lines[0].utf8.count > 400_000 * 8 + 3_000_000)
    let csv = try Outcome(["query", path, "Worker", "name == 'Max'", "--format", "csv"] + columns)
    #expect(csv.lines[1].utf8.count > 1_200_000 + 3_000_000)
  }

  @Test("A query that does not fit the model fails and suggests similar names")
  func misfits() throws {
    let entity = try query("Wrker", "--format", "json")
    #expect(entity.code == .failed && entity.errors.contains("no entity Wrker. Did you mean Worker?"))
    #expect(entity.lines[0].contains(#""code":"unknownEntity""#))
    #expect(entity.lines[0].contains(#""suggestions":["Worker"]"#))
    for arguments in [
      ["Worker", "salry > 1"], ["Worker", "--columns", "salry"], ["Worker", "--order", "salry"],
    ] {
      let outcome = try Outcome(["query", path] + arguments)
      #expect(outcome.code == .failed && outcome.errors.contains("Did you mean salary?"), "\(arguments)")
    }
    for arguments in [
      ["--columns", "mood"], ["--columns", "address"], ["--columns", "@count"], ["--columns", "name.first"],
      ["--order", "company.workers.name"],
    ] {
      let outcome = try Outcome(["query", path, "Worker"] + arguments)
      #expect(outcome.code == .failed && !outcome.errors.isEmpty && outcome.lines.isEmpty, "\(arguments)")
    }
    try Store(at: directory.file("plain")).close()
    #expect(try Outcome("query", directory.file("plain"), "Worker").errors.contains("has no objects"))
  }

  @Test(
    "An invalid command line is rejected before the store is opened",
    arguments: [
      ["salary >"], ["name == %@"], ["--order", "a b c"], ["--order", ""], ["--columns", "name,"],
      ["--limit=-1"],
      ["--offset=-1"], ["--width", "0"], ["--format", "xml"],
    ])
  func unreadable(arguments: [String]) throws {
    let error = #expect(throws: (any Error).self) {
      try Outcome(["query", directory.file("none"), "Worker"] + arguments)
    }
    #expect(PerdureCommand.exitCode(for: try #require(error)) == .validationFailure)
  }

  @Test("A query runs while a writer has the store open, and changes no file of the store")
  func readOnly() throws {
    let container = try PersistentContainer(
      name: "Staff", classes: [Staff.self, Worker.self, Company.self], at: path)
    try container.loadPersistentStores()
    let before = try filesOfStore(at: path)
    #expect(try query("Worker", "--columns", "name").lines.last == "3 objects")
    #expect(try filesOfStore(at: path) == before)
    try container.close()
  }

  @Test("Shell completion offers the entities of the store, or nothing without a store")
  func completion() {
    #expect(
      Set(EntityCompletion.names(for: ["perdure", "query", path, "W"])) == ["Staff", "Worker", "Company"])
    #expect(EntityCompletion.names(for: ["perdure", "dump", "--entity"]) == [])
    #expect(EntityCompletion.names(for: ["perdure", "query", directory.file("none")]) == [])
  }

  @Test("Results are printed before the last object is read")
  func streaming() throws {
    let inspection = try StoreInspection(at: path)
    var query = InspectionQuery(entity: "Worker")
    query.columns = ["name"]
    var names: [InspectedObject.Property] = []
    try inspection.results(of: query).forEach { values in
      names += values
      return names.count < 2
    }
    #expect(names == [.text("Ada"), .text("Bob")])
    var printed: [String] = []
    let console = Console(
      output: { printed.append($0) }, errors: { _ in }, terminal: .init(), now: { .zero })
    let columns = try inspection.results(of: query).columns
    var output = try QueryOutput(.table, columns, width: 40, console)
    for number in 1...500 { try output.add([.text("name \(number)")]) }
    #expect(printed.count == 501)
    try output.end()
    #expect(printed.count == 502 && printed.last == "500 objects")
  }
}
