// Runs the examples of README.md. The lines between two marks, such as `// README 1` and `// end`,
// equal the code block with that number, without its imports. Change the document and this file
// together. Each example runs in its own process and folder, because its store has a relative path.

import Foundation
import Perdure
import PerdureLog
import PerdureTestSupport
import Testing

private func runGraphExample() async throws {
  // README 1
  @Entity final class Company: ManagedObject {
    @Attribute(.unique) var name: String
    @Relationship(inverse: "company", deleteRule: .cascade) var workers: ToMany<Worker>
  }
  @Entity final class Worker: ManagedObject {
    @Attribute(.indexed) var salary: Double
    @Relationship(inverse: "workers") var company: Company?
  }

  let container = try PersistentContainer(
    name: "Staff", classes: [Company.self, Worker.self], at: "Staff.perdure")
  try container.loadPersistentStores()
  let context = container.newContext()
  let acme = Company(context: context, name: "Acme")
  let ada = Worker(context: context, salary: 4200, company: acme)  // acme.workers now contains ada
  try context.save()  // atomic and durable
  let found = try context.fetch(Worker.self) { $0.salary > 4000 && $0.company.name == "Acme" }
  print(found.map(\.salary))
  // end

  // Not in README.md: further calls on the same store.
  var best = Worker.fetchRequest { $0.salary.in(5000..<9000) && $0.company != nil }
  best.sortDescriptors = [FetchOrder(\Worker.salary, ascending: false), FetchOrder("company.name")]
  best.fetchLimit = 10
  print(try context.explain(best))  // which index is used, and which objects are read

  let large = Company.fetchRequest { $0.workers.count > 100 || $0.workers.any { $0.salary > 9000 } }
  let format = try FetchPredicate(format: "company.name BEGINSWITH[cd] %@", "ac")
  let byName = FetchRequest<Worker>(predicate: format)
  print("counts:", try context.count(for: large), try context.count(for: byName))

  let id = acme.objectID  // an id can be sent to another isolation domain; an object cannot
  let salaries = try await container.performBackgroundTask { context in
    (try context.existingObject(with: id) as? Company)?.workers.map(\.salary) ?? []
  }
  print("workers:", salaries)

  do {
    Company(context: context).name = "Acme"
    try context.save()
  } catch {
    print(error)  // names Company.name, the value and both objects
    context.rollback()
  }
  context.delete(ada)  // acme.workers is empty after the next save or fetch
  try context.save()
  try container.close()  // the next run opens the store
}

private func runEngineExample() throws {
  // README 2
  let store = try Store(at: "Pages.perdure")
  let pages = try store.keyspace("pages", .bytes)
  try store.write { try $0.put(Array("<h1>".utf8), key: Array("/index".utf8), in: pages) }
  let page = try store.snapshot().value(key: Array("/index".utf8), in: pages)
  try store.close()
  // end
  print(String(decoding: page ?? [], as: UTF8.self))
}

@Suite("The examples of README.md")
struct ReadmeTests {
  @Test("The graph example finds the worker, and its second run throws because the name is in use")
  func graph() async throws {
    let directory = try TemporaryDirectory()
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      [path = directory.path as String] in
      #expect(FileManager.default.changeCurrentDirectoryPath(path))
      try await runGraphExample()
    }
    let printed = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    #expect(printed.contains("[4200.0]\n"))
    #expect(printed.contains("index on salary"), "the plan does not use the index on salary")
    #expect(printed.contains("counts: 0 1\nworkers: [4200.0]\n"))
    #expect(printed.contains("Company.name must be unique"))
    #expect(printed.contains(" has the same name \"Acme\" as x-perdure://"))
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      #expect(FileManager.default.changeCurrentDirectoryPath(path))
      let error = await #expect(throws: PerdureError.self) { try await runGraphExample() }
      #expect(error?.code == .constraintConflict)
    }
  }

  @Test("The engine example runs and reads the page")
  func engine() async throws {
    let directory = try TemporaryDirectory()
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      [path = directory.path as String] in
      #expect(FileManager.default.changeCurrentDirectoryPath(path))
      try runEngineExample()
    }
    let printed = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    #expect(printed.contains("<h1>\n"))
  }

  @Test("The code blocks of README.md equal the code in this file", arguments: [1, 2])
  func sameText(number: Int) throws {
    try DocumentedCode("README.md", in: #filePath).expectSame(number)
  }
}
