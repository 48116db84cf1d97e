import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Counts of the related objects of siblings")
struct SiblingCountTests {
  private static let ownerCount = 200
  private static let requestsMax = (ownerCount + SiblingGroup.blockCount - 1) / SiblingGroup.blockCount + 1

  private func fill(_ container: PersistentContainer) throws {
    let context = container.newContext()
    for number in 0..<Self.ownerCount {
      let company = context.company("c\(number)")
      for place in 0..<number % 5 { context.worker("w\(number)-\(place)").company = company }
    }
    try context.save()
  }

  private func companies(_ context: ManagedObjectContext) throws -> [Company] {
    var request = FetchRequest<Company>()
    request.sortDescriptors = [FetchOrder("name")]
    return try context.fetch(request)
  }

  private func expected(_ company: Company) -> Int { Int(company.name.dropFirst()).map { $0 % 5 } ?? -1 }

  @Test(
    "Counting the related objects of n siblings takes at most n / 64 + 2 requests",
    arguments: StoreKind.allCases)
  func requests(_ kind: StoreKind) throws {
    let container = try Staff.container(kind)
    try fill(container)
    let context = container.newContext()
    let companies = try companies(context)
    let before = context.statistics
    for company in companies { #expect(company.workers.count == expected(company)) }
    let asked = context.statistics.since(before)
    #expect(asked.relationshipCountRequestCount <= Self.requestsMax)
    #expect(asked.relationshipRequestCount == 0 && asked.rowRequestCount == 0)
    for company in companies { #expect(company.workers.count == expected(company)) }
    #expect(context.statistics.since(before) == asked)
  }

  @Test("A store without capabilities receives at most n / 64 + 2 requests for these counts of n siblings")
  func naiveRequests() throws {
    let scene = try NaiveScene()
    try fill(scene.container)
    let context = scene.container.newContext()
    let companies = try companies(context)
    let before = scene.requests.total
    for company in companies { #expect(company.workers.count == expected(company)) }
    #expect(scene.requests.total - before <= Self.requestsMax)
  }

  @Test("Counting the related objects of one object takes at most two requests")
  func alone() throws {
    let container = try Staff.container(.engine)
    try fill(container)
    let context = container.newContext()
    let companies = try companies(context)
    let before = context.statistics
    #expect(companies[7].workers.count == expected(companies[7]))
    #expect(companies[7].workers.count == expected(companies[7]))
    #expect(context.statistics.since(before).relationshipCountRequestCount <= 2)
  }

  @Test("If a block's request fails, an object's count is requested; if this fails too, a save throws")
  func failures() throws {
    let scene = try NaiveScene()
    try fill(scene.container)
    let context = scene.container.newContext()
    let companies = try companies(context)
    #expect(companies[0].workers.count == expected(companies[0]))
    // The request for the block fails, and the request for the object succeeds.
    scene.requests.fail { $0 == 0 }
    #expect(companies[1].workers.count == expected(companies[1]))
    scene.requests.fail { _ in true }
    #expect(companies[2].workers.count == 0)
    scene.requests.succeed()
    #expect(throws: PerdureError.self) { try context.save() }
    context.rollback()
    #expect(companies[2].workers.count == expected(companies[2]))
  }

  @Test(
    "Counts equal the number of objects in an iteration, with unsaved changes of two contexts",
    arguments: StoreKind.allCases)
  func random(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("numbers of siblings, \(kind)")
    let container = try Staff.container(kind)
    try fill(container)
    let contexts = [container.newContext(), container.newContext()]
    for context in contexts { context.mergePolicy = .mergeByPropertyObjectTrump }
    for _ in 0..<40 {
      let context = random.pick(contexts)
      let companies = try companies(context)
      var workers = try context.fetch(FetchRequest<Employee>())
      for _ in 0..<3 {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: context.worker("new").company = random.pick(companies)
        case 1 where workers.count > 50:
          context.delete(workers.remove(at: Int.random(in: workers.indices, using: &random)))
        case 2: random.pick(workers).company = nil
        default: random.pick(workers).company = random.pick(companies)
        }
        let company = random.pick(companies)
        #expect(company.workers.count == company.workers.map { $0 }.count)
      }
      context.processPendingChanges()
      for company in companies {
        let count = company.workers.count
        #expect(count == company.workers.map { $0 }.count)
      }
      switch Int.random(in: 0..<3, using: &random) {
      case 0: try context.save()
      case 1: context.rollback()
      default: break
      }
    }
  }
}
