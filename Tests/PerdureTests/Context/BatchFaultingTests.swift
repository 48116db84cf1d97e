import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Batch faulting: the objects of a fetch, and their related objects")
struct BatchFaultingTests {
  private static let count = 200
  private static let blocks = (count + SiblingGroup.blockCount - 1) / SiblingGroup.blockCount

  /// Creates workers, each with its own company or all with a shared company.
  private func staff(shared: Bool = false) throws -> PersistentContainer {
    let container = try Staff.container()
    let context = container.newContext()
    let boss = context.company("Shared")
    for number in 0..<Self.count {
      let worker = context.worker("w\(number)")
      worker.company = shared ? boss : context.company("c\(number)")
    }
    try context.save()
    return container
  }

  /// Creates companies, each with some workers.
  private func companies(workers: Int) throws -> PersistentContainer {
    let container = try Staff.container()
    let context = container.newContext()
    for number in 0..<Self.count {
      let company = context.company("c\(number)")
      for place in 0..<workers { context.worker("w\(number)-\(place)").company = company }
    }
    try context.save()
    return container
  }

  private func workers(
    _ context: ManagedObjectContext, _ change: (inout FetchRequest<Employee>) -> Void = { _ in }
  ) throws -> [Employee] {
    var request = FetchRequest<Employee>()
    change(&request)
    return try context.fetch(request)
  }

  private var names: [String] { (0..<Self.count).map { "c\($0)" }.sorted() }

  @Test("Reading the to-one objects of fetched objects costs at most one request for each block, plus one")
  func toOne() throws {
    let context = try staff().newContext()
    let workers = try workers(context)
    let before = context.statistics
    #expect(workers.compactMap(\.company?.name).sorted() == names)
    let asked = context.statistics.since(before)
    #expect(asked.rowRequestCount <= Self.blocks + 1 && asked.rowCount == Self.count)
    #expect(asked.relationshipRequestCount == 0)
  }

  @Test(
    "Reading to-one objects in any order costs at most one request for each block, plus one",
    arguments: [0, 1, 2])
  func toOneLater(order: Int) throws {
    let context = try staff().newContext()
    var workers = try workers(context)
    var random = SeededGenerator(seed: SeededGenerator.seedFromEnvironment())
    if order == 1 { workers.shuffle(using: &random) }
    var found: [Company] = workers.compactMap(\.company)
    if order == 2 { found.shuffle(using: &random) }
    #expect(context.statistics.rowRequestCount == 0)
    #expect(found.map(\.name).sorted() == names)
    #expect(context.statistics.rowRequestCount <= Self.blocks + 1)
  }

