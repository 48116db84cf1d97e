import Perdure
import Testing

@Entity final class Customer: ManagedObject {
  @Attribute(.unique) var key: String
  var name: String?
  var number: Int = 0
  @Attribute(.transient) var mood: String?
  @Relationship(inverse: "customer") var bills: ToMany<Bill>
  @Relationship(inverse: "customers") var region: Region?
}

@Entity final class Bill: ManagedObject {
  var text: String?
  @Relationship(inverse: "bills") var customer: Customer?
}

@Entity final class Region: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "region") var customers: ToMany<Customer>
  @Relationship(inverse: "region", deleteRule: .cascade) var towns: OrderedToMany<Town>
}

@Entity final class Town: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "towns") var region: Region
  @Relationship(inverse: "town") var mayor: Mayor?
}

@Entity final class Mayor: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "mayor") var town: Town
}

// Two pairs of classes. One pair has the reference in the row of the required end, and the other
// pair does not.

@Entity final class Ticket: ManagedObject {
  var text: String = ""
  @Relationship(inverse: "ticket") var seat: Seat
}

@Entity final class Seat: ManagedObject {
  var number: Int = 0
  @Relationship(inverse: "seat") var ticket: Ticket?
}

@Entity final class Badge: ManagedObject {
  var text: String = ""
  @Relationship(inverse: "badge") var wearer: Wearer
}

@Entity final class Wearer: ManagedObject {
  var number: Int = 0
  @Relationship(inverse: "wearer") var badge: Badge?
}

@Entity private final class Shop: ManagedObject {
  var size: Int = 0
  @Relationship(inverse: "shop", deleteRule: .cascade) var counters: ToMany<Counter>
}

/// A class whose prepareForDeletion changes the object that cascades to it.
@Entity private final class Counter: ManagedObject {
  @Relationship(inverse: "counters") var shop: Shop?

  override func prepareForDeletion() {
    guard let shop else { return }
    shop.size -= 1
  }
}

@Suite("Instances of removed objects")
struct RemovedInstanceTests {
  private let container: PersistentContainer

  init() throws {
    container = try Sandbox(
      Customer.self, Bill.self, Region.self, Town.self, Mayor.self, Ticket.self, Seat.self,
      Badge.self, Wearer.self
    ).container
  }

  private func newContext() -> ManagedObjectContext {
    let context = container.newContext()
    context.mergePolicy = .mergeByPropertyObjectTrump
    return context
  }

  private func customer(_ key: String, _ name: String, _ context: ManagedObjectContext) -> Customer {
    let customer = Customer(context: context)
    (customer.key, customer.name) = (key, name)
    return customer
  }

  private func stored(_ key: String) throws -> Customer? {
    try container.newContext().fetch(Customer.fetchRequest { $0.key == key }).first
  }

  /// The refused changes that the next save reports. Empty if the save succeeds.
  private func refused(_ context: ManagedObjectContext) -> [String] {
    #expect(context.hasChanges)
    do throws(PerdureError) {
      try context.save()
      return []
    } catch {
      return error.details.map { "\($0.code.rawValue) \($0.property)" }
    }
  }

  // MARK: Upserts

  @Test("A new instance that a save merges into a stored object becomes the object's instance")
  func goesOn() throws {
    let saved = try { () throws -> ManagedObjectID in
      let context = newContext()
      let customer = customer("k", "first", context)
      customer.number = 7
      try context.save()
      return customer.objectID
    }()
    let context = newContext()
    let new = customer("k", "second", context)
    new.mood = "calm"
    let bill = Bill(context: context)
    bill.customer = new
    let id = new.objectID
    try context.save()
    #expect(new.objectID == saved && context.mergedObjectIDs == [id: saved])
    #expect(new.managedObjectContext === context && !new.isDeleted && !new.isInserted)
    #expect(new.name == "second" && new.number == 7 && new.mood == "calm" && bill.customer === new)
    #expect(context.registeredObject(for: saved) === new)
    #expect(try context.existingObject(with: saved) === new)
    new.name = "third"
    let other = Bill(context: context)
    other.customer = new
    try context.save()
    #expect(try stored("k")?.name == "third")
    #expect(try stored("k")?.bills.count == 2)
  }

