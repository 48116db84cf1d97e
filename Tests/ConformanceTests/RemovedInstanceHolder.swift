import Perdure
import Testing

@Entity final class Buyer: ManagedObject {
  @Attribute(.unique) var key: String
  var name: String?
  var number: Int = 0
  @Relationship(inverse: "buyer") var receipts: ToMany<Receipt>
  @Relationship(inverse: "owner") var stamps: OrderedToMany<Stamp>
  @Relationship(inverse: "fans") var likes: ToMany<Stamp>
}

@Entity final class Receipt: ManagedObject {
  var text: String?
  @Relationship(inverse: "receipts") var buyer: Buyer?
}

@Entity final class Stamp: ManagedObject {
  var text: String?
  @Relationship(inverse: "stamps") var owner: Buyer?
  @Relationship(inverse: "likes") var fans: ToMany<Buyer>
}

/// A context, and all instances that a random test has created or fetched in it. Records the
/// changes that the context refuses.
final class RemovedInstanceHolder {
  let context: ManagedObjectContext
  var buyers: [Buyer] = []
  var receipts: [Receipt] = []
  var stamps: [Stamp] = []
  /// The name that the test last read from each instance.
  var names: [ObjectIdentifier: String?] = [:]
  /// The instances whose objects are deleted, as far as the test knows.
  var gone: Set<ObjectIdentifier> = []
  /// The changes that were refused since the last save.
  var refused: [String] = []
  /// Whether the context may have refused a change that has no effect, or a change of an object
  /// that the next save deletes. If another context has removed the object, the test cannot know
  /// whether the change was refused.
  var mayHaveRefused = false
  /// The instances that accepted a name since the last save.
  var named: Set<Buyer> = []

  /// The holder of the context's parent.
  let parent: RemovedInstanceHolder?

  init(_ context: ManagedObjectContext, parent: RemovedInstanceHolder? = nil) {
    (self.context, self.parent) = (context, parent)
  }

  /// Whether the test knows that the context refuses changes of an object: the object no longer
  /// exists, or it was deleted before its first save.
  func refusesChanges(_ object: ManagedObject) -> Bool {
    object.managedObjectContext == nil || object.isDeleted && object.objectID.isTemporaryID
  }

  /// Sets the name of an instance. The context accepts the name, or refuses it. The next save
  /// reports a refused name.
  func name(_ buyer: Buyer, _ name: String, byName: Bool) {
    let set = { if byName { buyer.setValue(name, forKey: "name") } else { buyer.name = name } }
    // The next save deletes the object, so its name does not matter.
    if buyer.isDeleted, !refusesChanges(buyer) {
      set()
      names[ObjectIdentifier(buyer)] = .some(buyer.name)
      return
    }
    let isRefused = refusesChanges(buyer)
    set()
    if buyer.name == name, !isRefused {
      named.insert(buyer)
      names[ObjectIdentifier(buyer)] = .some(name)
    } else {
      refused.append("name of \(buyer.objectID)")
    }
  }

  func rollBack() {
    context.rollback()
    (named, names) = ([], [:])
  }

  /// Sets a primitive value. The next save reports it only if the context has refused it.
  func number(_ buyer: Buyer, _ number: Int) {
    let isRefused = refusesChanges(buyer)
    buyer.setPrimitiveValue(number, forKey: "number")
    if isRefused { refused.append("number of \(buyer.objectID)") }
  }

  func link(_ receipt: Receipt, _ buyer: Buyer, fromBuyer: Bool) {
    let isRefused = refusesChanges(receipt) || refusesChanges(buyer)
    if fromBuyer { buyer.receipts.insert(receipt) } else { receipt.buyer = buyer }
    if isRefused || receipt.buyer !== buyer { refused.append("buyer of \(receipt.objectID)") }
  }
}

extension RemovedInstanceHolder {
  /// The ways to change a to-many relationship.
  enum Access: CaseIterable { case typed, byName, fromOtherEnd }

  /// One change of a to-many relationship, and its result in a plain list.
  enum LinkChange {
    case append(Stamp)
    case insert(Stamp, at: Int)
    case move(Stamp, to: Int)
    case remove(Stamp)
    case set([Stamp])

