import PerdureFileIO
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Synchronization
import Testing

@testable import Perdure

private final class Changes: Sendable {
  let areOn = Atomic(false)
}

/// An extractor that creates other entries after `changes` is switched on.
private struct ChangingEntries: IndexExtractorFactory {
  let base: any IndexExtractorFactory
  let changes: Changes

  init(_ base: any IndexExtractorFactory, _ changes: Changes) {
    self.base = base
    self.changes = changes
  }

  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor {
    Extractor(base: try base.makeExtractor(parameters: parameters, in: store), changes: changes)
  }

  private struct Extractor: IndexExtractor {
    let base: any IndexExtractor
    let changes: Changes

    func extract(
      keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
      into entries: inout IndexEntries
    ) {
      if changes.areOn.load(ordering: .relaxed) {
        let digest: UInt64 = value.reduce(14_695_981_039_346_656_037) {
          ($0 ^ UInt64($1)) &* 1_099_511_628_211
        }
        entries.add(key: digest, reference: key.loadUnaligned(as: UInt64.self))
      } else {
        base.extract(keyspace: keyspace, key: key, value: value, into: &entries)
      }
    }
  }
}

/// Indexes that are stale, contain duplicates, or cannot be built at opening.
@Suite("A graph with unreliable indexes")
struct UnavailableIndexTests {
  private static let path = "/staff.perdure"
  private let fileSystem = SimulatedFileSystem()

