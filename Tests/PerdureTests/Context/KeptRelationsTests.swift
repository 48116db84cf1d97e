import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Relationships that objects cache")
struct KeptRelationsTests {
  private static let count = 100

  /// Returns a context with a company and its workers, each with two projects.
  private func scene() throws -> (ManagedObjectContext, Company) {
    let container = try Staff.container()
    let context = container.newContext()
    let company = context.company("c")
    for number in 0..<Self.count {
      let worker = context.worker("w\(number)")
      worker.company = company
      for place in 0..<2 {
        let project = Project(context: context)
        project.title = "p\(number)-\(place)"
        worker.projects.insert(project)
      }
    }
    try context.save()
    let other = container.newContext()
    return (other, try other.same(company))
  }

  /// Reads several times, so that all relationships that can be cached are cached.
  private func heldWorkers(_ company: Company) -> [Employee] {
    let workers = Array(company.workers)
    for _ in 0..<3 {
      #expect(company.workers.map { $0 } == workers)
      for worker in workers { #expect(worker.company === company && !worker.name.isEmpty) }
    }
    return workers
  }

  private var names: Set<String> { Set((0..<Self.count).map { "w\($0)" }) }

  @Test("Reading cached relationships makes no requests to the store")
  func asksNothing() throws {
    let (context, company) = try scene()
    let workers = heldWorkers(company)
    #expect(keptCount(context.core) == Self.count + 1)
    let before = context.statistics
    #expect(company.workers.map { $0 } == workers && company.workers.count == Self.count)
    #expect(workers.allSatisfy { $0.company === company })
    let asked = context.statistics.since(before)
    #expect(asked.relationshipRequestCount == 0 && asked.relationshipCountRequestCount == 0)
    #expect(asked.rowRequestCount == 0)
  }

  @Test("Setting an attribute to nil keeps the cache, and setting a relationship to nil clears it")
  func setToNil() throws {
    let (context, company) = try scene()
    let workers = heldWorkers(company)
    let count = keptCount(context.core)
    workers[3].email = nil
    #expect(keptCount(context.core) == count && keptMistakes(context.core).isEmpty)
    workers[3].company = nil
    #expect(keptCount(context.core) == 0)
    #expect(workers[3].company == nil && company.workers.count == Self.count - 1)
  }

  @Test("The cache does not retain objects, and a released object gets a new instance")
  func keepsNobody() throws {
    let (context, company) = try scene()
    var workers = heldWorkers(company)
    weak let first = workers.first
    workers.removeFirst()
    #expect(first == nil)
    #expect(keptMistakes(context.core).isEmpty)
    #expect(Set(company.workers.map(\.name)) == names)
    workers = []
    #expect(context.registeredObjects == [company])
    #expect(Set(company.workers.map(\.name)) == names)
  }

  @Test("An iteration visits the members that exist at its start", arguments: [0, 1, 57])
  func iteration(taken: Int) throws {
    let (context, company) = try scene()
    let workers = heldWorkers(company)
    var walk = company.workers.makeIterator()
    var seen: [Employee] = []
    while seen.count < taken, let worker = walk.next() { seen.append(worker) }
    company.workers.remove(workers[70])
    company.workers.insert(context.worker("new"))
    while let worker = walk.next() { seen.append(worker) }
    #expect(seen == workers)
    #expect(Set(company.workers.map(\.name)) == names.subtracting([workers[70].name]).union(["new"]))
  }

  @Test("An iteration continues after its objects are freed")
  func endingObjects() throws {
    let (context, company) = try scene()
    var workers = heldWorkers(company)
    var walk = company.workers.makeIterator()
    var first = walk.next()
    #expect(first === workers[0])
    first = nil
    workers = []
    context.refreshAllObjects()
    var seen = 1
    while let worker = walk.next() {
      #expect(names.contains(worker.name))
      seen += 1
    }
    #expect(seen == Self.count)
  }

  @Test(
    "Rows that a refresh has released are read together again, even by a running iteration",
    arguments: [false, true])
  func faults(isUnderWay: Bool) throws {
    let (context, company) = try scene()
    let workers = heldWorkers(company)
    var walk = company.workers.makeIterator()
    for _ in 0..<20 { _ = walk.next() }
    for worker in workers { context.refresh(worker, mergeChanges: false) }
    if !isUnderWay { walk = company.workers.makeIterator() }
    let before = context.statistics
    while let worker = walk.next() { #expect(names.contains(worker.name)) }
    #expect(context.statistics.since(before).rowRequestCount <= 2)
    withExtendedLifetime(workers) {}
  }

  @Test("Objects of a cached relationship are read together, even if their sibling groups are released")
  func siblings() throws {
    let (context, company) = try scene()
    let workers = heldWorkers(company)
    #expect(workers.count == Self.count)
    context.core.registry.siblingGroups.removeAll()
    let before = context.statistics
    var count = 0
    for worker in company.workers { count += worker.projects.count { !$0.title.isEmpty } }
    let asked = context.statistics.since(before)
    #expect(count == 2 * Self.count)
    // The first worker and its projects are requested separately.
    #expect(asked.relationshipRequestCount <= 4 && asked.rowRequestCount <= 8)
    withExtendedLifetime(workers) {}
  }

  @Test("Reading a fault's cached to-one object fires the fault")
  func ownerFault() throws {
    let (context, company) = try scene()
    let workers = heldWorkers(company)
    context.refresh(workers[3], mergeChanges: false)
    #expect(workers[3].isFault)
    #expect(workers[3].company === company)
    #expect(!workers[3].isFault)
  }
}
