import Perdure
import PerdureFileIO
import PerdureModel
import Testing

@Suite("The log of fetches and saves")
struct ContextLogTests {
  private final class Book: Sendable {
    private let entries = Guarded<[ContextLogEntry]>([])
    func add(_ entry: ContextLogEntry) { entries.withLock { $0.append(entry) } }
    func take() -> [ContextLogEntry] {
      entries.withLock { entries in
        defer { entries = [] }
        return entries
      }
    }
  }

  @Test("The log has the subject, result, duration and requests of each operation")
  func entries() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let book = Book()
    container.log { book.add($0) }
    #expect(book.take().allSatisfy { $0.kind == .warning })
    for number in 0..<3 { context.worker("w\(number)") }
    try context.save()
    let saved = try #require(book.take().first)
    #expect(saved.kind == .save && saved.objectCount == 3 && saved.failure == nil)
    #expect(saved.subject == "3 inserted, 0 updated, 0 deleted" && saved.requests.commitRequestCount == 1)
    #expect(saved.duration > .zero)
    var request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "name == 'w1'"))
    request.fetchLimit = 5
    _ = try context.fetch(request)
    _ = try context.fetchIDs(request)
    _ = try context.count(for: request)
    let fetched = book.take()
    #expect(fetched.map(\.kind) == [.fetch, .fetchIDs, .count] && fetched.allSatisfy { $0.objectCount == 1 })
    #expect(
      fetched.allSatisfy { $0.subject.hasPrefix("Employee where ") && $0.requests.fetchRequestCount == 1 })
    #expect(fetched[0].subject.hasSuffix("at most 5") && "\(fetched[0])".contains("Employee"))
  }

  @Test("New objects that a save merges into other objects do not count as inserted")
  func upserts() throws {
    let container = try Staff.container()
    let context = container.newContext()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let book = Book()
    context.worker("w", email: "e")
    try context.save()
    container.log { book.add($0) }
    // Discards the warnings of the model.
    _ = book.take()
    context.worker("v", email: "e")
    context.worker("u", email: "f")
    try context.save()
    #expect(book.take().map(\.subject) == ["1 inserted, 1 merged into others, 0 updated, 0 deleted"])
    context.worker("t", email: "g")
    try context.save()
    #expect(book.take().map(\.subject) == ["1 inserted, 0 updated, 0 deleted"])
  }

  @Test("The log reports failures, and has no further lines after it is switched off")
  func failures() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let book = Book()
    container.log { book.add($0) }
    #expect(book.take().allSatisfy { $0.kind == .warning })
    let worker = context.worker("w", email: "e")
    try context.save()
    context.worker("v", email: "e")
    #expect(throws: PerdureError.self) { try context.save() }
    var request = FetchRequest<Employee>()
    request.fetchLimit = -1
    #expect(throws: FetchError.self) { try context.fetch(request) }
    let entries = book.take().dropFirst()
    #expect(entries.map(\.kind) == [.save, .fetch] && entries.allSatisfy { $0.failure != nil })
    #expect(entries.allSatisfy { $0.objectCount == 0 })
    container.log(nil)
    context.rollback()
    worker.name = "x"
    try context.save()
    #expect(book.take().isEmpty)
  }

  @Test("The warnings of a model are logged once, to the first log of its containers")
  func warnings() throws {
    let company = EntityDescription(
      "Company", properties: [.string("name"), .toMany("workers", "Worker", inverse: nil)])
    let worker = EntityDescription("Worker", properties: [.string("name")])
    let model = try ManagedObjectModel([company, worker])
    #expect(model.warnings.map(\.rule) == [.noInverse])
    let (first, second, book) = (container(of: model), container(of: model), Book())
    first.log(nil)
    first.log { book.add($0) }
    let entries = book.take()
    #expect(entries.map(\.kind) == [.warning] && entries.first?.failure == nil)
    #expect(entries.first?.subject == "\(model.warnings[0])")
    #expect("\(entries[0])".hasPrefix("warning Company.workers: The relationship has no inverse."))
    first.log { book.add($0) }
    second.log { book.add($0) }
    #expect(book.take().isEmpty)
    let other = container(of: try ManagedObjectModel([company, worker]))
    other.log { book.add($0) }
    #expect(book.take().map(\.kind) == [.warning])
  }

  private func container(of model: ManagedObjectModel) -> PersistentContainer {
    PersistentContainer(name: "Warned", model: model, description: .inMemory)
  }
}
