import Perdure
import PerdureTestSupport
import Testing

/// Uses instances at random. Saves, merges and other contexts have changed or removed the objects
/// of these instances.
@Suite("Random use of instances after upserts, merges and deletions by other contexts")
struct RemovedInstanceRandomTests {
  private typealias Holder = RemovedInstanceHolder

  /// The contexts of a random history, and the stores or parents that they save into.
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
    let classes: [ManagedObject.Type] = [Buyer.self, Receipt.self, Stamp.self]
    guard setting == .severalStores else {
      return try Sandbox(Buyer.self, Receipt.self, Stamp.self).container
    }
    let names = classes.map { $0.entityDescription.name }
    let model = try ManagedObjectModel(
      classes.map(\.entityDescription), configurations: ["East": names, "West": names])
    let container = PersistentContainer(
      name: "Buyers", model: model, classes: classes,
      storeDescriptions: ["East", "West"].map(Library.memory))
    try container.loadPersistentStores()
    return container
  }

  private static func holders(_ setting: Setting, _ container: PersistentContainer) throws -> [Holder] {
    let first = Holder(container.newContext())
    let holders = [first, Holder(container.newContext())]
    guard setting == .children else { return holders }
    return holders + (0..<2).map { _ in Holder(first.context.newChildContext(), parent: first) }
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
    switch Int.random(in: 0..<21, using: &random) {
    case 0, 1:
      let buyer = Buyer(context: context)
      try context.assign(buyer, to: store)
      (buyer.key, buyer.name) = ("k\(Int.random(in: 0..<6, using: &random))", text)
      holder.buyers.append(buyer)
    case 2:
      let receipt = Receipt(context: context)
      try context.assign(receipt, to: store)
      receipt.text = text
      holder.receipts.append(receipt)
    case 3, 10, 11:
      for found in try context.fetch(Buyer.fetchRequest()) where random.chance(40) {
        if !holder.buyers.contains(found) { holder.buyers.append(found) }
      }
    case 4, 5, 6:
      if let buyer = holder.buyers.randomElement(using: &random) {
        holder.name(buyer, text, byName: random.chance(30))
      }
    case 12:
      if let buyer = holder.buyers.randomElement(using: &random) {
        holder.number(buyer, Int.random(in: 0..<9, using: &random))
      }
    case 7, 8:
      let (receipt, buyer) = (
        holder.receipts.randomElement(using: &random), holder.buyers.randomElement(using: &random)
      )
      // A save refuses links between stores.
      if let receipt, let buyer, receipt.objectID.storeIdentifier == buyer.objectID.storeIdentifier {
        holder.link(receipt, buyer, fromBuyer: random.chance(50))
      }
    case 13:
      let stamp = Stamp(context: context)
      try context.assign(stamp, to: store)
      holder.stamps.append(stamp)
    case 14:
      for found in try context.fetch(Stamp.fetchRequest()) where random.chance(40) {
        if !holder.stamps.contains(found) { holder.stamps.append(found) }
      }
    case 15: if let stamp = holder.stamps.randomElement(using: &random) { context.delete(stamp) }
    case 16...19: changeLinks(holder, &random)
    default:
      if let buyer = holder.buyers.randomElement(using: &random) {
        context.delete(buyer)
        holder.named.remove(buyer)
      }
    }
  }

  private func changeLinks(_ holder: Holder, _ random: inout SeededGenerator) {
    guard let buyer = holder.buyers.randomElement(using: &random) else { return }
    // A save refuses links between stores.
    let stamps = holder.stamps.filter { $0.objectID.storeIdentifier == buyer.objectID.storeIdentifier }
    guard let stamp = stamps.randomElement(using: &random) else { return }
    let access = random.pick(Holder.Access.allCases)
    let count = buyer.stamps.count
    switch Int.random(in: 0..<9, using: &random) {
    case 0, 1: holder.order(buyer, .append(stamp), access)
    case 2: holder.order(buyer, .insert(stamp, at: Int.random(in: 0...count, using: &random)), access)
    case 3:
      let moved = random.chance(80) ? Array(buyer.stamps).randomElement(using: &random) ?? stamp : stamp
      holder.order(buyer, .move(moved, to: Int.random(in: 0..<max(count, 1), using: &random)), access)
    case 4: holder.order(buyer, .remove(stamp), access)
    case 5: holder.order(buyer, .set(Array(stamps.shuffled(using: &random).prefix(3))), access)
    case 6: holder.like(buyer, .append(stamp), access)
    case 7: holder.like(buyer, .remove(stamp), access)
    default: holder.like(buyer, .set(Array(stamps.shuffled(using: &random).prefix(3))), access)
    }
  }

  private func save(_ holder: Holder, _ container: PersistentContainer, _ place: Comment) throws {
    let context = holder.context
    // Otherwise the parent merges waiting saves at the end of the child's save. The parent then
    // shows another state than the child has saved.
    holder.parent?.context.processPendingChanges()

    // The list of refused changes is exact, because setting a property detects every save that a
    // fetch can merge.
    let (refused, mayHaveRefused) = (holder.refused, holder.mayHaveRefused)
    (holder.refused, holder.mayHaveRefused) = ([], false)
    context.processPendingChanges()
    // A save that writes nothing does not advance the context.
    let isWriting =
      !context.insertedObjects.isEmpty
      || context.updatedObjects.contains { $0.hasPersistentChangedValues }
    let deleted = Set(context.deletedObjects.map(\.objectID))
    let links = holder.pendingLinks()
    do throws(PerdureError) {
      try context.save()
      #expect(refused.isEmpty, place)
    } catch {
      let isRefused = error.code == .objectNotFound && (!refused.isEmpty || mayHaveRefused)
      let isFit = isRefused || refused.isEmpty && Self.isConflict(error)
      #expect(isFit, "\(place) \(error)")
      if isRefused { return try save(holder, container, place) }
      return holder.rollBack()
    }
    // A child's save also deletes objects in the parent. The parent may have changed them.
    if let parent = holder.parent {
      parent.named = parent.named.filter { !deleted.contains($0.objectID) }
    }
    let fresh = context.parent?.newChildContext() ?? container.newContext()
    for id in deleted {
      let error = #expect(throws: PerdureError.self, "\(place): a deletion") {
        try fresh.existingObject(with: id)
      }
      #expect(error?.code == .objectNotFound, place)
    }
    guard isWriting else { return #expect(holder.named.isEmpty, place) }
    try checkSaved(holder, fresh, place)
    try links.check(holder, fresh, place)
    holder.named = []
  }

  /// Compares the names and links of a holder that was saved with those that a new context shows.
  private func checkSaved(_ holder: Holder, _ fresh: ManagedObjectContext, _ place: Comment) throws {
    for buyer in holder.named where !buyer.isDeleted {
      let stored = try fresh.existingObject(with: buyer.objectID) as? Buyer
      #expect(stored?.name == buyer.name, place)
    }
    for buyer in holder.named where buyer.isDeleted {
      #expect(holder.context.mergedObjectIDs[buyer.objectID] != nil, "\(place): a named object was removed")
    }
    for receipt in holder.receipts where receipt.managedObjectContext != nil && !receipt.isDeleted {
      let stored = try fresh.existingObject(with: receipt.objectID) as? Receipt
      #expect(stored?.buyer?.objectID == receipt.buyer?.objectID, "\(place): a link")
    }
    for buyer in holder.buyers where buyer.managedObjectContext != nil && !buyer.isDeleted {
      guard let stored = try fresh.existingObject(with: buyer.objectID) as? Buyer else { continue }
      #expect(stored.stamps.objectIDs == buyer.stamps.objectIDs, "\(place): an order")
      #expect(Set(stored.likes.objectIDs) == Set(buyer.likes.objectIDs), "\(place): links")
    }
  }

  /// Whether an error is a conflict that no policy resolves: a conflict of two saved objects, or of
  /// a link to a removed object.
  private static func isConflict(_ error: PerdureError) -> Bool {
    error.code == .constraintConflict || error.code == .mergeConflict
  }

  private func check(_ holder: Holder, _ place: Comment) {
    var seen: Set<ManagedObjectID> = []
    for buyer in holder.buyers {
      let identity = ObjectIdentifier(buyer)
      let isGone = buyer.managedObjectContext == nil
      if isGone || buyer.isDeleted {
        // The read of the instance may have detected that its object was deleted.
        if buyer.managedObjectContext == nil, let last = holder.names[identity] {
          let (shown, before) = (buyer.name, last)
          // The save that removed the object may have merged another name into it before.
          #expect(shown != nil || before == nil, "\(place): the last name of \(buyer)")
          if !holder.gone.insert(identity).inserted { #expect(shown == before, place) }
        }
      } else {
        #expect(seen.insert(buyer.objectID).inserted, "\(place): two instances of one object")
        #expect(holder.context.registeredObject(for: buyer.objectID) === buyer, place)
      }
      holder.names[identity] = .some(buyer.name)
      for receipt in buyer.receipts { #expect(receipt.buyer === buyer, place) }
      for stamp in buyer.stamps { #expect(stamp.owner === buyer, place) }
      for stamp in buyer.likes { #expect(stamp.fans.contains(buyer), place) }
    }
  }
}