  @Test("A save that fails after merging restores the identity of the new instance")
  func mergeThatFails() throws {
    let first = newContext()
    let saved = customer("k", "first", first)
    try first.save()
    let context = newContext()
    var kinds: [ContextEventKind] = []
    let observation = context.observe { kinds.append($0.kind) }
    let new = customer("k", "second", context)
    let town = Town(context: context)
    let id = new.objectID
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(new.objectID == id && new.isInserted && new.name == "second" && new.key == "k")
    #expect(context.registeredObject(for: saved.objectID) == nil)
    context.delete(town)
    try context.save()
    #expect(new.objectID == saved.objectID && !new.isInserted && new.name == "second")
    #expect(try stored("k")?.name == "second")
    observation.cancel()
  }

  @Test(
    "If a new object is merged into an object with an instance, the new instance refuses changes"
  )
  func refusesChanges() throws {
    let context = newContext()
    let old = customer("k", "first", context)
    try context.save()
    let new = customer("k", "second", context)
    let bill = Bill(context: context)
    new.bills.insert(bill)
    try context.save()
    #expect(new.isDeleted && new.managedObjectContext == nil && new.key == "k" && new.name == "second")
    #expect(old.name == "second" && bill.customer === old && !context.hasChanges)
    new.name = "third"
    bill.text = "kept"
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .objectNotFound && error?.objectIDs == [new.objectID])
    #expect(error?.message.contains("merged the object into \(old.objectID)") == true)
    try context.save()
    #expect(bill.text == "kept" && !bill.hasChanges && !context.hasChanges)
    let second = Bill(context: context)
    second.customer = new
    #expect(second.customer == nil)
    #expect(refused(context) == ["133000 customer"])
    try context.save()
    #expect(try container.newContext().count(for: Bill.fetchRequest()) == 2)
  }

  @Test("After a save merges two new objects with one key, the second object refuses changes")
  func twoNew() throws {
    let context = newContext()
    let (first, second) = (customer("z", "first", context), customer("z", "second", context))
    try context.save()
    #expect(!first.isDeleted && second.isDeleted && second.name == "second")
    second.number = 9
    #expect(refused(context) == ["133000 number"])
    try context.save()
    #expect(try container.newContext().count(for: Customer.fetchRequest()) == 1)
  }

  // MARK: Removed by other contexts

  @Test(
    "After merging a deletion by another context, an object that was read keeps its last values"
  )
  func lastValues() throws {
    let (mine, theirs) = (newContext(), newContext())
    mine.automaticallyMergesChangesFromParent = true
    let region = Region(context: theirs)
    region.name = "North"
    let town = Town(context: theirs)
    (town.name, town.region) = ("Ville", region)
    let mayor = Mayor(context: theirs)
    (mayor.name, mayor.town) = ("Ann", town)
    try theirs.save()
    mine.refreshAllObjects()
    let read = try #require(try mine.fetch(Town.fetchRequest()).first)
    let head = try #require(try mine.fetch(Mayor.fetchRequest()).first)
    let area = read.region
    #expect(read.name == "Ville" && area.name == "North" && head.town === read)
    var told: [String] = []
    let observation = mine.observe { note in
      for case let town as Town in note.deletedObjects { told.append("\(town.name) \(town.region.name)") }
    }
    theirs.delete(region)
    theirs.delete(mayor)
    try theirs.save()
    mine.processPendingChanges()
    #expect(!told.isEmpty && told.allSatisfy { $0 == "Ville North" })
    #expect(read.isDeleted && !read.isFault && read.name == "Ville" && read.region === area)
    #expect(area.isDeleted && area.name == "North")
    #expect(head.isDeleted && head.name == "Ann" && head.town.isDeleted)
    observation.cancel()
  }

  @Test(
    "A removed object is registered until the merge ends, and its values stay readable",
    arguments: [true, false])
  func registration(mergesAutomatically: Bool) async throws {
    let (mine, theirs) = (newContext(), newContext())
    let region = Region(context: theirs)
    let town = Town(context: theirs)
    (region.name, town.name, town.region) = ("North", "Ville", region)
    try theirs.save()
    mine.refreshAllObjects()
    mine.automaticallyMergesChangesFromParent = mergesAutomatically
    let read = try #require(try mine.existingObject(with: town.objectID) as? Town)
    let area = read.region
    #expect(read.name == "Ville" && area.name == "North")
    var told: [String] = []
    let observation = mine.observe { note in
      guard note.deletedObjects.contains(read) else { return }
      let isRegistered = read.managedObjectContext != nil
      told.append("\(note.kind) \(isRegistered) \(read.isDeleted) \(read.name) \(read.region.name)")
    }
    let events = theirs.events()
    theirs.delete(region)
    try theirs.save()
    for await event in events where event.kind == .didSave {
      if !mergesAutomatically { mine.mergeChanges(fromContextDidSave: event) }
      break
    }
    mine.processPendingChanges()
    #expect(told == ["objectsDidChange true true Ville North", "didMerge false true Ville North"])
    #expect(read.isDeleted && read.name == "Ville" && read.region === area && area.name == "North")
    #expect(read.managedObjectContext == nil && mine.registeredObject(for: town.objectID) == nil)
    #expect(mine.registeredObjects.isEmpty && !mine.hasChanges)
    let committed = read.committedValues(forKeys: ["name"])
    #expect(committed["name"] as? String == "Ville" && read.changedValues().isEmpty)
    observation.cancel()
  }

  @Test(
    "If a removed object was never read, its required relationship has an object without values"
  )
  func neverRead() throws {
    let (mine, theirs) = (newContext(), newContext())
    let region = Region(context: theirs)
    let town = Town(context: theirs)
    town.region = region
    let mayor = Mayor(context: theirs)
    mayor.town = town
    try theirs.save()
    mine.refreshAllObjects()
    let fault = try #require(mine.object(with: mayor.objectID) as? Mayor)
    theirs.delete(region)
    theirs.delete(mayor)
    try theirs.save()
    mine.refreshAllObjects()
    let absent = fault.town
    #expect(fault.isDeleted && fault.name.isEmpty && absent.isDeleted && absent.name.isEmpty)
    #expect(absent.region.isDeleted && absent.region.name.isEmpty && absent.managedObjectContext == nil)
    #expect(!mine.hasChanges)
    try mine.save()
  }

  @Test(
    "A required relationship to a removed target shows a deleted object, and a save fails",
    arguments: [true, false])
  func targetRemoved(isNew: Bool) throws {
    let (mine, theirs) = (newContext(), newContext())
    mine.automaticallyMergesChangesFromParent = true
    let (seats, wearers) = (
      (0..<3).map { _ in Seat(context: mine) }, (0..<3).map { _ in Wearer(context: mine) }
    )
    var (ticket, badge) = (Ticket(context: mine), Badge(context: mine))
    (ticket.seat, badge.wearer) = (seats[0], wearers[0])
    try mine.save()
    if isNew { (ticket, badge) = (Ticket(context: mine), Badge(context: mine)) }
    (ticket.seat, badge.wearer) = (seats[1], wearers[1])
    theirs.refreshAllObjects()
    for id in [seats[1].objectID, wearers[1].objectID] { theirs.delete(try theirs.existingObject(with: id)) }
    try theirs.save()
    mine.processPendingChanges()
    #expect(ticket.seat.isDeleted && badge.wearer.isDeleted)
    #expect(throws: PerdureError.self) { try mine.save() }
    #expect(ticket.seat.isDeleted && badge.wearer.isDeleted)
    (ticket.seat, badge.wearer) = (seats[2], wearers[2])
    try mine.save()
    #expect(ticket.seat === seats[2] && badge.wearer === wearers[2])
  }

  @Test("A new object whose required target this context deletes shows a deleted object, and a save fails")
  func targetDeletedHere() throws {
    for isStored in [true, false] {
      let context = newContext()
      let (seats, wearers) = (
        (0..<2).map { _ in Seat(context: context) }, (0..<2).map { _ in Wearer(context: context) }
      )
      (seats[0].number, wearers[0].number) = (7, 8)
      if isStored { try context.save() }
      let (ticket, badge) = (Ticket(context: context), Badge(context: context))
      (ticket.seat, badge.wearer) = (seats[0], wearers[0])
      context.delete(seats[0])
      context.delete(wearers[0])
      context.processPendingChanges()
      #expect(ticket.seat.isDeleted && badge.wearer.isDeleted, "stored: \(isStored)")
      let picture = try TypedSnapshot(ticket, including: \.seat)
      #expect(picture.seat.number == 0)
      #expect(ticket.value(forKey: "seat") == nil && badge.value(forKeyPath: "wearer.number") == nil)
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.details.map(\.code.rawValue) == [1570, 1570], "stored: \(isStored)")
      #expect(ticket.seat.isDeleted && badge.wearer.isDeleted, "stored: \(isStored)")
      (ticket.seat, badge.wearer) = (seats[1], wearers[1])
      try context.save()
      #expect(ticket.seat === seats[1] && badge.wearer === wearers[1])
    }
  }

  @Test("A required relationship of a new object that was never set shows a deleted object")
  func neverSet() throws {
    let context = newContext()
    let (ticket, badge) = (Ticket(context: context), Badge(context: context))
    #expect(ticket.seat.isDeleted && badge.wearer.isDeleted && ticket.seat.number == 0)
    ticket.seat.number = 3
    #expect(refused(context) == ["133000 number"])
    #expect(refused(context) == ["1570 seat", "1570 wearer"])
    try ticket.setCheckedValue(nil, forKey: "seat")
    #expect(ticket.seat.isDeleted)
    (ticket.seat, badge.wearer) = (Seat(context: context), Wearer(context: context))
    try context.save()
  }

  @Test("A changed object that another context deleted shows its last values with its changes")
  func changedAndRemoved() throws {
    let (mine, theirs) = (newContext(), newContext())
    let region = Region(context: theirs)
    let town = Town(context: theirs)
    (region.name, town.name, town.region) = ("North", "Ville", region)
    try theirs.save()
    mine.refreshAllObjects()
    let changed = try #require(try mine.existingObject(with: town.objectID) as? Town)
    let other = try #require(try mine.existingObject(with: region.objectID) as? Region)
    other.name = "South"
    changed.name = "Town"
    theirs.delete(region)
    try theirs.save()
    mine.refreshAllObjects()
    #expect(changed.isDeleted && changed.name == "Town" && changed.region === other && other.name == "South")
    mine.mergePolicy = .mergeByPropertyStoreTrump
    try mine.save()
    #expect(changed.isDeleted && other.isDeleted && !mine.hasChanges)
  }

  @Test("The next save reports the refused changes and links of an object that another context removed")
  func refusedLinks() throws {
    let (mine, theirs) = (newContext(), newContext())
    let region = Region(context: mine)
    let towns = (0..<4).map { number in
      let town = Town(context: mine)
      (town.name, town.region) = ("\(number)", region)
      return town
    }
    let kept = customer("k", "kept", mine)
    try mine.save()
    theirs.refreshAllObjects()
    for town in towns { theirs.delete(try theirs.existingObject(with: town.objectID)) }
    theirs.delete(try theirs.existingObject(with: region.objectID))
    try theirs.save()
    mine.refreshAllObjects()
    towns[0].name = "x"
    #expect(refused(mine) == ["133000 name"])
    kept.region = region
    #expect(kept.region == nil && refused(mine) == ["133000 region"])
    region.customers.insert(kept)
    #expect(refused(mine) == ["133000 customers"])
    region.towns.insert(towns[1], at: 3)
    #expect(refused(mine) == ["133000 towns"])
    region.towns.move(towns[1], to: 0)
    #expect(refused(mine) == ["133000 towns"])
    towns[0].setValue("y", forKey: "name")
    towns[2].region = region
    kept.name = "new"
    #expect(refused(mine) == ["133000 name", "133000 region"])
    try mine.save()
    #expect(try stored("k")?.name == "new")
    kept.region = region
    mine.rollback()
    #expect(!mine.hasChanges)
    try mine.save()
    kept.region = region
    mine.reset()
    #expect(!mine.hasChanges)
  }

  @Test("Replacing a member by a removed object is refused, and the member stays")
  func replacedByRemoved() throws {
    let (mine, theirs) = (newContext(), newContext())
    let (region, other) = (Region(context: mine), Region(context: mine))
    let towns = (0..<4).map { number in
      let town = Town(context: mine)
      (town.name, town.region) = ("\(number)", number < 3 ? region : other)
      return town
    }
    try mine.save()
    theirs.refreshAllObjects()
    theirs.delete(try theirs.existingObject(with: towns[3].objectID))
    try theirs.save()
    mine.refreshAllObjects()
    region.towns.replace(at: 1, with: towns[3])
    #expect(!refused(mine).isEmpty)
    try mine.save()
    #expect(region.towns.map(\.name) == ["0", "1", "2"])
  }

  @Test("An object refuses changes after its deletion is saved")
  func ownDeletion() throws {
    let context = newContext()
    let customer = customer("k", "stored", context)
    try context.save()
    customer.name = "name"
    context.delete(customer)
    try context.save()
    #expect(!customer.isDeleted && customer.name == "name")
    customer.name = "late"
    #expect(refused(context) == ["133000 name"] && customer.name == "name")
    customer.setPrimitiveValue(3, forKey: "number")
    customer.setPrimitiveValue("sad", forKey: "mood")
    #expect(refused(context) == ["133000 number", "133000 mood"] && customer.number == 0)
    try context.save()
  }

  // MARK: New objects

  @Test("A new object that was deleted is always shown as deleted")
  func deletedNew() throws {
    let context = newContext()
    let new = customer("k", "name", context)
    context.delete(new)
    #expect(new.isDeleted && !new.isInserted && !context.hasChanges)
    context.processPendingChanges()
    #expect(new.isDeleted && new.managedObjectContext == nil && new.name == "name" && !context.hasChanges)
    new.name = "late"
    #expect(refused(context) == ["133000 name"])
    try context.save()
    #expect(try container.newContext().count(for: Customer.fetchRequest()) == 0)
  }

  @Test("A new object refuses values and links as soon as it is deleted")
  func deletedNewRefuses() throws {
    let context = newContext()
    let (region, bill) = (Region(context: context), Bill(context: context))
    try context.save()
    func deleted() -> Customer {
      let new = customer("k", "name", context)
      context.delete(new)
      return new
    }
    let changes: [(String, (Customer) -> Void)] = [
      ("name", { $0.name = "late" }), ("name", { $0.setValue("late", forKey: "name") }),
      ("number", { $0.setPrimitiveValue(3, forKey: "number") }), ("mood", { $0.mood = "sad" }),
      ("mood", { $0.setPrimitiveValue("sad", forKey: "mood") }), ("region", { $0.region = region }),
      ("bills", { $0.bills.insert(bill) }), ("customer", { bill.customer = $0 }),
      ("customers", { region.customers.insert($0) }),
    ]
    for (property, change) in changes {
      let new = deleted()
      change(new)
      #expect(new.name == "name" && new.number == 0 && new.mood == nil && new.region == nil)
      #expect(new.bills.isEmpty && bill.customer == nil && region.customers.isEmpty)
      #expect(refused(context) == ["133000 \(property)"])
      try context.save()
    }
    #expect(try stored("k") == nil)
  }

  @Test("prepareForDeletion can change new objects that are deleted with the object")
  func preparedTogether() throws {
    let context = try Sandbox(Shop.self, Counter.self).container.newContext()
    let shop = Shop(context: context)
    let counters = (0..<2).map { _ in Counter(context: context) }
    for counter in counters { counter.shop = shop }
    context.delete(shop)
    context.delete(counters[0])
    context.processPendingChanges()
    #expect(!context.hasChanges && shop.isDeleted && counters.allSatisfy(\.isDeleted))
    try context.save()
  }

  // MARK: Ids

  @Test("A context that merges automatically finds an object that a background save inserted")
  func idOfLaterSave() async throws {
    let (merging, plain) = (newContext(), newContext())
    merging.automaticallyMergesChangesFromParent = true
    let id = try await container.performBackgroundTask { context in
      let customer = Customer(context: context)
      customer.key = "b"
      try context.save()
      return customer.objectID
    }
    let error = #expect(throws: PerdureError.self) { try plain.existingObject(with: id) }
    #expect(error?.code == .objectNotFound && error?.message.contains("refreshAllObjects()") == true)
    plain.refreshAllObjects()
    #expect(try plain.existingObject(with: id).value(forKey: "key") as? String == "b")
    #expect(try merging.existingObject(with: id).value(forKey: "key") as? String == "b")
  }
}
