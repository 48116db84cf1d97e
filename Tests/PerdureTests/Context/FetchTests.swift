import Perdure
import PerdurePredicates
import Testing

@Suite("Fetching in a context")
struct FetchTests {
  private func names(
    _ context: ManagedObjectContext, _ query: (EntityRef<Employee>) -> FetchPredicate
  ) throws -> [String] {
    var request = FetchRequest<Employee>(where: query)
    request.sortDescriptors = [FetchOrder("name")]
    return try context.fetch(request).map(\.name)
  }

  @Test("A fetch returns the registered instance of each object")
  func uniquing() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = context.worker("A")
    try context.save()
    #expect(try context.fetch(Employee.fetchRequest()).first === worker)
    let other = container.newContext()
    let fetched = try #require(try other.fetch(Employee.fetchRequest()).first)
    #expect(fetched !== worker && fetched.objectID == worker.objectID)
    #expect(other.registeredObject(for: worker.objectID) === fetched)
    #expect(other.object(with: worker.objectID) === fetched)
    #expect(fetched.name == "A")
  }

  @Test("A fetch includes unsaved insertions, changes, links and deletions")
  func overlay() throws {
    let context = try Staff.context()
    let company = context.company("C")
    let workers = (0..<4).map { context.worker("w\($0)") }
    for worker in workers { worker.salary = 10 }
    try context.save()
    workers[0].salary = 20
    workers[1].company = company
    context.delete(workers[2])
    let new = context.worker("new")
    new.salary = 10
    #expect(try names(context) { $0.salary == 10 } == ["new", "w1", "w3"])
    #expect(try names(context) { $0.salary == 20 } == ["w0"])
    #expect(try names(context) { $0.company.name == "C" } == ["w1"])
    let counted = FetchRequest<Company> { $0.workerCount == 1 }
    #expect(try context.count(for: counted) == 1)
    var request = FetchRequest<Employee>()
    request.sortDescriptors = [FetchOrder("name", ascending: false)]
    request.fetchOffset = 1
    request.fetchLimit = 2
    #expect(try context.fetch(request).map(\.name) == ["w1", "w0"])
    request.includesPendingChanges = false
    #expect(try context.fetch(request).map(\.objectID) == [workers[2].objectID, workers[1].objectID])
    try context.save()
    #expect(try names(context) { $0.salary == 10 } == ["new", "w1", "w3"])
    #expect(try context.count(for: Employee.fetchRequest()) == 4)
    #expect(try context.count(for: counted) == 1)
  }

  @Test("A fetch of an abstract parent returns objects of its subentities in their classes")
  func subentities() throws {
    let container = try Staff.container()
    let context = container.newContext()
    _ = (context.company("C"), context.worker("W"))
    try context.save()
    let parties = try container.newContext().fetch(Party.fetchRequest())
    #expect(Set(parties.map { $0.entity.name }) == ["Company", "Employee"])
    #expect(parties.contains { $0 is Company } && parties.contains { $0 is Employee })
    var named = FetchRequest<ManagedObject>(entityName: "Party")
    named.predicate = try FetchPredicate(format: "name == %@", "W")
    #expect(try container.newContext().fetch(named).map { $0["name"] as? String } == ["W"])
  }

  @Test("A predicate from a format string compares objects and ids")
  func objects() throws {
    let context = try Staff.context()
    let (company, worker) = (context.company("C"), context.worker("W"))
    worker.company = company
    try context.save()
    var request = FetchRequest<Employee>()
    request.predicate = try FetchPredicate(format: "company == %@", company)
    #expect(try context.fetch(request) == [worker])
    request.predicate = try FetchPredicate(format: "SELF == %@", worker.objectID)
    #expect(try context.fetchIDs(request) == [worker.objectID])
    #expect(try !context.explain(request).isEmpty)
  }

  @Test("A fetch first applies unsaved deletions with their delete rules")
  func pendingDelete() throws {
    let context = try Staff.context()
    let (company, worker) = (context.company("C"), context.worker("W"))
    worker.company = company
    try context.save()
    context.delete(company)
    #expect(try context.fetch(Company.fetchRequest()).isEmpty)
    #expect(try names(context) { $0.company == nil } == ["W"])
  }
}
