import Perdure
import PerdureModel
import Testing

@Suite("Deletion plans, and the rows that deletions and to-many sets read")
struct DeletionPlanTests {
  /// A container whose store counts its reads.
  private func counted() throws -> (container: PersistentContainer, counts: ReadCounts) {
    let counts = ReadCounts()
    let container = PersistentContainer(
      name: "Staff", model: try ManagedObjectModel(Staff.entities), classes: Staff.classes,
      description: .inMemory,
      factory: StoreFactory { CountingStore(try StoreKind.current.factory.open($0, $1), counts) })
    try container.loadPersistentStores()
    return (container, counts)
  }

  @Test(
    "A plan lists requested and cascaded deletions, nullified references and denials, and changes nothing"
  )
  func plan() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (company, worker) = (context.company("C"), context.worker("W"))
    let (department, part) = (Department(context: context), Department(context: context))
    worker.company = company
    company.chief = worker
    company.departments.insert(department)
    part.parent = department
    let contract = Contract(context: context)
    contract.company = company
    try context.save()
    let plan = try context.plan(delete: company)
    #expect(!context.hasChanges)
    #expect(plan.requested == [company.objectID])
    #expect(plan.cascaded.map(\.owner) == [company.objectID, department.objectID])
    #expect(plan.cascaded.map(\.property) == ["departments", "children"])
    #expect(plan.deletedObjectIDs == [company, department, part].map(\.objectID))
    #expect(Set(plan.nullified.map(\.property)) == ["company", "leads"])
    #expect(Set(plan.nullified.map(\.owner)) == [worker.objectID])
    #expect(plan.isDenied && plan.denied.map(\.objectID) == [contract.objectID])
    #expect(plan.leftBehind.isEmpty)
    #expect(plan.description == "deletes 1 and 2 by cascades, nullifies 2, leaves 0 behind, denied by 1")
    #expect(try !context.plan(delete: [company, contract]).isDenied)
    context.delete(contract)
    #expect(try !context.plan(delete: [company]).isDenied)
  }

  @Test("A plan includes references without an inverse, and references that noAction keeps")
  func oneWay() throws {
    let context = try Staff.context()
    let workers = ["a", "b", "c"].map { context.worker($0) }
    let (project, address) = (Project(context: context), Address(context: context))
    workers[0].mentor = workers[2]
    workers[0].bookmarks.insert(project)
    workers[0].address = address
    workers[1].mentor = workers[2]
    try context.save()
    workers[1].mentor = nil
    workers[1].bookmarks.insert(project)
    workers[1].address = address
    let plan = try context.plan(delete: [workers[2], project, address] as [ManagedObject])
    #expect(
      Set(plan.nullified.map { "\($0.owner.uri) \($0.property)" }) == [
        "\(workers[0].objectID.uri) mentor", "\(workers[0].objectID.uri) bookmarks",
        "\(workers[1].objectID.uri) bookmarks",
      ])
    #expect(Set(plan.leftBehind.map(\.owner)) == [workers[0].objectID, workers[1].objectID])
    #expect(plan.leftBehind.allSatisfy { $0.property == "address" && $0.objectID == address.objectID })
    #expect(plan.cascaded.isEmpty && !plan.isDenied)
  }

  @Test("A plan omits absent or deleted objects, and contains no object twice")
  func nothing() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (first, second) = (context.company("1"), context.company("2"))
    try context.save()
    let other = container.newContext()
    other.delete(try other.same(first))
    try other.save()
    context.refreshAllObjects()
    #expect(try context.plan(delete: [first, second, second]).requested == [second.objectID])
    context.delete(second)
    #expect(try context.plan(delete: second).deletedObjectIDs.isEmpty)
  }

  @Test("A cascade and its plan create no objects, and read only the rows that will be deleted")
  func counts() throws {
    let (container, counts) = try counted()
    let setup = container.newContext()
    let (company, other) = (setup.company("C"), setup.company("D"))
    let departments = (0..<120).map { number in
      let department = Department(context: setup)
      department.company = number % 3 == 0 ? company : number % 3 == 1 ? other : nil
      return department
    }
    for (number, department) in departments.enumerated() {
      department.parent = departments[(number + 1) % departments.count]
    }
    let workers = (0..<30).map { setup.worker("\($0)") }
    company.workers.insert(contentsOf: workers)
    try setup.save()

    let context = container.newContext()
    let asked = try context.same(company)
    var before = (rows: counts.rows, asked: context.statistics.uninstantiatedRowCount)
    let plan = try context.plan(delete: asked)
    #expect(plan.deletedObjectIDs.count == 121 && plan.nullified.count == 30 + 40)
    #expect(counts.rows - before.rows <= plan.deletedObjectIDs.count)
    #expect(context.statistics.uninstantiatedRowCount - before.asked == counts.rows - before.rows)
    #expect(context.registeredObjects == [asked])

    before.rows = counts.rows
    context.delete(asked)
    context.processPendingChanges()
    #expect(counts.rows - before.rows <= plan.deletedObjectIDs.count)
    #expect(context.registeredObjects == [asked])
    // The save also writes the owners of removed references, so it reads and copies their rows.
    before.rows = counts.rows
    try context.save()
    #expect(counts.rows - before.rows <= 2 * workers.count)
    #expect(try container.newContext().count(for: FetchRequest<Department>()) == 0)
    try expectWhole(container)
  }

  @Test("Counting, testing and removing members of a to-many set reads no row")
  func sets() throws {
    let (container, counts) = try counted()
    let setup = container.newContext()
    let (company, project) = (setup.company("C"), Project(context: setup))
    let workers = (0..<200).map { setup.worker("\($0)") }
    company.workers.insert(contentsOf: workers)
    for worker in workers { worker.bookmarks.insert(project) }
    workers[0].friends.insert(contentsOf: workers)
    try setup.save()
    let context = container.newContext()
    let set = try context.same(company).workers
    let friends = try context.same(workers[0]).friends
    let (rows, entries) = (counts.rows, counts.entries)
    #expect(set.count == 200 && !set.isEmpty && friends.count == 200)
    for worker in workers { #expect(set.contains(worker.objectID) && friends.contains(worker.objectID)) }
    #expect(set.contains(workers[7]) && !set.contains(company.objectID) && !set.contains(project.objectID))
    #expect(counts.entries - entries <= 401, "one lookup for each call")
    #expect(set.objectIDs.count == 200)
    #expect(context.registeredObjects.count == 2 && counts.rows == rows)
    set.remove(contentsOf: workers[..<50])
    #expect(set.count == 150 && context.registeredObjects.count == 2 && counts.rows == rows)
    try context.save()
    try expectWhole(container)
  }

  @Test("Batches return every object once, and keep at most one batch in memory")
  func batches() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let company = setup.company("C")
    for number in 0..<205 { setup.worker("\(number)").company = company }
    try setup.save()
    let context = container.newContext()
    let copy = try context.same(company)
    var names: Set<String> = []
    var sizes: [Int] = []
    for batch in copy.workers.batches(of: 50) {
      sizes.append(batch.count)
      for worker in batch { names.insert(worker.name) }
      #expect(context.registeredObjects.count <= 51)
    }
    #expect(sizes == [50, 50, 50, 50, 5] && names.count == 205)
    #expect(context.statistics.rowRequestCount <= 1 + (205 + 63) / 64)
    #expect(Array(setup.company("D").workers.batches(of: 3)).isEmpty)
  }
}
