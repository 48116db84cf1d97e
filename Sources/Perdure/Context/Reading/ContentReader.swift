// Reads the contents of places of the graph (`EditedPlace`), for undo groups.

internal import PerdurePredicates

/// Reads the contents of places as a context shows them.
final class ContentReader: EditedContentReader {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let rows: RowLoader
  private let savedLinks: SavedLinks
  private let links: LinkReader

  init(
    rows: RowLoader, savedLinks: SavedLinks, links: LinkReader, registry: ObjectRegistry,
    viewState: ViewState, pending: PendingChanges
  ) {
    graph = viewState.graph
    self.registry = registry
    self.viewState = viewState
    self.pending = pending
    self.rows = rows
    self.savedLinks = savedLinks
    self.links = links
  }

  func content(of place: EditedPlace) -> EditedContent {
    switch place {
    case .object(let reference): objectContent(reference)
    case .column(let reference, let slot):
      exists(reference) || pending.isDeleted(reference) ? .value(rows.columnValue(reference, slot)) : .absent
    case .link(let owner, let slot, let target):
      links.contains(owner, graph.shape(of: owner).relationship(slot), target) ? .linked : .absent
    case .position(let member, let owner, let slot): positionContent(member, owner, slot)
    case .transient(let reference, let slot): transientContent(reference, slot)
    }
  }

  func storedContent(of place: EditedPlace) -> EditedContent? {
    viewState.reading(place.owner, or: nil) { () -> EditedContent? in
      switch place {
      case .column(let reference, let slot):
        return .value(try viewState.readStoredRow(reference) { $0.value(slot) } ?? .null)
      case .position(let member, let owner, let slot):
        guard let order = graph.shape(of: owner).relationship(slot).order else { return .absent }
        return try savedLinks.readStoredKey(of: member, under: owner, order).map { .key($0) } ?? .absent
      case .object, .link, .transient: preconditionFailure("\(place) must be recorded with its content.")
      }
    }
  }

  /// The stored content of a link, a position or a column. If the store cannot be read, nil for a
  /// position or a column, and absent for a link.
  func storedRelation(_ place: EditedPlace) -> EditedContent? {
    guard case .link(let owner, let slot, let target) = place else { return storedContent(of: place) }
    let relationship = graph.shape(of: owner).relationship(slot)
    return savedLinks.isSavedLink(owner, relationship, target) ? .linked : .absent
  }

  /// Whether a read has failed. Then contents may be wrong.
  var hasFailed: Bool { viewState.readFailure != nil }

  /// Whether an object exists: it is new or has a row, and is not deleted.
  func exists(_ reference: ObjectReference) -> Bool {
    if let overlay = pending[reference], overlay.isNew || overlay.isDeleted { return !overlay.isDeleted }
    return rows.viewVersion(of: reference) != nil
  }

  /// The content of an object: its columns, or absent if it does not exist.
  func objectContent(_ reference: ObjectReference) -> EditedContent {
    // If the store cannot be read, the object probably exists. The undo of a group with a wrong
    // `.absent` removes it.
    guard exists(reference) || hasFailed else { return .absent }
    let (shape, overlay) = (graph.shape(of: reference), pending[reference])
    var columns = [Value](repeating: .null, count: shape.properties.count)
    if overlay?.isNew != true {
      _ = viewState.withStoredRow(reference) { row in
        for slot in columns.indices where shape.isColumn(slot) {
          columns[slot] = row.value(slot)
        }
      }
    }
    if let overlay {
      for slot in columns.indices where shape.isColumn(slot) {
        if let value = overlay.value(slot) { columns[slot] = value }
      }
    }
    let wasStored = overlay?.isUnknownToStore != true
    return .object(
      EditedObject(
        columns: columns, transients: transients(of: reference), wasStored: wasStored,
        hasPermanentID: wasStored || overlay?.hasPermanentID == true))
  }

  /// The columns of the stored row of an object whose deletion is pending. Empty for other objects.
  func storedColumns(ofDeleted reference: ObjectReference) -> [Int: Value] {
    guard let overlay = pending[reference], overlay.isDeleted, !overlay.isNew else { return [:] }
    var columns: [Int: Value] = [:]
    _ = viewState.withStoredRow(reference) { row in
      for slot in overlay.shape.properties.indices where overlay.shape.isColumn(slot) {
        columns[slot] = row.value(slot)
      }
    }
    return columns
  }

  private func positionContent(
    _ member: ObjectReference, _ owner: ObjectReference, _ slot: Int
  ) -> EditedContent {
    guard let delta = pending[owner]?.order(slot) else {
      return storedContent(of: .position(of: member, in: owner, slot: slot)) ?? .absent
    }
    if let placement = delta.placed[member] { return .key(placement.key) }
    if delta.hidden[member] != nil { return .absent }
    return storedContent(of: .position(of: member, in: owner, slot: slot)) ?? .absent
  }

  private func transientContent(_ reference: ObjectReference, _ slot: Int) -> EditedContent {
    heldValues(of: reference)[slot].flatMap { transient($0, graph.shape(of: reference).template[slot]) }
      .map { .transient($0) } ?? .absent
  }

  /// Whether a transient attribute has a value that was set. The value is lost when the instance is
  /// released or refreshed.
  func holdsTransient(_ reference: ObjectReference, _ slot: Int) -> Bool {
    heldValues(of: reference)[slot] != nil
  }

  private func transients(of reference: ObjectReference) -> [Int: HeldTransient] {
    let held = heldValues(of: reference)
    if held.isEmpty { return [:] }
    let template = graph.shape(of: reference).template
    var transients: [Int: HeldTransient] = [:]
    for (slot, value) in held { transients[slot] = transient(value, template[slot]) }
    return transients
  }

  private func heldValues(of reference: ObjectReference) -> [Int: TransientValues.Held] {
    registry.identityMap.object(reference)?.header.pointee.transients?.takeUnretainedValue().bySlot ?? [:]
  }

  /// A transient value for a group; nil for the default. An attribute that an undo has set to its
  /// default must have the same content as one whose value was lost with its instance.
  private func transient(_ held: TransientValues.Held, _ initial: Value) -> HeldTransient? {
    switch held {
    case .value(let value): return value == initial ? nil : .value(value)
    case .object(let set):
      guard let other = set.value as? ManagedObject else { return .any(set) }
      return other.header.pointee.memory == registry.memory
        ? .instance(other.reference) : .foreign(WeakInstance(other))
    }
  }
}

extension RelationshipShape {
  /// The place of a link that is not stored in a column. Both ends give the same place, so a link
  /// is recorded once.
  func canonicalEnd(
    _ owner: ObjectReference, _ target: ObjectReference, inverse: RelationshipShape?
  ) -> EditedPlace {
    guard let inverse else { return .link(owner, slot: slot, target) }
    let (here, there) = ((owner.entityNumber, slot), (target.entityNumber, inverse.slot))
    if here == there {
      let (first, second) = owner.rawValue < target.rawValue ? (owner, target) : (target, owner)
      return .link(first, slot: slot, second)
    }
    return here < there
      ? .link(owner, slot: slot, target) : .link(target, slot: inverse.slot, owner)
  }
}