    /// The stamps that the change connects.
    var stamps: [Stamp] {
      switch self {
      case .append(let stamp), .insert(let stamp, _): [stamp]
      case .set(let stamps): stamps
      case .move, .remove: []
      }
    }

    func result(_ list: [Stamp]) -> [Stamp] {
      switch self {
      case .append(let stamp): return list.contains(stamp) ? list : list + [stamp]
      case .insert(let stamp, let position):
        return list.contains(stamp) ? list : Array(list[..<position]) + [stamp] + list[position...]
      case .move(let stamp, let position):
        guard list.contains(stamp) else { return list }
        var rest = list.filter { $0 !== stamp }
        rest.insert(stamp, at: position)
        return rest
      case .remove(let stamp): return list.filter { $0 !== stamp }
      case .set(let stamps): return stamps
      }
    }
  }

  /// Changes the ordered relationship of a buyer. The context makes the change as in a plain list,
  /// or refuses it.
  func order(_ buyer: Buyer, _ change: LinkChange, _ access: Access) {
    let before = Array(buyer.stamps)
    // A stamp that belongs to another buyer stays there.
    if case (.remove(let stamp), .fromOtherEnd) = (change, access), stamp.owner !== buyer { return }
    let isRefused = refuses(change, of: buyer, access)
    let list = access == .typed ? buyer.stamps : buyer.mutableOrderedSetValue(forKey: "stamps")
    switch (change, access) {
    case (.append(let stamp), .fromOtherEnd): stamp.owner = buyer
    case (.remove(let stamp), .fromOtherEnd): stamp.owner = nil
    case (.append(let stamp), _): list.append(stamp)
    case (.insert(let stamp, let position), _): list.insert(stamp, at: position)
    case (.move(let stamp, let position), _): list.move(stamp, to: position)
    case (.remove(let stamp), _): list.remove(stamp)
    case (.set(let stamps), .typed): buyer.stamps = OrderedToMany(stamps)
    case (.set(let stamps), _): buyer.setValue(stamps, forKey: "stamps")
    }
    let isKnown = isRefused || refuses(change, of: buyer, access)
    note(change, of: buyer, "stamps", isRefused: isKnown, before, Array(buyer.stamps), isOrdered: true)
  }

  /// Changes the unordered relationship of a buyer, as `order` changes the ordered one. Positions
  /// have no effect.
  func like(_ buyer: Buyer, _ change: LinkChange, _ access: Access) {
    let before = Array(buyer.likes)
    let isRefused = refuses(change, of: buyer, access)
    let likes = access == .typed ? buyer.likes : buyer.mutableSetValue(forKey: "likes")
    switch (change, access) {
    case (.append(let stamp), .fromOtherEnd), (.insert(let stamp, _), .fromOtherEnd):
      stamp.fans.insert(buyer)
    case (.remove(let stamp), .fromOtherEnd): stamp.fans.remove(buyer)
    case (.append(let stamp), _), (.insert(let stamp, _), _): likes.insert(stamp)
    case (.move, _): return
    case (.remove(let stamp), _): likes.remove(stamp)
    case (.set(let stamps), .typed): buyer.likes = ToMany(stamps)
    case (.set(let stamps), _): buyer.setValue(stamps, forKey: "likes")
    }
    let isKnown = isRefused || refuses(change, of: buyer, access)
    note(change, of: buyer, "likes", isRefused: isKnown, before, Array(buyer.likes), isOrdered: false)
  }

  /// Notes a change that was refused. The next save disconnects objects that are deleted here, so
  /// these do not matter.
  private func note(
    _ change: LinkChange, of buyer: Buyer, _ key: String, isRefused: Bool, _ before: [Stamp],
    _ after: [Stamp], isOrdered: Bool
  ) {
    func lasting(_ stamps: [Stamp]) -> [Stamp] {
      let lasting = stamps.filter { !$0.isDeleted || refusesChanges($0) }
      return isOrdered ? lasting : lasting.sorted { $0.objectID.uri < $1.objectID.uri }
    }
    let isOfDeleted = buyer.isDeleted && !refusesChanges(buyer)
    let isMade =
      isOfDeleted
      ? !change.stamps.contains(where: refusesChanges) : lasting(after) == lasting(change.result(before))
    let hasEffect = !isOfDeleted && lasting(change.result(before)) != lasting(before)
    if isRefused || !isMade && (hasEffect || isOfDeleted) {
      refused.append("\(key) of \(buyer.objectID): \(change), before: \(before)")
    } else if !hasEffect {
      mayHaveRefused = true
    }
  }

