import PerdureModel
import Testing

@testable import Perdure

/// Objects and ids that were never in the context's store, or are no longer in it.
@Suite("Absent objects")
struct StrangerTests {
  @Test("An object that another context has removed cannot be linked at either end")
  func removedElsewhere() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (company, worker, project) = (context.company("C"), context.worker("W"), Project(context: context))
    let gone = (0..<7).map { context.worker("\($0)") }
    try context.save()
    let other = container.newContext()
    for object in gone { other.delete(try other.same(object)) }
    try other.save()
    context.refreshAllObjects()
    gone[0].company = company
    company.workers.insert(gone[1])
    company.chief = gone[2]
    gone[3].leads = company
    worker.spouse = gone[4]
    worker.mentor = gone[5]
    gone[6].projects.insert(project)
    #expect(company.workerCount == 0 && company.workers.isEmpty && company.chief == nil)
    #expect(worker.spouse == nil && worker.mentor == nil && project.members.isEmpty)
    #expect(context.updatedObjects.isEmpty && gone.allSatisfy { $0.isDeleted })
    let error = #expect(throws: PerdureError.self) { try context.save() }
    let refused = ["company", "workers", "chief", "leads", "spouse", "mentor", "projects"]
    #expect(error?.code == .objectNotFound && error?.details.map(\.property) == refused)
    try context.save()
    try expectWhole(container)
  }

  @Test("The object of an unknown id cannot be linked at either end")
  func inventedID() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (company, worker) = (context.company("C"), context.worker("W"))
    try context.save()
    let uri = worker.objectID.uri
    let id = try #require(container.managedObjectID(forURI: uri.dropLast() + "999999"))
    func invented() throws -> Employee { try #require(context.object(with: id) as? Employee) }
    try invented().company = company
    company.workers.insert(try invented())
    worker.spouse = try invented()
    worker.friends.insert(try invented())
    worker.mentor = try invented()
    #expect(
      company.workerCount == 0 && worker.spouse == nil && worker.mentor == nil && worker.friends.isEmpty)
    #expect(context.updatedObjects.isEmpty)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .objectNotFound && error?.details.count == 5)
    try context.save()
    try expectWhole(container)
  }

  @Test("The optional form of existingObject returns nil for objects that do not exist or have another class")
  func optionalForm() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = context.worker("W")
    try context.save()
    let other = container.newContext()
    let id = worker.objectID
    #expect(try context.existingObject(Employee.self, with: id) === worker)
    #expect(try context.existingObject(Party.self, with: id) === worker)
    #expect(try context.existingObject(Company.self, with: id) == nil)
    #expect(try other.existingObject(Employee.self, with: id)?.name == "W")
    context.delete(worker)
    #expect(try context.existingObject(Employee.self, with: id) === worker && worker.isDeleted)
    try context.save()
    #expect(try context.existingObject(Employee.self, with: id) == nil)
    let missing = #expect(throws: PerdureError.self) { try context.existingObject(with: id) }
    #expect(missing?.code == .objectNotFound)
    let foreign = try Staff.container().newContext()
    let stranger = #expect(throws: PerdureError.self) {
      try foreign.existingObject(Employee.self, with: id)
    }
    #expect(stranger?.code == .unknownObjectID)
  }

  @Test("There is no object for an id of an abstract entity")
  func abstractID() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let address = Address(context: context)
    try context.save()
    let uri = address.objectID.uri.split(separator: "/", omittingEmptySubsequences: false)
      .map { $0 == "Address" ? "Party" : $0 }.joined(separator: "/")
    #expect(container.managedObjectID(forURI: uri) == nil)
    let id = try #require(ManagedObjectID(uri: uri))
    let error = #expect(throws: PerdureError.self) { try context.existingObject(with: id) }
    #expect(error?.code == .unknownObjectID)
    #expect(context.registeredObject(for: id) == nil)
  }

  @Test("An object of another store is not in a relationship, even if its reference equals that of a member")
  func otherStore() throws {
    let (context, elsewhere) = (try Staff.context(), try Staff.context())
    let (company, worker, stranger) = (context.company("C"), context.worker("W"), elsewhere.worker("S"))
    worker.company = company
    try context.save()
    #expect(stranger.reference == worker.reference && stranger.objectID != worker.objectID)
    #expect(company.workers.contains(worker) && !company.workers.contains(stranger))
    company.workers.remove(stranger)
    #expect(company.workers.contains(worker) && !context.hasChanges)
    let copy = try elsewhere.same(stranger)
    #expect(copy === stranger)
  }
}
