import Perdure
import PerdureTestSupport
import Testing

/// Uses instances at random. Saves, merges and other contexts have changed or removed the objects
/// of these instances.
@Suite("Random use of instances after upserts, merges and deletions by other contexts")
struct RemovedInstanceRandomTests {
  /// A context, and all instances that the test has created or fetched in it.
  private final class Holder {
    let context: ManagedObjectContext
    var customers: [Customer] = []
    var bills: [Bill] = []
    /// The name that the test last read from each instance.
    var names: [ObjectIdentifier: String?] = [:]
    /// The instances of which the test knows that their objects are deleted.
    var gone: Set<ObjectIdentifier> = []
    /// The number of changes that were refused since the last save.
    var refusedCount = 0
    /// The instances that accepted a name since the last save.
    var named: Set<Customer> = []

    /// The holder of the context's parent.
    let parent: Holder?

    init(_ context: ManagedObjectContext, parent: Holder? = nil) {
      (self.context, self.parent) = (context, parent)
    }

    /// Whether the test knows that the context refuses changes of an object: the object no longer
    /// exists, or it was deleted before its first save.
    private func refusesChanges(_ object: ManagedObject) -> Bool {
      object.managedObjectContext == nil || object.isDeleted && object.objectID.isTemporaryID
    }

    /// Sets the name of an instance. The context accepts the name, or refuses it. The next save
    /// reports a refused name.
    func name(_ customer: Customer, _ name: String, byName: Bool) {
      let set = { if byName { customer.setValue(name, forKey: "name") } else { customer.name = name } }
      // The next save deletes the object, so its name does not matter.
      if customer.isDeleted, !refusesChanges(customer) {
        set()
        names[ObjectIdentifier(customer)] = .some(customer.name)
        return
      }
      let isRefused = refusesChanges(customer)
      set()
      if customer.name == name, !isRefused {
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

    /// Sets a primitive value. It is reported only if it is refused.
    func number(_ customer: Customer, _ number: Int) {
      let isRefused = refusesChanges(customer)
      customer.setPrimitiveValue(number, forKey: "number")
      if isRefused { refusedCount += 1 }
    }

    func link(_ bill: Bill, _ customer: Customer, fromCustomer: Bool) {
      let isRefused = refusesChanges(bill) || refusesChanges(customer)
      if fromCustomer { customer.bills.insert(bill) } else { bill.customer = customer }
      if isRefused || bill.customer !== customer { refusedCount += 1 }
    }
  }

  /// The destination of the saves of a history's contexts.
  enum Setting: CaseIterable, Sendable {
    /// Two contexts of one store.
    case oneStore
    /// A context, two of its children, and another context of the store.
    case children
    /// Two contexts of two stores. Both stores have objects of each entity.
    case severalStores
  }

  @Test(
    "Every change is saved, or the next save reports the change as refused", arguments: Setting.allCases)
  func random(_ setting: Setting) throws {
    var random = SeededGenerator.forTest("instances that are used on")
    for round in 0..<25 { try history(setting, round, &random) }
  }

  private static func container(_ setting: Setting) throws -> PersistentContainer {
    let classes: [ManagedObject.Type] = [
      Customer.self, Bill.self, Region.self, Town.self, Mayor.self,
    ]
    guard setting == .severalStores else {
      return try Sandbox(Customer.self, Bill.self, Region.self, Town.self, Mayor.self).container
    }
    let names = classes.map { $0.entityDescription.name }
    let model = try ManagedObjectModel(
      classes.map(\.entityDescription), configurations: ["East": names, "West": names])
    let container = PersistentContainer(
      name: "Customers", model: model, classes: classes,
      storeDescriptions: ["East", "West"].map(Library.memory))
    try container.loadPersistentStores()
    return container
  }

  private static func holders(_ setting: Setting, _ container: PersistentContainer) throws -> [Holder] {
    let first = Holder(container.newContext())
    let holders = [first, Holder(container.newContext())]
    guard setting == .children else { return holders }
    return try holders + (0..<2).map { _ in Holder(try first.context.newChildContext(), parent: first) }
  }

  private func history(_ setting: Setting, _ round: Int, _ random: inout SeededGenerator) throws {
    let container = try Self.container(setting)
    let holders = try Self.holders(setting, container)
    for holder in holders { holder.context.mergePolicy = .mergeByPropertyObjectTrump }
    for holder in holders where holder !== holders[1] {
      holder.context.automaticallyMergesChangesFromParent = random.chance(50)
    }
    for step in 0..<60 * holders.count {
      let place: Comment = "\(setting), seed \(random.origin), round \(round), step \(step)"
      let holder = random.pick(holders)
      try edit(holder, "\(step)", in: container, &random)
      if random.chance(25) { try save(holder, container, place) }
      if random.chance(10) {
        holder.context.refreshAllObjects()
        // An instance that was a fault when its object was removed has no values.
        holder.names = [:]
      }
      if random.chance(20) { holder.context.processPendingChanges() }
      for holder in holders { check(holder, place) }
    }
  }

  private func edit(
    _ holder: Holder, _ text: String, in container: PersistentContainer, _ random: inout SeededGenerator
  ) throws {
    let context = holder.context
    let store = random.pick(container.persistentStores)
    switch Int.random(in: 0..<13, using: &random) {
    case 0, 1:
      let customer = Customer(context: context)
      try context.assign(customer, to: store)
      (customer.key, customer.name) = ("k\(Int.random(in: 0..<6, using: &random))", text)
      holder.customers.append(customer)
    case 2:
      let bill = Bill(context: context)
      try context.assign(bill, to: store)
      bill.text = text
      holder.bills.append(bill)
    case 3, 10, 11:
      for found in try context.fetch(Customer.fetchRequest()) where random.chance(40) {
        if !holder.customers.contains(found) { holder.customers.append(found) }
      }
    case 4, 5, 6:
      if let customer = holder.customers.randomElement(using: &random) {
        holder.name(customer, text, byName: random.chance(30))
      }
    case 12:
      if let customer = holder.customers.randomElement(using: &random) {
        holder.number(customer, Int.random(in: 0..<9, using: &random))
      }
    case 7, 8:
      let (bill, customer) = (
        holder.bills.randomElement(using: &random), holder.customers.randomElement(using: &random)
      )
      // A save refuses links between stores.
      if let bill, let customer, bill.objectID.storeIdentifier == customer.objectID.storeIdentifier {
        holder.link(bill, customer, fromCustomer: random.chance(50))
      }
    default:
      if let customer = holder.customers.randomElement(using: &random) {
        context.delete(customer)
        holder.named.remove(customer)
      }
    }
  }

  private func save(_ holder: Holder, _ container: PersistentContainer, _ place: Comment) throws {
    let context = holder.context
    // The count is exact, because setting a property detects every save that a fetch would merge.
    let isRefused = holder.refusedCount > 0
    holder.refusedCount = 0
    // A save that writes nothing leaves the context at its state.
    let isWriting =
      !context.insertedObjects.isEmpty
      || context.updatedObjects.contains { $0.hasPersistentChangedValues }
    let deleted = Set(context.deletedObjects.map(\.objectID))
    do throws(PerdureError) {
      try context.save()
      #expect(!isRefused, place)
    } catch {
      #expect(isRefused ? error.code == .objectNotFound : Self.isConflict(error), "\(place) \(error)")
      if isRefused { return try save(holder, container, place) }
      return holder.rollBack()
    }
    // A child's save also deletes objects in the parent. The parent may have changed them.
    if let parent = holder.parent {
      parent.named = parent.named.filter { !deleted.contains($0.objectID) }
    }
    let fresh = try context.parent?.newChildContext() ?? container.newContext()
    for id in deleted {
      let error = #expect(throws: PerdureError.self, "\(place): a deletion") {
        try fresh.existingObject(with: id)
      }
      #expect(error?.code == .objectNotFound, place)
    }
    guard isWriting else { return #expect(holder.named.isEmpty, place) }
    try checkSaved(holder, fresh, place)
    holder.named = []
  }

  /// Compares the names and links of a holder that was saved with those that a new context shows.
  private func checkSaved(_ holder: Holder, _ fresh: ManagedObjectContext, _ place: Comment) throws {
    for customer in holder.named where !customer.isDeleted {
      let stored = try fresh.existingObject(with: customer.objectID) as? Customer
      #expect(stored?.name == customer.name, place)
    }
    for customer in holder.named where customer.isDeleted {
      #expect(holder.context.mergedObjectIDs[customer.objectID] != nil, "\(place): a named object is gone")
    }
    for bill in holder.bills where bill.managedObjectContext != nil && !bill.isDeleted {
      let stored = try fresh.existingObject(with: bill.objectID) as? Bill
      #expect(stored?.customer?.objectID == bill.customer?.objectID, "\(place): a link")
    }
  }

  /// Whether an error is a conflict that no policy resolves: a conflict of two objects with rows,
  /// or of a link to a removed object.
  private static func isConflict(_ error: PerdureError) -> Bool {
    error.code == .constraintConflict || error.code == .mergeConflict
  }

  private func check(_ holder: Holder, _ place: Comment) {
    var seen: Set<ManagedObjectID> = []
    for customer in holder.customers {
      let identity = ObjectIdentifier(customer)
      let isGone = customer.managedObjectContext == nil
      if isGone || customer.isDeleted {
        // The read of the instance may have detected that its object was deleted.
        if customer.managedObjectContext == nil, let last = holder.names[identity] {
          let (shown, before) = (customer.name, last)
          // The save that removed the object may have merged another name into it before.
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
