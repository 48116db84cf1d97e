import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@testable import Perdure

/// A failed read is reported as an error. An object that cannot be read never counts as deleted.
@Suite("A graph that is temporarily unreadable")
struct UnreadableStoreTests {
  private let container: PersistentContainer
  private let failing: UnreadableStore.Switch

  /// Creates a company with a department and two workers.
  init() throws {
    (container, failing) = try UnreadableStore.container()
    let context = container.newContext()
    let company = context.company("C")
    let department = Department(context: context)
    department.company = company
    for name in ["A", "B"] { context.worker(name, email: name).company = company }
    try context.save()
  }

  private func worker(_ name: String, _ context: ManagedObjectContext) throws -> Employee {
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "name == %@", name))
    return try #require(try context.fetch(request).first)
  }

  private func company(_ context: ManagedObjectContext) throws -> Company {
    try #require(try context.fetch(FetchRequest<Company>()).first)
  }

  /// Expects that saves report the failed read until a rollback, and that the graph is intact after
  /// it.
  private func expectReadFailure(
    _ context: ManagedObjectContext, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    failing.set([])
    for _ in 0..<2 {
      let error = #expect(throws: PerdureError.self, sourceLocation: sourceLocation) { try context.save() }
      #expect(error?.code == .readFailed, sourceLocation: sourceLocation)
      #expect(error?.cause is UnreadableStore.Failure, sourceLocation: sourceLocation)
      // Changes that depend on the unreadable object still exist, so this call does not help.
      context.refreshAllObjects()
    }
    context.rollback()
    try context.save()
    #expect(try context.count(for: FetchRequest<Employee>()) == 2, sourceLocation: sourceLocation)
    #expect(try context.count(for: FetchRequest<Department>()) == 1, sourceLocation: sourceLocation)
    try expectWhole(container, sourceLocation: sourceLocation)
  }

  @Test("If a deletion is saved although a read has failed, later saves are not refused")
  func deletedUnread() throws {
    let setup = container.newContext()
    for number in 0..<12 { _ = setup.worker("gone \(number)", email: "gone \(number)") }
    try setup.save()
    for reads in 0..<12 {
      let id = try worker("gone \(reads)", container.newContext()).objectID
      let context = container.newContext()
      context.delete(context.object(with: id))
      failing.set([.rows], after: reads)
      let isSaved = (try? context.save()) != nil
      failing.set([])
      if isSaved { try context.save() }
    }
  }

  @Test("If two objects cannot be read while a link between them is set, neither counts as deleted")
  func connecting() throws {
    let context = container.newContext()
    let ids = try ["A", "B"].map { try worker($0, container.newContext()).objectID }
    let (one, other) = (context.object(with: ids[0]), context.object(with: ids[1]))
    failing.set([.versions, .rows])
    try #require(one as? Employee).mentor = other as? Employee
    try #require(one as? Employee).friends.insert(try #require(other as? Employee))
    #expect(!one.isDeleted && !other.isDeleted)
    #expect(one.managedObjectContext === context && other.managedObjectContext === context)
    try expectReadFailure(context)
    #expect((one as? Employee)?.name == "A" && (other as? Employee)?.name == "B")
  }

  @Test("If the cascade of a deletion cannot be read, saves throw until a rollback")
  func cascade() throws {
    let context = container.newContext()
    context.delete(try company(context))
    failing.set([.entries])
    context.processPendingChanges()
    try expectReadFailure(context)
    context.delete(try company(context))
    try context.save()
    #expect(try context.count(for: FetchRequest<Department>()) == 0)
    try expectWhole(container)
  }

  @Test("An unreadable object is not marked as deleted, and saves throw until a rollback")
  func deleting() throws {
    let context = container.newContext()
    let object = context.object(with: try worker("A", container.newContext()).objectID)
    failing.set([.versions, .rows])
    context.delete(object)
    #expect(!object.isDeleted)
    try expectReadFailure(context)
  }

  @Test("If a row that another save changed cannot be read, a save throws the read error, not a conflict")
  func conflict() throws {
    let context = container.newContext()
    let one = try worker("A", context)
    one.salary = 7
    let other = container.newContext()
    try worker("A", other).salary = 8
    try other.save()
    failing.set([.versions, .rows])
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .readFailed)
    context.refresh(one, mergeChanges: true)
    #expect(!one.isDeleted && one.isUpdated)
    try expectReadFailure(context)
    #expect(one.salary == 8)
  }

  @Test("If objects cannot be read in a newer state of the store, they do not count as deleted")
  func advancing() throws {
    let context = container.newContext()
    let (one, two) = (try worker("A", context), try worker("B", context))
    two.mentor = one
    let other = container.newContext()
    try worker("A", other).salary = 8
    try other.save()
    failing.set([.versions, .rows, .entries])
    context.refreshAllObjects()
    #expect(!one.isDeleted && !two.isDeleted && two.isUpdated)
    #expect(throws: PerdureError.self) { try context.existingObject(with: one.objectID) }
    try expectReadFailure(context)
    #expect(one.salary == 8)
  }

  @Test("A snapshot that needs an unreadable object or relationship throws")
  func snapshots() throws {
    let context = container.newContext()
    let id = try worker("A", container.newContext()).objectID
    let fault = context.object(with: id)
    failing.set([.rows])
    let error = #expect(throws: PerdureError.self) { try fault.snapshot() }
    #expect(error?.code == .readFailed && error?.cause is UnreadableStore.Failure)
    failing.set([])
    context.rollback()
    let whole = try fault.snapshot(including: ["company.workers"])
    #expect(whole["company"]?.object?["workers"]?.objects.count == 2)
    for part in [UnreadableStore.Part.rows, .entries] {
      context.reset()
      let again = context.object(with: id)
      #expect(try again.snapshot()["name"]?.value == .string("A"))
      failing.set([part])
      let deep = #expect(throws: PerdureError.self) { try again.snapshot(including: ["company.workers"]) }
      #expect(deep?.code == .readFailed)
      failing.set([])
    }
  }

  @Test("After an accessor's read fails, a count throws the error until a rollback")
  func accessor() throws {
    let context = container.newContext()
    let one = context.object(with: try worker("A", container.newContext()).objectID) as? Employee
    failing.set([.versions, .rows])
    #expect(one?.name == "")
    failing.set([])
    context.refreshAllObjects()
    let error = #expect(throws: PerdureError.self) { try context.count(for: FetchRequest<Employee>()) }
    #expect(error?.code == .readFailed && error?.message.contains("rolled back or reset") == true)
    context.rollback()
    #expect(try context.count(for: FetchRequest<Employee>()) == 2)
    #expect(one?.name == "A")
  }
}
