import Perdure
import PerdureTestSupport
import Testing

@Suite("Objects that another context saves after the last read of a context")
struct LaterSaveTests {
  private let container: PersistentContainer

  init() throws {
    container = try Sandbox(Customer.self, Bill.self, Region.self, Town.self, Mayor.self).container
  }

  /// Saves customers in a background context, and returns their ids.
  private func saved(_ keys: [String]) async throws -> [ManagedObjectID] {
    try await container.performBackgroundTask { context in
      let customers = keys.map { key in
        let customer = Customer(context: context)
        customer.key = key
        return customer
      }
      try context.save()
      return customers.map(\.objectID)
    }
  }

  @Test("In an automatically merging context, object(with:) returns an instance that can be read and linked")
  func objectWithID() async throws {
    let context = container.newContext()
    context.automaticallyMergesChangesFromParent = true
    #expect(try context.fetch(Customer.fetchRequest()).isEmpty)
    let ids = try await saved(["a", "b"])
    let found = try ids.map { try #require(context.object(with: $0) as? Customer) }
    #expect(
      found.map(\.key) == ["a", "b"] && !found[0].isDeleted && found[0].managedObjectContext === context)
    let bill = Bill(context: context)
    bill.customer = found[1]
    try context.save()
    let stored = try container.newContext().fetch(Bill.fetchRequest()).first
    #expect(stored?.customer?.objectID == ids[1])
  }

  @Test("In a child that merges automatically, object(with:) returns an instance that can be read and linked")
  func childContext() async throws {
    let parent = container.newContext()
    parent.automaticallyMergesChangesFromParent = true
    let child = parent.newChildContext()
    child.automaticallyMergesChangesFromParent = true
    #expect(try child.fetch(Customer.fetchRequest()).isEmpty)
    let ids = try await saved(["a"])
    let customer = try #require(child.object(with: ids[0]) as? Customer)
    #expect(customer.key == "a" && !customer.isDeleted)
    let bill = Bill(context: child)
    bill.customer = customer
    try child.save()
    try parent.save()
    #expect(try container.newContext().fetch(Bill.fetchRequest()).first?.customer?.key == "a")
  }

  @Test("An instance that was requested before the save is returned again after it, and can be read")
  func requestedBefore() throws {
    let (writer, context) = (container.newContext(), container.newContext())
    context.automaticallyMergesChangesFromParent = true
    let customer = Customer(context: writer)
    customer.key = "a"
    let early = try #require(context.object(with: customer.objectID) as? Customer)
    try writer.save()
    #expect(context.object(with: customer.objectID) === early)
    #expect(early.key == "a" && !early.isDeleted)
  }

  @Test("A context that does not merge automatically finds the object only after a refresh")
  func notMerging() async throws {
    let context = container.newContext()
    let ids = try await saved(["a"])
    let customer = try #require(context.object(with: ids[0]) as? Customer)
    #expect(throws: PerdureError.self) { try context.existingObject(with: ids[0]) }
    #expect(customer.isDeleted && customer.key.isEmpty)
    context.refreshAllObjects()
    #expect((context.object(with: ids[0]) as? Customer)?.key == "a")
  }
}
