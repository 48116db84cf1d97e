import PerdureModel
import Testing

@testable import Perdure

@Suite("Delete rules")
struct DeleteRuleTests {
  @Test("Nullify clears the other side, and creates no instances of unrequested objects")
  func nullify() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let company = setup.company("C")
    let workers = (0..<5).map { setup.worker("w\($0)") }
    company.workers.insert(contentsOf: workers)
    try setup.save()
    let context = container.newContext()
    let known = try context.same(workers[0])
    context.delete(try context.same(company))
    #expect(known.company != nil)
    context.processPendingChanges()
    #expect(known.company == nil)
    #expect(context.registeredObjects.count == 2)
    try context.save()
    let other = container.newContext()
    for worker in workers { #expect(try other.same(worker).company == nil) }
    #expect(throws: PerdureError.self) { try other.existingObject(with: company.objectID) }
  }

  @Test("Cascade deletes each related object once, even in rings")
  func cascade() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let company = setup.company("C")
    let departments = (0..<4).map { _ in Department(context: setup) }
    company.departments.insert(departments[0])
    for (position, department) in departments.enumerated() {
      department.parent = departments[(position + 3) % 4]
    }
    try setup.save()
    let context = container.newContext()
    context.delete(try context.same(company))
    context.processPendingChanges()
    #expect(context.registeredObjects.count == 1)
    #expect(context.deletedObjects.count == 5)
    try context.save()
    #expect(!context.hasChanges)
    let other = container.newContext()
    for department in departments {
      #expect(throws: PerdureError.self) { try other.existingObject(with: department.objectID) }
    }
  }

  @Test("Deny refuses the save while the relationship has objects, and all changes stay pending")
  func deny() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let company = context.company("C")
    let contract = Contract(context: context)
    contract.company = company
    try context.save()
    context.delete(company)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .relationshipDeniedDelete)
    #expect(error?.details.map(\.property) == ["contracts"])
    #expect(error?.details.first?.objectID == company.objectID)
    #expect(company.isDeleted && context.hasChanges)
    #expect(contract.company === company)
    context.delete(contract)
    try context.save()
    #expect(!context.hasChanges)
    let other = container.newContext()
    #expect(throws: PerdureError.self) { try other.existingObject(with: company.objectID) }
    #expect(throws: PerdureError.self) { try other.existingObject(with: contract.objectID) }
  }

  @Test("A context whose only change is a denied deletion of a new object has changes until a rollback")
  func denyOfNew() throws {
    let scene = try ModelScene(
      EntityDescription("Node", properties: [.toOne("next", "Node", deleteRule: .deny)]))
    let stored = scene.new("Node")
    try scene.context.save()
    let new = scene.new("Node")
    new.setValue(stored, forKey: "next")
    scene.context.delete(new)
    scene.context.processPendingChanges()
    #expect(scene.context.hasChanges)
    let error = #expect(throws: PerdureError.self) { try scene.context.save() }
    #expect(error?.code == .relationshipDeniedDelete && scene.context.hasChanges)
    scene.context.rollback()
    #expect(!scene.context.hasChanges)
    try scene.context.save()
    #expect(try scene.count("Node") == 1)
  }

  @Test("Deny permits the deletion after the related objects have moved to another object")
  func denyMoved() throws {
    let context = try Staff.context()
    let (company, heir) = (context.company("C"), context.company("D"))
    let contract = Contract(context: context)
    contract.company = company
    try context.save()
    context.delete(company)
    contract.company = heir
    try context.save()
    #expect(heir.contracts.count == 1)
  }

  @Test("No action leaves the other side with a reference to the deleted object")
  func noAction() throws {
    let container = try Staff.container(.stored)
    let context = container.newContext()
    let (address, worker) = (Address(context: context), context.worker("W"))
    worker.address = address
    try context.save()
    context.delete(address)
    try context.save()
    let copy = try container.newContext().same(worker)
    let dangling = try #require(copy.address)
    #expect(dangling.objectID == address.objectID)
    #expect(dangling.street == "")
    #expect(dangling.isDeleted)
    // This delete rule leaves the reference, so verification accepts it.
    let (core, model) = (context.core, container.managedObjectModel)
    #expect(GraphVerification(core.viewState.view, model).run().isClean)
    let other = container.newContext()
    let letting = try other.same(worker)
    letting.address = nil
    #expect(other.updatedObjects == [letting], "The absent object is not changed.")
    try other.save()
    try expectWhole(container)
  }

  @Test("Deleting the side with the reference updates the other side before the save")
  func deleteSource() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let company = context.company("C")
    let workers = ["a", "b"].map { context.worker($0) }
    company.workers.insert(contentsOf: workers)
    company.chief = workers[0]
    try context.save()
    context.delete(workers[0])
    context.processPendingChanges()
    #expect(Array(company.workers) == [workers[1]])
    #expect(company.workerCount == 1)
    #expect(company.chief == nil)
    try context.save()
    #expect(company.workerCount == 1)
    #expect(company.chief == nil)
  }

  @Test("Deleting removes many-to-many links from both sides")
  func links() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let workers = ["a", "b"].map { context.worker($0) }
    let project = Project(context: context)
    project.members.insert(contentsOf: workers)
    workers[0].friends.insert(workers[1])
    try context.save()
    context.delete(workers[0])
    try context.save()
    #expect(Array(project.members) == [workers[1]])
    #expect(workers[1].friends.isEmpty)
    #expect(try container.newContext().same(project).memberCount == 1)
  }

  @Test("An object that is inserted and deleted leaves no changes")
  func insertedAndDeleted() throws {
    let context = try Staff.context()
    let company = context.company("C")
    let worker = context.worker("W")
    company.workers.insert(worker)
    context.delete(worker)
    context.processPendingChanges()
    #expect(company.workers.isEmpty)
    #expect(context.insertedObjects == [company])
    #expect(context.deletedObjects.isEmpty)
    #expect(worker.managedObjectContext == nil)
    try context.save()
  }

  @Test("The delete rule also applies to objects that are linked to an already deleted object")
  func linkedLater() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (company, worker) = (context.company("C"), context.worker("W"))
    try context.save()
    context.delete(company)
    context.processPendingChanges()
    worker.company = company
    try context.save()
    #expect(worker.company == nil)
    #expect(try container.newContext().same(worker).company == nil)
  }
}
