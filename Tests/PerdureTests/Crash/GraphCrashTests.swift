import PerdureLog
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

/// Everything a store of a graph holds, for comparing.
private struct GraphContent: Equatable {
  var rows: [UInt64: [UInt8]] = [:]
  var links: Set<[UInt64]> = []

  init() {}

  init(_ store: LogPersistentStore) throws {
    let view = store.view()
    for case let entity? in store.schema.entities where entity.layouts != nil {
      try view.visitRows(entity: entity.number, descending: false) { reference, row in
        rows[reference.rawValue] = Array(row.bytes)
        return true
      }
    }
    for (position, definition) in store.schema.indexes.enumerated() {
      guard case .links(let property) = definition.kind else { continue }
      try view.visitEntries(StoreIndex(rawValue: position), .all, descending: false) { key, target in
        links.insert([
          UInt64(property), UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)), target.rawValue,
        ])
        return true
      }
    }
  }
}

private struct GraphViolation: Error, CustomStringConvertible {
  let description: String
}

/// A program that edits a graph at random, and remembers what every save left.
private final class GraphWorkload {
  private(set) var states: [UInt64: GraphContent] = [0: GraphContent()]
  private(set) var promised: [UInt64] = []
  private var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  static func open(_ fileSystem: SimulatedFileSystem) throws -> LogPersistentStore {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 16 << 10
    return try LogPersistentStore(
      at: "/staff.perdure", model: try ManagedObjectModel(Staff.entities), options: options)
  }

  /// - Parameter durability: What saves wait for; each counts as promised when it has returned.
  func run(
    on fileSystem: SimulatedFileSystem, _ marker: CrashMarker, saves: Int,
    durability: Durability = .powerLoss
  ) throws {
    let opened = try Self.open(fileSystem)
    note(opened)
    let factory = StoreFactory { _, _ in opened }
    let container = PersistentContainer(
      name: "staff", model: try ManagedObjectModel(Staff.entities), classes: Staff.classes,
      description: .init(path: "/staff.perdure", durability: durability), factory: factory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for _ in 0..<saves {
      for _ in 0..<Int.random(in: 1...4, using: &random) { try edit(context) }
      let isChanged = context.hasChanges
      do {
        try context.save()
        note(opened)
        guard isChanged else { continue }
        promised.append(opened.view().sequence)
        marker.acknowledge(promised.count)
      } catch {
        // A rule that the random edit broke: a denied delete, a name taken twice.
        context.rollback()
        note(opened)
      }
    }
    try container.close()
  }

  /// Ids are reserved by commits of their own: they change no row and no link.
  private func note(_ store: LogPersistentStore) {
    guard let content = try? GraphContent(store) else { return }
    let last = states.keys.max() ?? 0
    let now = store.view().sequence
    for sequence in last..<now where sequence > last { states[sequence] = states[last] }
    states[now] = content
  }

  private func edit(_ context: ManagedObjectContext) throws {
    let workers = try context.fetch(FetchRequest<Employee>())
    let companies = try context.fetch(FetchRequest<Company>())
    switch Int.random(in: 0..<9, using: &random) {
    case 0:
      let company = Company(context: context)
      company.name = "company \(Int.random(in: 0..<1_000_000, using: &random))"
    case 1, 2, 3:
      let worker = Employee(context: context)
      worker.name = "worker"
      worker.email = "\(Int.random(in: 0..<40, using: &random))"
      worker.company = companies.randomElement(using: &random)
    case 4:
      workers.randomElement(using: &random)?.company = companies.randomElement(using: &random)
    case 5:
      guard let one = workers.randomElement(using: &random), let other = workers.randomElement(using: &random)
      else { return }
      one.friends.insert(other)
    case 6:
      if let worker = workers.randomElement(using: &random) { context.delete(worker) }
    case 7:
      if let company = companies.randomElement(using: &random) { context.delete(company) }
    default:
      guard let company = companies.randomElement(using: &random) else { return }
      let department = Department(context: context)
      department.name = "department"
      department.company = company
    }
  }

  func verify(_ store: LogPersistentStore, acknowledged: Int) throws {
    let sequence = store.view().sequence
    let least = acknowledged == 0 ? 0 : promised[acknowledged - 1]
    guard sequence >= least else {
      throw GraphViolation(description: "save \(least) was promised, and the log ends at \(sequence)")
    }
    let content = try GraphContent(store)
    // A commit of the model, of a keyspace or of ids has the content of the save before it.
    let known = states.keys.filter { $0 <= sequence }.max() ?? 0
    guard content == states[known] else {
      throw GraphViolation(description: "the graph after commit \(sequence) is not what it was")
    }
    let engine = try store.store.verify()
    guard engine.isClean else { throw GraphViolation(description: "\(engine.findings)") }
    let graph = GraphVerification(store.view(), store.schema, store.model.model).run()
    guard graph.isClean else { throw GraphViolation(description: "\(graph.findings)") }
  }
}

@Suite("A graph after a power cut")
struct GraphCrashTests {
  @Test("Holds a prefix of its saves, whole, with all that was promised", arguments: 0..<3)
  func everyCrash(_ part: Int) throws {
    let seed = SeededGenerator.seedFromEnvironment() &+ UInt64(part)
    let workload = GraphWorkload(seed: seed)
    var explorer = CrashExplorer(seed: seed)
    explorer.sectorLength = 64
    explorer.imagesPerOperationMax = 24
    let report = try explorer.explore { fileSystem, marker in
      try workload.run(on: fileSystem, marker, saves: 60)
    } verify: { image, context in
      let store = try GraphWorkload.open(image.fileSystem())
      try workload.verify(store, acknowledged: context.acknowledged.count)
    }
    try report.check()
    print(report)
    #expect(report.distinctImageCount >= 700)
  }

