import Perdure
import PerdureModel
import Testing

/// Refreshes of objects with unsaved changes. Before the refresh, their context has deleted objects
/// or other contexts have saved.
@Suite("Refreshing related changes")
struct RefreshTests {
  @Test("After an object's changes are discarded, the object has no link to a deleted object")
  func afterNullify() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (company, worker, mentor) = (context.company("C"), context.worker("W"), context.worker("M"))
    worker.company = company
    worker.mentor = mentor
    worker.spouse = mentor
    company.chief = mentor
    try context.save()
    context.delete(company)
    context.delete(mentor)
    context.processPendingChanges()
    #expect(worker.company == nil && worker.mentor == nil && worker.spouse == nil)
    context.refresh(worker, mergeChanges: false)
    try context.save()
    #expect(worker.company == nil && worker.mentor == nil && worker.spouse == nil)
    try expectWhole(container)
  }

  @Test("A cascade deletes an object with its owner, even after the object's changes are discarded")
  func afterCascade() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (parent, child) = (Department(context: context), Department(context: context))
    child.parent = parent
    try context.save()
    context.delete(parent)
    context.processPendingChanges()
    context.refresh(child, mergeChanges: false)
    try context.save()
    try expectWhole(container)
    #expect(try container.newContext().count(for: FetchRequest<Department>()) == 0)
  }

  @Test("Discarding a deletion restores the object with all its links")
  func undeleted() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (company, worker, project) = (context.company("C"), context.worker("W"), Project(context: context))
    worker.company = company
    company.chief = worker
    worker.projects.insert(project)
    worker.bookmarks.insert(project)
    worker.friends.insert(worker)
    try context.save()
    context.delete(worker)
    context.processPendingChanges()
    context.refresh(worker, mergeChanges: false)
    try expectAgreement(context, container.managedObjectModel)
    try context.save()
    try expectWhole(container)
    #expect(worker.company === company && company.chief === worker)
    #expect(worker.projects.count == 1 && worker.bookmarks.count == 1 && worker.friends.count == 1)
  }

  @Test("If another context has saved a different partner of an object, a refresh keeps the unsaved partner")
  func oneToOne() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (one, two, worker) = (context.company("1"), context.company("2"), context.worker("W"))
    try context.save()
    let other = container.newContext()
    try other.same(two).chief = try other.same(worker)
    one.chief = worker
    try other.save()
    #expect(throws: PerdureError.self) { try context.save() }
    context.refreshAllObjects()
    #expect(worker.leads === one && two.chief == nil)
    try expectAgreement(context, container.managedObjectModel)
    try context.save()
    #expect(worker.leads === one && two.chief == nil)
    try expectWhole(container)
  }

  @Test("In a one-to-one self-relationship, a refresh also keeps the unsaved partner")
  func ownInverse() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (a, b, c) = (context.worker("a"), context.worker("b"), context.worker("c"))
    try context.save()
    let other = container.newContext()
    try other.same(c).spouse = try other.same(b)
    a.spouse = b
    try other.save()
    #expect(throws: PerdureError.self) { try context.save() }
    context.refreshAllObjects()
    #expect(a.spouse === b && b.spouse === a && c.spouse == nil)
    try context.save()
    try expectWhole(container)
    #expect(a.spouse === b && c.spouse == nil)
  }

  @Test("Links removed by a change or a deletion stay removed after other contexts' saves")
  func released() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let workers = (0..<6).map { context.worker("\($0)") }
    workers[0].spouse = workers[1]
    workers[3].spouse = workers[4]
    try context.save()
    let other = container.newContext()
    try other.same(workers[2]).spouse = try other.same(workers[0])
    try other.same(workers[5]).spouse = try other.same(workers[3])
    try other.save()
    workers[0].spouse = nil
    context.delete(workers[3])
    context.processPendingChanges()
    context.refreshAllObjects()
    try context.save()
    #expect(workers.prefix(3).allSatisfy { $0.spouse == nil } && workers[5].spouse == nil)
    try expectWhole(container)
  }
}