  /// Whether the test knows that the object whose relationship is set refuses a change. That object
  /// is the stamp or the buyer.
  private func refuses(_ change: LinkChange, of buyer: Buyer, _ access: Access) -> Bool {
    switch (change, access) {
    case (.append(let stamp), .fromOtherEnd), (.insert(let stamp, _), .fromOtherEnd):
      refusesChanges(stamp) || refusesChanges(buyer)
    case (.remove(let stamp), .fromOtherEnd): refusesChanges(stamp)
    default: refusesChanges(buyer)
    }
  }
}

extension RemovedInstanceHolder {
  /// The links that a context has changed and not saved.
  struct PendingLinks {
    fileprivate var owners: [(stamp: Stamp, owner: Buyer?)] = []
    /// The buyers that the context has, and does not delete.
    fileprivate var present: Set<ManagedObjectID> = []
    fileprivate var likes: [(buyer: Buyer, added: Set<Stamp>, removed: Set<Stamp>)] = []
  }

  func pendingLinks() -> PendingLinks {
    var links = PendingLinks()
    links.present = Set(buyers.filter { $0.managedObjectContext != nil && !$0.isDeleted }.map(\.objectID))
    for stamp in stamps where stamp.managedObjectContext != nil && !stamp.isDeleted {
      guard stamp.changedValues().keys.contains("owner"), stamp.owner?.isDeleted != true else { continue }
      let before = stamp.committedValues(forKeys: ["owner"])["owner"] as? Buyer
      if before !== stamp.owner { links.owners.append((stamp, stamp.owner)) }
    }
    for buyer in buyers where buyer.managedObjectContext != nil && !buyer.isDeleted {
      guard buyer.changedValues().keys.contains("likes") else { continue }
      let before = buyer.committedValues(forKeys: ["likes"])["likes"] as? Set<Stamp> ?? []
      let now = Set(buyer.likes.filter { !$0.isDeleted })
      links.likes.append((buyer, now.subtracting(before), before.subtracting(now)))
    }
    return links
  }
}

extension RemovedInstanceHolder.PendingLinks {
  /// Checks after a save that a new context shows each changed link. If the save has merged an
  /// object into another one, the check uses the other one.
  func check(
    _ holder: RemovedInstanceHolder, _ fresh: ManagedObjectContext, _ place: Comment
  ) throws {
    let merged = holder.context.mergedObjectIDs
    func survivor(_ object: ManagedObject) -> ManagedObjectID { merged[object.objectID] ?? object.objectID }
    for (stamp, owner) in owners where owner != nil || stamp.managedObjectContext != nil {
      let stored = try fresh.existingObject(with: stamp.objectID) as? Stamp
      let shown = stored?.owner?.objectID
      // If another context has deleted a changed object, the save inserts the object again, with
      // its links.
      let isBack = owner == nil && shown.map(present.contains) == false
      #expect(
        isBack || shown == owner.map(survivor),
        "\(place): the owner of \(stamp) is \(shown as Any), and was \(owner as Any)")
    }
    for (buyer, added, removed) in likes where !added.isEmpty || buyer.managedObjectContext != nil {
      let stored = try fresh.existingObject(with: survivor(buyer)) as? Buyer
      let links = Set(stored?.likes.objectIDs ?? [])
      #expect(links.isSuperset(of: added.map(\.objectID)), "\(place): links of \(buyer.objectID)")
      // The remaining object has the links of all objects that were merged into it.
      let isMerged = survivor(buyer) != buyer.objectID || merged.values.contains(buyer.objectID)
      #expect(isMerged || links.isDisjoint(with: removed.map(\.objectID)), "\(place): \(buyer.objectID)")
    }
  }
}