  private func options() -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.blobThresholdBytes = 2048
    return options
  }

  private func container(
    extractors: @escaping @Sendable (any IndexExtractorFactory) -> any IndexExtractorFactory = { $0 }
  ) throws -> PersistentContainer {
    let options = options()
    let container = PersistentContainer(
      name: "Staff", model: try ManagedObjectModel(Staff.entities), classes: Staff.classes,
      description: .init(path: Self.path),
      factory: StoreFactory { _, model in
        try LogPersistentStore(at: Self.path, model: model, options: options, extractors: extractors)
      })
    try container.loadPersistentStores()
    return container
  }

  /// Creates twenty workers of one company, with emails and salaries from 0 to 19. The row of one
  /// worker has its own blob file.
  private func fill() throws {
    let container = try container()
    let context = container.newContext()
    let company = context.company("C")
    for number in 0..<20 {
      let worker = context.worker(number == 7 ? String(repeating: "n", count: 5000) : "w", email: "\(number)")
      (worker.salary, worker.company) = (Int64(number), company)
    }
    try context.save()
    try container.close()
  }

  private func inspection() throws -> StoreInspection {
    try StoreInspection(of: Self.path, options: options())
  }

  /// Opens the store like a program that does not know the graph. Such a program does not maintain
  /// the indexes.
  private func stranger(_ body: (Store, Keyspace) throws -> Void) throws {
    let number = try entityNumber()
    let store = try Store(at: Self.path, options: options())
    try body(store, try store.keyspace(LogKeyspaces.rowsName(number), .dense))
    try store.close()
  }

  private func entityNumber() throws -> UInt16 {
    let inspection = try inspection()
    defer { try? inspection.engine.close() }
    return try #require(inspection.schema.entity(named: "Employee")).number
  }

  // MARK: Stale

  @Test("Rebuilt indexes find the changes of a program that did not maintain the indexes")
  func stale() throws {
    try fill()
    try stranger { store, rows in
      let row = try #require(try store.snapshot().value(id: 3, in: rows))
      try store.write {
        // Removes worker 3, and overwrites worker 5 with the row of worker 3.
        try $0.remove(id: 3, in: rows)
        try $0.put(row, id: 5, in: rows)
      }
      try store.checkpoint()
    }
    let container = try container()
    let context = container.newContext()
    func emails(_ format: String) throws -> [String?] {
      let request = FetchRequest<Employee>(
        predicate: try FetchPredicate(format: format), sortDescriptors: [FetchOrder("salary")])
      #expect(try context.count(for: request) == context.fetch(request).count)
      return try context.fetch(request).map(\.email)
    }
    #expect(try emails("salary BETWEEN {1, 5}") == ["1", "2", "3", "5"])
    #expect(try emails("email == '4'") == [])
    #expect(try emails("email == '2' AND company.name == 'C'") == ["2"])
    #expect(try context.fetch(FetchRequest<Company>()).map(\.workers.count) == [19])
    try container.close()
    let inspection = try inspection()
    #expect(try inspection.engine.verify().findings.map(\.description) == [])
    #expect(try inspection.verifyGraph().findings.map(\.description) == [])
  }

  // MARK: Duplicates

  @Test(
    "Duplicates written by another program are reported with property, value and objects, and can be repaired"
  )
  func duplicates() throws {
    try fill()
    try stranger { store, rows in
      let row = try #require(try store.snapshot().value(id: 3, in: rows))
      try store.write { try $0.put(row, id: 5, in: rows) }
    }
    let found = try inspection()
    #expect(
      try found.verifyGraph().findings.map(\.description) == [
        "G4 at Employee.email: Employee/p3 and Employee/p5 have the same email \"2\""
      ])
    #expect(try found.engine.verify().findings.map(\.invariant) == [.unique])
    try found.engine.close()

    let container = try container()
    let context = container.newContext()
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "email == '2'"))
    let both = try context.fetch(request)
    #expect(both.count == 2)
    _ = context.worker("third", email: "2")
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .constraintConflict)
    context.rollback()
    both.last?.email = "free"
    try context.save()
    try container.close()
    let mended = try inspection()
    #expect(try mended.verifyGraph().isClean)
    #expect(try mended.engine.verify().isClean)
  }

  // MARK: Unavailable

  @Test("If a request needs an index that cannot be built, it throws the reason")
  func unavailable() throws {
    try fill()
    try damage()
    let container = try container()
    let context = container.newContext()
    let all = FetchRequest<Employee>()
    #expect(try context.count(for: all) == 20)
    for format in ["salary == 4", "email == '4'", "company.name == 'C'", "salary > 2 AND name == 'w'"] {
      let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: format))
      expectUnreadable { try context.fetch(request).count }
      expectUnreadable { try context.count(for: request) }
      // A plan can still be explained: it only names the entries that a fetch reads.
      #expect(try !context.explain(request).isEmpty)
    }
    let companies = FetchRequest<Company>(predicate: try FetchPredicate(format: "workers.@count == 20"))
    expectUnreadable { try context.count(for: companies) }
    expectUnreadable { try context.fetch(companies).count }
    try container.close()
    let inspection = try inspection()
    #expect(try !inspection.engine.verify().isClean)
    #expect(try !inspection.verifyGraph().isClean)
  }

  @Test("A save refuses objects whose uniqueness cannot be checked, and saves other objects")
  func uncheckableConstraints() throws {
    try fill()
    try damage()
    let container = try container()
    let context = container.newContext()
    _ = context.worker("twin", email: "4")
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .saveFailed)
    #expect((error?.cause as? StoreError)?.code == .indexUnavailable, "\(String(describing: error))")
    #expect("\(String(describing: error))".contains("Employee.email"))
    context.rollback()
    _ = context.company("D")
    try context.save()
  }

  @Test("While a unique index is unavailable, a save of its objects is refused, and other objects are saved")
  func lostUniqueness() throws {
    try fill()
    let changes = Changes()
    let container = try container { ChangingEntries($0, changes) }
    let context = container.newContext()
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "email == '3'"))
    let worker = try #require(try context.fetch(request).first)
    worker.salary = 100
    changes.areOn.store(true, ordering: .relaxed)
    expectRefused(context)
    context.rollback()
    _ = context.worker("twin", email: "4")
    expectRefused(context)
    context.rollback()
    _ = context.company("D")
    try context.save()
    try container.close()

    let again = try self.container()
    #expect(try again.newContext().count(for: FetchRequest<Employee>()) == 20)
    try again.close()
    #expect(try inspection().verifyGraph().findings.map(\.description) == [])
  }

  private func expectRefused(
    _ context: ManagedObjectContext, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: PerdureError.self, sourceLocation: sourceLocation) { try context.save() }
    #expect((error?.cause as? StoreError)?.code == .indexUnavailable, sourceLocation: sourceLocation)
  }

  /// Changes a byte of the row that has a blob file, and removes the index file, so that the
  /// indexes are rebuilt from the rows.
  private func damage() throws {
    let names = try fileSystem.contents(of: Self.path).map { "\(Self.path)/\($0)" }.sorted()
    for name in names where name.hasSuffix(".index") { try fileSystem.remove(name) }
    // The first blob file belongs to the model.
    let file = try fileSystem.open(try #require(names.last { $0.hasSuffix(".blob") }), .readWrite)
    let bytes = try file.read(100_000, at: 0)
    let place = bytes.count - 100
    try file.write([try #require(bytes.dropFirst(place).first) ^ 4], at: UInt64(place))
  }

  private func expectUnreadable(
    _ body: () throws -> Int, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: PerdureError.self, sourceLocation: sourceLocation) { _ = try body() }
    #expect(error?.code == .readFailed, sourceLocation: sourceLocation)
    #expect(error?.cause is StoreError, sourceLocation: sourceLocation)
  }
}
