import Perdure
import PerdureTestSupport
import Testing

/// Uses instances at random after saves, merges and other contexts have changed or removed their
/// objects.
@Suite("Random use of instances after upserts, merges and deletions by other contexts")
struct RemovedInstanceRandomTests {
  /// A context, and all instances that the test has created or fetched in it.
  private final class Holder {
    let context: ManagedObjectContext
    var customers: [Customer] = []
    var bills: [Bill] = []
    /// The name that the test last read from each instance.
    var names: [ObjectIdentifier: String?] = [:]
    /// The instances whose objects the test found to be deleted.
    var gone: Set<ObjectIdentifier> = []
    /// The number of changes that were refused since the last save.
    var refusedCount = 0
    /// The instances that accepted a name since the last save.
    var named: Set<Customer> = []

    init(_ context: ManagedObjectContext) { self.context = context }

    /// Sets the name of an instance. The context accepts the name, or refuses it and reports that
    /// in the next save.
    func name(_ customer: Customer, _ name: String) {
      // The next save deletes the object, so its name does not matter.
      if customer.isDeleted, customer.managedObjectContext != nil {
        customer.name = name
        names[ObjectIdentifier(customer)] = .some(customer.name)
        return
      }
      let wasGone = customer.managedObjectContext == nil
      customer.name = name
      if customer.name == name, !wasGone {
        named.insert(customer)
        names[ObjectIdentifier(customer)] = .some(name)
      } else {
        refusedCount += 1
      }
    }

    func rollBack() {
      context.rollback()
      (named, names) = ([], [:])
    }

    func link(_ bill: Bill, _ customer: Customer) {
      bill.customer = customer
      if bill.customer !== customer { refusedCount += 1 }
    }
  }

  @Test("Every change is saved, or the next save reports the change as refused")
  func random() throws {
    var random = SeededGenerator.forTest("instances that are used on")
    for round in 0..<25 { try history(round, &random) }
  }

  private func history(_ round: Int, _ random: inout SeededGenerator) throws {
    let container = try Sandbox(Customer.self, Bill.self, Region.self, Town.self, Mayor.self).container
    let (mine, theirs) = (Holder(container.newContext()), Holder(container.newContext()))
    for holder in [mine, theirs] { holder.context.mergePolicy = .mergeByPropertyObjectTrump }
    mine.context.automaticallyMergesChangesFromParent = random.chance(50)
    for step in 0..<80 {
      let place: Comment = "seed \(random.origin), round \(round), step \(step)"
      let holder = random.chance(60) ? mine : theirs
      try edit(holder, "\(step)", &random)
      if random.chance(25) { try save(holder, container, place) }
      if random.chance(10) {
        holder.context.refreshAllObjects()
        // An instance that was a fault when its object was removed has no values.
        holder.names = [:]
      }
      if random.chance(20) { holder.context.processPendingChanges() }
      for holder in [mine, theirs] { check(holder, place) }
    }
  }

  private func edit(_ holder: Holder, _ text: String, _ random: inout SeededGenerator) throws {
    let context = holder.context
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1:
      let customer = Customer(context: context)
      (customer.key, customer.name) = ("k\(Int.random(in: 0..<6, using: &random))", text)
      holder.customers.append(customer)
    case 2:
      let bill = Bill(context: context)
      bill.text = text
      holder.bills.append(bill)
    case 3:
      for found in try context.fetch(Customer.fetchRequest()) where random.chance(40) {
        if !holder.customers.contains(found) { holder.customers.append(found) }
      }
    case 4, 5, 6:
      if let customer = holder.customers.randomElement(using: &random) { holder.name(customer, text) }
    case 7, 8:
      let (bill, customer) = (
        holder.bills.randomElement(using: &random), holder.customers.randomElement(using: &random)
      )
      if let bill, let customer { holder.link(bill, customer) }
    default:
      if let customer = holder.customers.randomElement(using: &random) {
        context.delete(customer)
        holder.named.remove(customer)
      }
    }
  }

  private func save(_ holder: Holder, _ container: PersistentContainer, _ place: Comment) throws {
    let context = holder.context
    // The count is exact, because setting a property finds every save that a fetch would merge.
    let isRefused = holder.refusedCount > 0
    holder.refusedCount = 0
    do throws(PerdureError) {
      try context.save()
      #expect(!isRefused, place)
    } catch {
      #expect(isRefused ? error.code == .objectNotFound : Self.isConflict(error), "\(place) \(error)")
      if isRefused { return try save(holder, container, place) }
      return holder.rollBack()
    }
    let fresh = container.newContext()
    for customer in holder.named where !customer.isDeleted {
      let stored = try fresh.existingObject(with: customer.objectID) as? Customer
      #expect(stored?.name == customer.name, place)
    }
    for customer in holder.named where customer.isDeleted {
      #expect(context.mergedObjectIDs[customer.objectID] != nil, "\(place): a named object is gone")
    }
    holder.named = []
  }

  /// Whether an error is a conflict that no policy resolves: of two objects with rows, or of a link
  /// to a removed object.
  private static func isConflict(_ error: PerdureError) -> Bool {
    error.code == .constraintConflict || error.code == .mergeConflict
  }

  private func check(_ holder: Holder, _ place: Comment) {
    var seen: Set<ManagedObjectID> = []
    for customer in holder.customers {
      let identity = ObjectIdentifier(customer)
      let isGone = customer.managedObjectContext == nil
      if isGone || customer.isDeleted {
        // Reading the instance may have shown that its object was deleted.
        if customer.managedObjectContext == nil, let last = holder.names[identity] {
          let (shown, before) = (customer.name, last)
          // The save that removed the object may first have merged another name into it.
          #expect(shown != nil || before == nil, "\(place): the last name")
          if !holder.gone.insert(identity).inserted { #expect(shown == before, place) }
        }
      } else {
        #expect(seen.insert(customer.objectID).inserted, "\(place): two instances of one object")
        #expect(holder.context.registeredObject(for: customer.objectID) === customer, place)
      }
      holder.names[identity] = .some(customer.name)
      for bill in customer.bills { #expect(bill.customer === customer, place) }
    }
  }
}
