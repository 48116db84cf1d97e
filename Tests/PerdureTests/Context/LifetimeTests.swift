import PerdureModel
import Testing

@testable import Perdure

@Suite("Lifetimes")
struct LifetimeTests {
  @Test("Released objects are freed, and so are their entries in the identity map")
  func freed() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    for number in 0..<500 { setup.worker("w\(number)").salary = Int64(number) }
    #expect(setup.registeredObjects.count == 500)
    try setup.save()
    #expect(setup.registeredObjects.isEmpty)
    let context = container.newContext()
    var workers = try context.fetch(Employee.fetchRequest())
    #expect(context.registeredObjects.count == 500)
    weak let watched = workers[7]
    workers.removeFirst(450)
    #expect(watched == nil)
    #expect(context.registeredObjects.count == 50)
    #expect(workers.allSatisfy { context.registeredObject(for: $0.objectID) === $0 })
  }

  @Test("A changed object is retained until the change is saved or rolled back")
  func changed() throws {
    let context = try Staff.context()
    let id = context.worker("W").objectID
    #expect(context.registeredObject(for: id) != nil)
    try context.save()
    #expect(context.registeredObject(for: id) == nil)
    try #require(try context.existingObject(with: id) as? Employee).salary = 5
    #expect((context.registeredObject(for: id) as? Employee)?.salary == 5)
    context.rollback()
    #expect(context.registeredObject(for: id) == nil)
  }

  @Test("Objects can be read after their context is released, and unsaved changes do not retain them")
  func released() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let worker = setup.worker("W")
    worker.company = setup.company("C")
    try setup.save()
    func load() throws -> Employee { try container.newContext().same(worker) }
    let orphan = try load()
    #expect(orphan.company?.name == "C")
    #expect(orphan.managedObjectContext == nil)
    func change() throws -> WeakWorker {
      let context = container.newContext()
      let changed = try context.same(worker)
      changed.salary = 7
      changed.company?.name = "D"
      return WeakWorker(changed)
    }
    let watched = try change()
    #expect(watched.worker == nil)
  }

  @Test("Links can be made and removed after the context is released")
  func changedAfterRelease() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let (worker, company) = (setup.worker("W"), setup.company("C"))
    try setup.save()
    func load() throws -> (Employee, Company) {
      let context = container.newContext()
      return (try context.same(worker), try context.same(company))
    }
    let (orphan, orphanage) = try load()
    orphanage.workers.insert(orphan)
    #expect(orphanage.workers.count == 1)
    orphanage.workers.remove(orphan)
    #expect(orphanage.overlay == nil && !orphanage.isUpdated)
    #expect(orphanage.workers.isEmpty && orphan.company == nil)
  }

  @Test("If a property is set back to its stored value, it then shows other contexts' saves")
  func setBack() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (worker, company) = (context.worker("W"), context.company("C"))
    worker.salary = 1
    try context.save()
    let other = container.newContext()
    worker.salary = 2
    worker.name = "changed"
    worker.company = company
    worker.company = nil
    worker.salary = 1
    let theirs = try other.same(worker)
    theirs.salary = 3
    theirs.company = try other.same(company)
    try other.save()
    context.refreshAllObjects()
    #expect(worker.salary == 3 && worker.company === company && worker.name == "changed")
    #expect(company.workers.contains(worker) && company.workerCount == 1)
    worker.name = "W"
    theirs.salary = 4
    try other.save()
    context.refreshAllObjects()
    #expect(worker.salary == 4 && !worker.isUpdated && !context.hasChanges)
  }

  @Test("A loaded row is readable after the view has advanced, and after the context is reset")
  func loadedRows() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let (worker, other) = (setup.worker("W"), setup.worker("X"))
    try setup.save()
    let context = container.newContext()
    let (same, changed) = (try context.same(worker), try context.same(other))
    #expect(same.name == "W" && changed.name == "X")
    other.name = "Y"
    try setup.save()
    context.rollback()
    #expect(!same.isFault && changed.isFault)
    #expect(same.name == "W" && changed.name == "Y")
    same.salary = 3
    other.name = "Z"
    try setup.save()
    context.reset()
    #expect(same.name == "W" && changed.name == "Y")
  }

  @Test("A deleted object's row is readable after the save")
  func deletedRow() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let worker = setup.worker("W")
    try setup.save()
    let context = container.newContext()
    let same = try context.same(worker)
    #expect(same.name == "W")
    context.delete(same)
    try context.save()
    #expect(same.name == "W" && same.managedObjectContext == nil)
  }

  private struct WeakWorker {
    weak var worker: Employee?
    init(_ worker: Employee) { self.worker = worker }
  }

  @Test("A fault fires when an attribute is read, and not when its id, entity or state is read")
  func faults() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let worker = setup.worker("W")
    try setup.save()
    let context = container.newContext()
    let fault = try #require(context.object(with: worker.objectID) as? Employee)
    #expect(fault.isFault && fault.objectID == worker.objectID && fault.entity.name == "Employee")
    #expect(!fault.hasChanges && fault.hashValue == fault.hashValue && fault.isFault)
    #expect(fault.name == "W")
    #expect(!fault.isFault)
    context.refresh(fault, mergeChanges: false)
    #expect(fault.isFault)
    #expect(fault.name == "W")
    context.refreshAllObjects()
    #expect(fault.isFault)
  }

  @Test("A context sees other contexts' saves when it advances, and not before")
  func view() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = context.worker("old")
    try context.save()
    let other = container.newContext()
    let copy = try other.same(worker)
    let late = try #require(other.object(with: worker.objectID) as? Employee)
    worker.name = "new"
    let stranger = context.worker("stranger")
    try context.save()
    #expect(copy.name == "old" && late === copy)
    #expect(throws: PerdureError.self) { try other.existingObject(with: stranger.objectID) }
    other.refreshAllObjects()
    #expect(copy.name == "new")
    context.delete(worker)
    try context.save()
    other.rollback()
    #expect(copy.name == "new", "values that were read stay readable")
    #expect(copy.isDeleted)
    #expect(copy.managedObjectContext == nil)
  }

  @Test("Rollback undoes values, links, insertions and deletions")
  func rollback() throws {
    let context = try Staff.context()
    let (company, worker, other) = (context.company("C"), context.worker("W"), context.worker("X"))
    worker.company = company
    try context.save()
    worker.name = "changed"
    other.company = company
    let inserted = context.worker("new")
    inserted.company = company
    context.delete(worker)
    context.processPendingChanges()
    context.rollback()
    #expect(worker.name == "W" && worker.company === company && other.company == nil)
    #expect(company.workers.map(\.name) == ["W"])
    #expect(!context.hasChanges && !worker.isDeleted)
    #expect(inserted.managedObjectContext == nil && !inserted.isInserted)
    worker.name = "W2"
    try context.save()
    #expect(worker.name == "W2")
  }

  @Test("Refreshing one object without its changes also undoes its links")
  func refresh() throws {
    let context = try Staff.context()
    let (first, second, worker) = (context.company("1"), context.company("2"), context.worker("W"))
    let project = Project(context: context)
    worker.company = first
    try context.save()
    worker.company = second
    worker.salary = 3
    worker.projects.insert(project)
    first.name = "kept"
    context.refresh(worker, mergeChanges: false)
    #expect(worker.company === first && worker.salary == 1000 && worker.projects.isEmpty)
    #expect(first.workers.count == 1 && second.workers.isEmpty && project.members.isEmpty)
    #expect(context.updatedObjects == [first])
    context.refresh(first, mergeChanges: true)
    #expect(first.name == "kept")
  }

  @Test("After a reset, objects belong to no context, and the context can be used again")
  func reset() throws {
    let context = try Staff.context()
    let worker = context.worker("W")
    try context.save()
    worker.name = "changed"
    let inserted = context.worker("I")
    context.reset()
    #expect(worker.managedObjectContext == nil && inserted.managedObjectContext == nil)
    #expect(!context.hasChanges && context.registeredObjects.isEmpty)
    let again = try context.same(worker)
    #expect(again !== worker && again.name == "W")
  }

  @Test("A parsed id finds its object, and malformed and unknown ids are refused")
  func identity() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = context.worker("W")
    try context.save()
    let id = worker.objectID
    let read = try #require(ManagedObjectID(uri: id.uri))
    #expect(read == id && read.hashValue == id.hashValue)
    #expect(context.object(with: read) === worker)
    #expect(container.managedObjectID(forURI: id.uri) == id)
    #expect(ManagedObjectID(uri: "x-perdure://store/Employee/p0") == nil)
    #expect(ManagedObjectID(uri: "x-perdure://store/Employee/p01") == nil)
    #expect(ManagedObjectID(uri: "x-perdure://store/Employee/1") == nil)
    for scheme in ["http", "x-coredata", "x-perdures", "X-PERDURE", ""] {
      let uri = "\(scheme):\(id.uri.dropFirst("x-perdure:".count))"
      #expect(ManagedObjectID(uri: uri) == nil && container.managedObjectID(forURI: uri) == nil, "\(uri)")
    }
    let foreign = try #require(ManagedObjectID(uri: "x-perdure://elsewhere/Employee/p1"))
    let error = #expect(throws: PerdureError.self) { try context.existingObject(with: foreign) }
    #expect(error?.code == .unknownObjectID)
  }
}