  @Test(
    "A shared to-one object costs at most one request for each block, plus one, even if it is released in between"
  )
  func shared() throws {
    let context = try staff(shared: true).newContext()
    let workers = try workers(context)
    let before = context.statistics
    for worker in workers { #expect(worker.company?.name == "Shared") }
    #expect(context.statistics.since(before).rowRequestCount <= Self.blocks + 1)
    withExtendedLifetime(workers) { #expect(context.registeredObjects.count == Self.count) }
  }

  @Test("Checking whether a to-one object exists reads no row, and causes no second read")
  func askedFirst() throws {
    let context = try staff(shared: true).newContext()
    let workers = try workers(context)
    let before = context.statistics
    for worker in workers where worker.company != nil { #expect(worker.company?.name == "Shared") }
    #expect(context.statistics.since(before).rowRequestCount <= Self.blocks + 1)
  }

  @Test("To-many relationships of fetched objects, and the rows of their members, are read in blocks")
  func toMany() throws {
    let context = try companies(workers: 3).newContext()
    let companies = try context.fetch(FetchRequest<Company>())
    let before = context.statistics
    var found = 0
    for company in companies { for worker in company.workers where worker.name.hasPrefix("w") { found += 1 } }
    let asked = context.statistics.since(before)
    #expect(found == 3 * Self.count)
    #expect(asked.relationshipRequestCount <= Self.blocks + 1)
    // Each block of companies may end with a partial block of workers. The workers of the first
    // company are read separately.
    #expect(asked.rowRequestCount <= (3 * Self.count + 63) / 64 + Self.blocks + 1)
  }

  @Test("One-to-one relationships without a column cost at most one index lookup for each block, plus one")
  func inverseToOne() throws {
    let container = try staff()
    let writer = container.newContext()
    for worker in try workers(writer) { worker.leads = worker.company }
    try writer.save()
    let context = container.newContext()
    let workers = try workers(context)
    let before = context.statistics
    #expect(workers.compactMap(\.leads?.name).sorted() == names)
    let asked = context.statistics.since(before)
    #expect(asked.relationshipRequestCount <= Self.blocks + 1)
    #expect(asked.rowRequestCount <= Self.blocks + 1)
  }

  @Test("Relationships of related objects are also read in blocks")
  func chains() throws {
    let container = try staff()
    let writer = container.newContext()
    let project = Project(context: writer)
    for (number, worker) in try workers(writer).enumerated() {
      let mentor = writer.worker("m\(number)")
      mentor.company = writer.company("mc\(number)")
      worker.mentor = mentor
      if number < 3 { project.members.insert(worker) }
    }
    try writer.save()
    let context = container.newContext()
    let workers = try workers(context) { $0.predicate = try? FetchPredicate(format: "mentor != nil") }
    #expect(workers.count == Self.count)
    let before = context.statistics
    let found = workers.compactMap { $0.mentor?.company?.name }
    #expect(Set(found) == Set((0..<Self.count).map { "mc\($0)" }))
    #expect(context.statistics.since(before).rowRequestCount <= 2 * Self.blocks + 2)
  }

  @Test(
    "Faults of one fetch fire together, in batches of fetchBatchSize, or of the default size if it is 0",
    arguments: [0, 7, 500])
  func faults(batch: Int) throws {
    let context = try staff().newContext()
    let workers = try workers(context) {
      $0.includesPropertyValues = batch != 0
      $0.fetchBatchSize = batch
    }
    #expect(workers.allSatisfy { $0.isFault })
    #expect(Set(workers.map(\.name)).count == Self.count)
    let size = batch == 0 ? SiblingGroup.blockCount : batch
    #expect(context.statistics.rowRequestCount == (Self.count + size - 1) / size)
    #expect(context.statistics.rowCount == Self.count && context.statistics.fetchRequestCount == 1)
  }

  @Test("A request with returnsObjectsAsFaults set to false returns loaded objects")
  func realised() throws {
    let context = try staff().newContext()
    let workers = try workers(context) {
      $0.includesPropertyValues = false
      $0.returnsObjectsAsFaults = false
    }
    #expect(workers.allSatisfy { !$0.isFault })
    #expect(context.statistics.rowRequestCount == Self.blocks)
  }

  @Test("Unsaved changes take precedence over data that was read for siblings")
  func changes() throws {
    let container = try companies(workers: 2)
    let context = container.newContext()
    let companies = try context.fetch(FetchRequest<Company>())
    _ = companies[0].workers.map(\.name)
    _ = companies[1].workers.map(\.name)
    let moved = try #require(Array(companies[2].workers).first)
    moved.company = companies[3]
    #expect(Array(companies[2].workers).count == 1 && companies[2].workers.count == 1)
    #expect(Set(companies[3].workers).contains(moved) && companies[3].workers.count == 3)
    let workers = try workers(context)
    _ = workers[0].company?.name
    #expect(moved.company == companies[3])
    moved.company = nil
    #expect(moved.company == nil && companies[3].workers.count == 2)
    context.rollback()
    #expect(moved.company == companies[2] && companies[2].workers.count == 2)
  }

  @Test("Data cached for siblings is not shown after the context has advanced")
  func movingOn() throws {
    let container = try companies(workers: 2)
    let (context, other) = (container.newContext(), container.newContext())
    let companies = try context.fetch(FetchRequest<Company>())
    for company in companies { #expect(company.workers.map(\.name).count == 2) }
    for company in try other.fetch(FetchRequest<Company>()) {
      let worker = try #require(Array(company.workers).first)
      worker.company = nil
      worker.name = "gone"
    }
    try other.save()
    #expect(companies.allSatisfy { Array($0.workers).count == 2 })
    context.refreshAllObjects()
    for company in companies { #expect(company.workers.map(\.name).count { $0 != "gone" } == 1) }
  }

  @Test("The cache of siblings is freed with the last sibling")
  func memory() throws {
    let context = try staff(shared: true).newContext()
    do {
      let workers = try workers(context)
      for worker in workers { _ = worker.company?.name }
      withExtendedLifetime(workers) { #expect(context.core.registry.memory.pointee.blockCount > Self.count) }
    }
    #expect(context.registeredObjects.isEmpty && context.core.registry.memory.pointee.blockCount == 0)
  }

  @Test("A reset drops the data cached for siblings")
  func reset() throws {
    let context = try staff().newContext()
    let workers = try workers(context)
    let company = try #require(workers[0].company)
    context.reset()
    #expect(company.managedObjectContext == nil)
    #expect(try self.workers(context).compactMap(\.company?.name).sorted() == names)
  }
}
