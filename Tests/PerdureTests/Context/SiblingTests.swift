import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Siblings: objects that one relationship leads to")
struct SiblingTests {
  private static let count = 200
  /// The number of row requests that reading all objects makes.
  private static let requestsMax = (count + SiblingGroup.blockCount - 1) / SiblingGroup.blockCount

  private func company(_ container: PersistentContainer, workers: Int = count) throws -> ManagedObjectID {
    let context = container.newContext()
    let company = context.company("C")
    for number in 0..<workers { context.worker("w\(number)").company = company }
    try context.save()
    return company.objectID
  }

  private func faults(_ context: ManagedObjectContext, _ id: ManagedObjectID) throws -> Company {
    try #require(context.object(with: id) as? Company)
  }

  private var names: [String] { (0..<Self.count).map { "w\($0)" }.sorted() }

  @Test("A loop that reads all siblings makes one request for each block")
  func loop() throws {
    let container = try Staff.container()
    let id = try company(container)
    let context = container.newContext()
    let company = try faults(context, id)
    var found: [String] = []
    for worker in company.workers { found.append(worker.name) }
    #expect(found.sorted() == names)
    #expect(context.statistics.rowRequestCount == Self.requestsMax)
    #expect(context.statistics.rowCount == Self.count)
    #expect(context.statistics.relationshipRequestCount == 1)
    #expect(context.registeredObjects == [company])
  }

  @Test("Reading siblings later, in any order, makes one request for each block", arguments: [0, 1, 2])
  func later(order: Int) throws {
    let container = try Staff.container()
    let id = try company(container)
    let context = container.newContext()
    var workers = Array(try faults(context, id).workers)
    #expect(workers.allSatisfy { $0.isFault })
    #expect(context.statistics.rowRequestCount == 0)
    if order == 1 { workers.reverse() }
    if order == 2 {
      var random = SeededGenerator(seed: SeededGenerator.seedFromEnvironment())
      workers.shuffle(using: &random)
    }
    #expect(workers.map(\.name).sorted() == names)
    #expect(context.statistics.rowRequestCount == Self.requestsMax)
  }

  @Test("Nested loops read siblings independently of each other")
  func nested() throws {
    let container = try Staff.container()
    let id = try company(container)
    let context = container.newContext()
    let company = try faults(context, id)
    var pairs = 0
    for worker in company.workers {
      for other in company.workers.prefix(70) where other.name <= worker.name { pairs += 1 }
    }
    let firsts = company.workers.prefix(70).map(\.name)
    #expect(pairs == names.reduce(0) { sum, name in sum + firsts.count { $0 <= name } })
  }

  @Test("Reading one object loads only its block")
  func one() throws {
    let container = try Staff.container()
    let id = try company(container)
    let context = container.newContext()
    let workers = Array(try faults(context, id).workers)
    _ = workers[70].salary
    #expect(workers[64..<128].allSatisfy { !$0.isFault })
    #expect(workers[..<64].allSatisfy { $0.isFault } && workers[128...].allSatisfy { $0.isFault })
  }

  @Test("Reading a property that is not in a fault's row does not read the row")
  func derived() throws {
    let container = try Staff.container()
    let id = try company(container, workers: 2)
    let context = container.newContext()
    let company = try faults(context, id)
    let worker = try #require(Array(company.workers).first)
    #expect(company.workerCount == 2 && worker.leads == nil)
    #expect(company.isFault && worker.isFault && context.statistics.rowRequestCount == 0)
  }

  @Test("Reading siblings keeps their unsaved changes")
  func changes() throws {
    let container = try Staff.container()
    let id = try company(container, workers: 10)
    let context = container.newContext()
    let workers = Array(try faults(context, id).workers)
    workers[3].name = "changed"
    workers[4].company = nil
    context.delete(workers[5])
    #expect(workers[0].name.hasPrefix("w"))
    #expect(workers[3].name == "changed" && workers[4].company == nil && workers[5].isDeleted)
    #expect(try faults(context, id).workers.count { $0.name == "changed" } == 1)
    try context.save()
    #expect(try faults(container.newContext(), id).workers.count == 8)
  }

  @Test("Rows that were read ahead are not shown after the context has advanced")
  func movingOn() throws {
    let container = try Staff.container()
    let id = try company(container, workers: 10)
    let context = container.newContext()
    let other = container.newContext()
    var seen: [String] = []
    for worker in try faults(context, id).workers {
      if seen.isEmpty {
        seen.append(worker.name)
        for copy in try faults(other, id).workers { copy.name = "new" }
        try other.save()
        context.rollback()
      } else {
        seen.append(worker.name)
      }
    }
    #expect(seen.count == 10 && seen.dropFirst().allSatisfy { $0 == "new" })
  }

  @Test("A sibling that another context has deleted reads as an object without values")
  func removed() throws {
    let container = try Staff.container()
    let id = try company(container, workers: 5)
    let context = container.newContext()
    let other = container.newContext()
    let workers = Array(try faults(context, id).workers)
    other.delete(try other.same(workers[2]))
    try other.save()
    context.refreshAllObjects()
    #expect(workers[0].name.hasPrefix("w") && workers[4].name.hasPrefix("w"))
    #expect(workers[2].name == "" && workers[2].isDeleted)
  }

  @Test("Siblings with long and short rows are read completely")
  func long() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let company = context.company("C")
    // No part of a name equals another part, so a value that is cut or mixed with others is found.
    let names = (0..<6).map { number in
      (0..<(number % 2 == 0 ? 3 : 1500 + number)).map { "\(number).\($0) " }.joined()
    }
    for name in names { context.worker(name).company = company }
    try context.save()
    let reader = container.newContext()
    let found = try faults(reader, company.objectID).workers.map(\.name)
    #expect(found.sorted() == names.sorted())
    #expect(reader.statistics.rowCount == 6)
  }

  @Test("An iterator and its objects can be used after the program has released the context")
  func outliving() throws {
    let container = try Staff.container()
    let id = try company(container)
    var walk = try faults(container.newContext(), id).workers.makeIterator()
    var names: [String] = []
    while let worker = walk.next() { names.append(worker.name) }
    #expect(names.sorted() == self.names)
  }

  @Test("A loop requests each block at most once, even if many other iterators are made meanwhile")
  func manyGroups() throws {
    let container = try Staff.container()
    let id = try company(container)
    let context = container.newContext()
    var walk = try faults(context, id).workers.makeIterator()
    var seen = 0
    while let worker = walk.next() {
      seen += worker.name.isEmpty ? 0 : 1
    }
    #expect(seen == Self.count && context.statistics.rowRequestCount == Self.requestsMax)
    let company = try faults(context, id)
    for worker in company.workers {
      seen += worker.name.isEmpty ? 0 : 1
      for _ in 0..<20 { _ = company.workers.makeIterator() }
    }
    #expect(seen == 2 * Self.count && context.statistics.rowRequestCount <= 2 * Self.requestsMax)
    context.reset()
    #expect(context.core.registry.memory.pointee.blockCount <= 2)
  }

  @Test("A released context is freed with its last object")
  func lifetime() throws {
    let container = try Staff.container()
    let id = try company(container)
    weak var core: ContextCore?
    var kept: [Employee] = []
    do {
      let context = container.newContext()
      core = context.core
      for worker in try faults(context, id).workers.prefix(3) { kept.append(worker) }
      context.reset()
    }
    #expect(core != nil && kept.allSatisfy { $0.managedObjectContext == nil })
    kept = []
    #expect(core == nil)
  }
}