  @Test("The check bites: saves that wait for no sync, and are promised all the same, are found out")
  func canary() throws {
    let seed = SeededGenerator.seedFromEnvironment()
    let workload = GraphWorkload(seed: seed)
    var explorer = CrashExplorer(seed: seed)
    explorer.imagesPerOperationMax = 8
    let report = try explorer.explore { fileSystem, marker in
      try workload.run(on: fileSystem, marker, saves: 10, durability: .relaxed)
    } verify: { image, context in
      let store = try GraphWorkload.open(image.fileSystem())
      try workload.verify(store, acknowledged: context.acknowledged.count)
    }
    let violation = #expect(throws: CrashViolation.self) { try report.check() }
    #expect(violation.map { "\($0)".contains("was promised") } == true, "\(report)")
  }

  @Test("The check bites: a graph that is not what a save left is found out", arguments: 0..<2)
  func wrongContent(_ part: Int) throws {
    let seed = SeededGenerator.seedFromEnvironment()
    let fileSystem = SimulatedFileSystem()
    let workload = GraphWorkload(seed: seed)
    try workload.run(on: fileSystem, fileSystem.marker, saves: 10)
    let store = try GraphWorkload.open(fileSystem)
    try workload.verify(store, acknowledged: workload.promised.count)
    let workers = try #require(store.schema.entity(named: "Employee")).number
    let rows = try store.store.keyspace(LogKeyspaces.rowsName(workers), .dense)
    // One row more or less than there was, which no save has put or removed.
    try store.store.write { transaction in
      var ids: [UInt64] = []
      try store.view().visitReferences(entity: workers, from: 0) {
        ids.append($0.id); return true
      }
      guard part == 0, let id = ids.first else { return try transaction.put([1, 2], id: 1 << 40, in: rows) }
      try transaction.remove(id: id, in: rows)
    }
    #expect(throws: GraphViolation.self) { try workload.verify(store, acknowledged: 0) }
    try store.close()
  }
}
