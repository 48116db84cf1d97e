import Perdure
import Testing

@Suite("Relationships")
struct RelationshipTests {
  @Test("A change at either side of a one-to-many relationship is visible on both sides at once")
  func oneToMany() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (first, second) = (context.company("first"), context.company("second"))
    let (ada, ben) = (context.worker("Ada"), context.worker("Ben"))
    ada.company = first
    first.workers.insert(ben)
    #expect(ben.company === first)
    #expect(Set(first.workers) == [ada, ben])
    #expect(first.workerCount == 2)
    second.workers.insert(ada)
    #expect(ada.company === second)
    #expect(Array(first.workers) == [ben])
    try context.save()
    #expect(first.workerCount == 1)
    first.workers.remove(ben)
    #expect(ben.company == nil)
    #expect(first.workers.isEmpty && first.workerCount == 0)
    ada.company = first
    #expect(second.workerCount == 0)
    try context.save()
    let copy = try container.newContext().same(first)
    #expect(copy.workers.map(\.name) == ["Ada"])
    #expect(copy.workerCount == 1)
  }

  @Test("A fault's to-many relationship shows new links without reading a row")
  func fault() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let company = context.company("C")
    try context.save()
    let other = container.newContext()
    let fault = try #require(other.object(with: company.objectID) as? Company)
    let worker = other.worker("W")
    worker.company = fault
    #expect(fault.isFault)
    #expect(Array(fault.workers) == [worker])
    #expect(fault.workerCount == 1)
    #expect(fault.isUpdated)
    #expect(fault.isFault)
    try other.save()
    #expect(!fault.hasChanges)
  }

  @Test("Changing a one-to-one relationship clears the references of both former partners")
  func oneToOne() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (first, second) = (context.company("first"), context.company("second"))
    let (ada, ben) = (context.worker("Ada"), context.worker("Ben"))
    first.chief = ada
    second.chief = ben
    #expect(ada.leads === first && ben.leads === second)
    try context.save()
    first.chief = ben
    #expect(ben.leads === first && first.chief === ben)
    #expect(second.chief == nil && ada.leads == nil)
    ada.leads = second
    #expect(second.chief === ada)
    try context.save()
    let other = container.newContext()
    #expect(try other.same(first).chief?.name == "Ben")
    #expect(try other.same(second).chief?.name == "Ada")
    #expect(try other.same(ben).leads?.name == "first")
    second.chief = nil
    #expect(ada.leads == nil)
    try context.save()
    #expect(second.chief == nil)
  }

  @Test("A one-to-one relationship that is its own inverse keeps pairs")
  func spouses() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let workers = ["a", "b", "c", "d"].map { context.worker($0) }
    workers[0].spouse = workers[1]
    workers[2].spouse = workers[3]
    #expect(workers[1].spouse === workers[0])
    try context.save()
    workers[0].spouse = workers[2]
    #expect(workers.map { $0.spouse?.name } == ["c", nil, "a", nil])
    try context.save()
    workers[1].spouse = workers[1]
    #expect(workers[1].spouse === workers[1])
    workers[1].spouse = nil
    #expect(workers[1].spouse == nil)
    try context.save()
    let other = container.newContext()
    #expect(try workers.map { try other.same($0).spouse?.name } == ["c", nil, "a", nil])
  }

  @Test("A many-to-many relationship is the same set of links from both sides")
  func manyToMany() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let projects = (0..<2).map { _ in Project(context: context) }
    let workers = ["a", "b", "c"].map { context.worker($0) }
    projects[0].members.insert(contentsOf: workers)
    workers[0].projects.insert(projects[1])
    #expect(projects[1].memberCount == 1)
    try context.save()
    #expect(Set(workers[0].projects) == Set(projects))
    #expect(projects[0].memberCount == 3)
    workers[0].projects.remove(projects[0])
    workers[0].projects.remove(projects[0])
    workers[1].projects.insert(projects[0])
    #expect(projects[0].memberCount == 2)
    #expect(!projects[0].members.contains(workers[0]) && projects[0].members.contains(workers[1]))
    try context.save()
    let other = container.newContext()
    #expect(Set(try other.same(projects[0]).members.map(\.name)) == ["b", "c"])
    #expect(try other.same(workers[0]).projects.map(\.objectID) == [projects[1].objectID])
    projects[0].members.replace(with: [workers[0]])
    #expect(Array(projects[0].members) == [workers[0]])
    #expect(workers[1].projects.isEmpty)
    projects[0].members.removeAll()
    try context.save()
    #expect(projects[0].members.isEmpty && workers[0].projects.count == 1)
  }

  @Test("A many-to-many relationship that is its own inverse is symmetric")
  func friends() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let workers = ["a", "b", "c"].map { context.worker($0) }
    workers[0].friends.insert(workers[1])
    workers[2].friends.insert(workers[0])
    workers[0].friends.insert(workers[0])
    #expect(Set(workers[0].friends) == Set(workers))
    try context.save()
    let other = container.newContext()
    #expect(Set(try other.same(workers[0]).friends.map(\.name)) == ["a", "b", "c"])
    #expect(try other.same(workers[1]).friends.map(\.name) == ["a"])
    workers[1].friends.remove(workers[0])
    workers[0].friends.remove(workers[0])
    #expect(workers[0].friends.map(\.name) == ["c"])
    try context.save()
    #expect(workers[0].friends.map(\.name) == ["c"])
    #expect(workers[1].friends.isEmpty)
  }

  @Test("A relationship to an abstract parent contains objects of its subentities")
  func abstractParent() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let address = Address(context: context)
    let (company, worker) = (context.company("C"), context.worker("W"))
    company.address = address
    address.residents.insert(worker)
    #expect(worker.address === address)
    try context.save()
    let copy = try container.newContext().same(address)
    #expect(Set(copy.residents.map(\.name)) == ["C", "W"])
    #expect(copy.residents.contains { $0 is Company } && copy.residents.contains { $0 is Employee })
  }

  @Test("One-way relationships are saved, and drop deleted objects")
  func oneWay() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (ada, ben, eve) = (context.worker("Ada"), context.worker("Ben"), context.worker("Eve"))
    let (first, second) = (Project(context: context), Project(context: context))
    ada.mentor = eve
    ada.bookmarks.insert(contentsOf: [first, second])
    try context.save()
    ben.mentor = eve
    ben.bookmarks.insert(first)
    context.delete(eve)
    context.delete(first)
    context.processPendingChanges()
    #expect(ada.mentor == nil && ben.mentor == nil)
    #expect(ben.bookmarks.isEmpty)
    try context.save()
    #expect(Array(ada.bookmarks) == [second])
    let other = container.newContext()
    #expect(try other.same(ada).mentor == nil)
    #expect(try other.same(ada).bookmarks.map(\.objectID) == [second.objectID])
  }

  @Test("Adding a link and removing it again leaves no change")
  func unchanged() throws {
    let context = try Staff.context()
    let (worker, project) = (context.worker("W"), Project(context: context))
    try context.save()
    worker.projects.insert(project)
    #expect(context.hasChanges)
    #expect(context.updatedObjects == [worker, project])
    worker.projects.remove(project)
    #expect(!context.hasChanges)
    #expect(!worker.isUpdated)
  }
}
