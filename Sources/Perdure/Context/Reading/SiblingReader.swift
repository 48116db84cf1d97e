// Relationships of siblings, read for many siblings at once (SiblingRelation.swift).

internal import PerdurePredicates

/// Reads the relationships of whole blocks of siblings.
final class SiblingReader {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let rows: RowLoader
  // The exclusivity of accesses is not checked at run time: no access calls code that accesses the
  // property.
  /// A reusable buffer for the references that an index returns during a walk.
  @exclusivity(unchecked) var found: [ObjectReference] = []

  init(rows: RowLoader, registry: ObjectRegistry, viewState: ViewState, pending: PendingChanges) {
    graph = viewState.graph
    self.registry = registry
    self.viewState = viewState
    self.pending = pending
    self.rows = rows
  }

  /// The maximum number of references in one request, if it reads ahead for siblings.
  private static let referenceCountMax = 4096

  /// The instance of a sibling. Creates it if there is none.
  func instance(at position: Int, of group: SiblingGroup) -> ManagedObject {
    let reference = group.references[position]
    if let object = registry.identityMap.object(reference) {
      registry.note(object.header, position, of: group)
      return object
    }
    return graph.uncountedShape(of: reference)._withUnsafeGuaranteedRef { shape in
      let waiting = group.kind == .neighbours ? nil : group.takeHeader(at: position)
      let header =
        waiting ?? registry.neighbourHeader(of: reference) ?? .make(reference, shape, in: registry.memory)
      registry.note(header, position, of: group)
      return shape.objectClass.init(ObjectSeed(header: header))
    }
  }

  // MARK: To-one

  /// The target of a to-one relationship that is a column of the owner's row.
  @inline(__always)
  func instance(of target: ObjectReference, at slot: Int, of owner: ManagedObject) -> ManagedObject {
    if let object = registry.identityMap.object(target) {
      // Without a group, the row of a fault is read alone. So the fault becomes a sibling.
      let header = object.header
      if header.pointee.row != nil || header.pointee.groupNumber != 0 || header.pointee.overlay != nil {
        return object
      }
    }
    return owner.header.pointee.groupNumber == 0
      ? registry.instance(of: target) : sibling(target, at: slot, of: owner)
  }

  @inline(never)
  private func sibling(_ target: ObjectReference, at slot: Int, of owner: ManagedObject) -> ManagedObject {
    guard let group = registry.siblingGroup(of: owner) else { return registry.instance(of: target) }
    let position = Int(owner.header.pointee.groupPosition)
    let block = position / group.blockCount
    let relationship = owner.shape.relationship(slot)
    let known = group.relations.find(relationship, block: block, epoch: viewState.epoch)
    if known == nil {
      // For a wide group, the targets of the block are read in one request.
      let isWide = group.kind != .neighbours && !group.isNarrow
      let near =
        isWide
        ? registry.siblingGroups.neighbourhood(of: target)
        : registry.neighbours(of: target)
      if let near {
        return instance(at: Neighbourhoods.position(target), of: near)
      }
      // The targets of distant siblings are read one by one (GS4).
      if group.depth >= SiblingGroup.depthMax { return registry.instance(of: target) }
    }
    let relation = known ?? columnRelation(relationship, block, of: group)
    guard let place = relation.range(of: position)?.first, let targets = relation.group,
      targets.references[Int(relation.places[place])] == target
    else { return registry.instance(of: target) }
    return instance(at: Int(relation.places[place]), of: targets)
  }

  /// The targets in the columns of a block of siblings; of all siblings if `block` is nil. Skips
  /// siblings that have neither a loaded row nor an unsaved value of the column.
  private func columnRelation(
    _ relationship: RelationshipShape, _ block: Int?, of group: SiblingGroup
  ) -> SiblingRelation {
    let positions = block.map(group.positions) ?? group.references.indices
    var builder = SiblingRelationBuilder(relationship)
    for position in positions {
      if let target = guessedTarget(relationship, at: position, of: group) {
        builder.add(CollectionOfOne(target))
      } else {
        builder.skip()
      }
    }
    return keep(builder, relationship, block, positions.lowerBound, in: group)
  }

  /// The probable target in a column of a sibling (RG1).
  private func guessedTarget(
    _ relationship: RelationshipShape, at position: Int, of group: SiblingGroup
  ) -> ObjectReference? {
    let reference = group.references[position]
    guard relationship.isSame(as: graph, of: reference) else { return nil }
    let header = registry.identityMap.object(reference)?.header ?? group.header(at: position)
    guard let header else { return nil }
    if let overlay = header.pointee.overlay?.takeUnretainedValue(), overlay.value(relationship.slot) != nil {
      return overlay.reference(relationship.slot)
    }
    guard let row = header.pointee.loadedRow else { return nil }
    let field = row.fields[relationship.slot]
    return field.kind == .reference && row.isPresent(field) ? row.reference(field) : nil
  }

  /// Caches the target of a to-one relationship if later reads can use it without further checks
  /// (KR3, KR4).
  @inline(never)
  func keep(_ target: ManagedObject?, _ slot: Int, of owner: ManagedObject) {
    guard viewState.readFailure == nil, canKeep(owner), owner.header.keptTarget(slot) == nil else { return }
    if let target {
      guard canKeep(target) else { return }
      target.header.pointee.isKept = true
    }
    owner.header.keep(slot, isToMany: false, target.map { Unmanaged.passUnretained($0).toOpaque() })
  }

  /// Whether an object can be used without further checks: no hook is due, and its row equals the
  /// view's row or is overlaid by unsaved changes.
  @inline(__always)
  func canKeep(_ object: ManagedObject) -> Bool {
    let header = object.header
    if header.pointee.isReady { return true }
    return header.pointee.overlay != nil && header.pointee.wakefulness.isDisjoint(with: [.gone, .hookIsDue])
      && (header.pointee.overlay?.takeUnretainedValue().isNew == true || header.pointee.row != nil)
  }

  // MARK: By an index

  /// The targets of an object and of its siblings, as the store has them. The relationship must not
  /// be a column.
  ///
  /// - Returns: nil if the targets must be read for this object alone (see `siblingsAsStored` and
  ///   `askedRelation`).
  func related(
    to owner: ManagedObject, by slot: Int
  ) -> (relation: SiblingRelation, range: Range<Int>)? {
    guard let group = siblingsAsStored(of: owner, slot) else { return nil }
    let relationship = owner.shape.relationship(slot)
    let position = Int(owner.header.pointee.groupPosition)
    let block = position / group.blockCount
    guard
      let relation = group.relations.find(relationship, block: block, epoch: viewState.epoch)
        ?? askedRelation(relationship, block, of: group),
      let range = relation.range(of: position)
    else { return nil }
    return (relation, range)
  }

  /// The number of targets in the store. Only one number is read at the first use of a
  /// relationship. After that, the numbers of a block of siblings are read in one request.
  ///
  /// - Returns: nil if the number must be read for this object alone.
  func count(of owner: ManagedObject, _ slot: Int) -> Int? {
    guard let group = siblingsAsStored(of: owner, slot) else { return nil }
    let position = Int(owner.header.pointee.groupPosition)
    let relationship = owner.shape.relationship(slot)
    guard relationship.form != .column, let index = relationship.index else { return nil }
    let block = position / group.blockCount
    let relation = group.relations.find(relationship, block: block, epoch: viewState.epoch)
    if let known = relation?.range(of: position)?.count { return known }
    let counts =
      group.relations.findCounts(relationship, block: block, epoch: viewState.epoch)
      ?? readCounts(relationship, index, block, of: group)
    return counts?.count(of: position)
  }

  /// Reads the numbers of targets of a block of siblings. Returns nil for a single sibling, for the
  /// first read of each relationship, and if the store cannot be read: the read for one object
  /// reports the error.
  private func readCounts(
    _ relationship: RelationshipShape, _ index: StoreIndex, _ block: Int, of group: SiblingGroup
  ) -> SiblingCounts? {
    guard group.references.count > 1, !group.relations.isFirstCount(slot: relationship.slot) else {
      return nil
    }
    let positions = group.positions(ofBlock: block)
    let owners = owners(relationship, positions, in: group)
    var found: [Int] = []
    found.reserveCapacity(owners.count)
    viewState.statistics.relationshipCountRequestCount += 1
    do {
      try viewState.view.appendCounts(of: owners.map { group.references[$0] }, in: index, to: &found)
    } catch {
      return nil
    }
    var counts = [Int?](repeating: nil, count: positions.count)
    for (owner, count) in zip(owners, found) { counts[owner - positions.lowerBound] = count }
    let read = SiblingCounts(
      relationship: relationship, block: block, epoch: viewState.epoch, first: positions.lowerBound,
      counts: counts)
    group.relations.add(read)
    return read
  }

  /// The positions of the siblings that have the relationship and are not new.
  private func owners(
    _ relationship: RelationshipShape, _ positions: Range<Int>, in group: SiblingGroup
  ) -> [Int] {
    positions.filter { position in
      let reference = group.references[position]
      return relationship.isSame(as: graph, of: reference) && !pending.isNew(reference)
    }
  }

  /// The siblings of an object; nil if it has none. Nil also if the object is new or removed, if
  /// its relationship has unsaved changes, or if the context hides links to removed objects.
  private func siblingsAsStored(of owner: ManagedObject, _ slot: Int) -> SiblingGroup? {
    guard viewState.vanished.isEmpty, !owner.header.pointee.isGone else { return nil }
    if let overlay = owner.overlay,
      overlay.isNew || overlay.delta(slot) != nil || overlay.order(slot) != nil
    {
      return nil
    }
    return registry.readingGroup(of: owner)
  }

  /// Reads a relationship of a block of siblings. Returns nil for a single sibling, for distant
  /// siblings (GS4), and if the store cannot be read. Returns nil also for the first read of each
  /// relationship, because the program possibly reads the relationship of only one sibling.
  private func askedRelation(
    _ relationship: RelationshipShape, _ block: Int, of group: SiblingGroup
  ) -> SiblingRelation? {
    guard group.references.count > 1, group.depth < SiblingGroup.depthMax,
      !group.relations.isFirst(slot: relationship.slot)
    else { return nil }
    return indexRelation(relationship, block, of: group, countMax: Self.referenceCountMax)
  }

  private func indexRelation(
    _ relationship: RelationshipShape, _ block: Int?, of group: SiblingGroup, countMax: Int,
    wantsRows: Bool = false
  ) -> SiblingRelation? {
    // The store does not contain transient relationships.
    guard let index = relationship.index else { return nil }
    let positions = block.map(group.positions) ?? group.references.indices
    let owners = owners(relationship, positions, in: group)
    var (found, ends) = ([ObjectReference](), [Int]())
    var rows: [ObjectReference: LeasedRow] = [:]
    viewState.statistics.relationshipRequestCount += 1
    do {
      let request = RelationshipRequest(
        owners: owners.map { group.references[$0] }, index: index, order: relationship.order,
        countMax: countMax, wantsRows: wantsRows)
      try viewState.view.appendReferences(request, to: &found, ends: &ends) { reference, row in
        rows[reference] = LeasedRow(row, of: viewState.view)
      }
    } catch {
      // The error is reported when the relationship is read for one owner alone.
      return nil
    }
    var builder = SiblingRelationBuilder(relationship)
    var (next, start) = (0, 0)
    for position in positions {
      guard next < ends.count, owners[next] == position else {
        builder.skip()
        continue
      }
      builder.add(found[start..<ends[next]])
      (start, next) = (ends[next], next + 1)
    }
    let relation = keep(builder, relationship, block, positions.lowerBound, in: group)
    if !rows.isEmpty, let targets = relation.group { self.rows.readBlock(0, of: targets, known: rows) }
    return relation
  }

  /// - Parameter block: nil for all siblings, whose targets are then read in one request.
  private func keep(
    _ builder: SiblingRelationBuilder, _ relationship: RelationshipShape, _ block: Int?, _ first: Int,
    in group: SiblingGroup
  ) -> SiblingRelation {
    let references = builder.references
    var targets: SiblingGroup?
    if !references.isEmpty {
      let blockCount = block == nil ? references.count : SiblingGroup.blockCount
      targets = registry.siblingGroups.makeLasting(
        references, .targets, blockCount: blockCount, depth: group.depth + 1, in: registry.memoryOwner)
    }
    let relation = builder.finish(
      relationship, block: block, epoch: viewState.epoch, first: first, group: targets)
    group.relations.add(relation)
    return relation
  }

  // MARK: Results of fetches

  /// Makes siblings of the objects of a fetch.
  ///
  /// - Parameter blockCount: The number of rows that are read together.
  /// - Returns: nil if there are no rows to read together.
  func makeSiblings(_ objects: [ManagedObject], blockCount: Int, isPrefetching: Bool) -> SiblingGroup? {
    guard objects.count > 1 || isPrefetching && !objects.isEmpty else { return nil }
    let group = registry.siblingGroups.makeLasting(
      objects.map(\.reference), .result, blockCount: blockCount, in: registry.memoryOwner)
    for position in objects.indices { registry.note(objects[position].header, position, of: group) }
    return group
  }

  /// Reads the objects along a path from the objects of a group, with their rows. Each relationship
  /// that is not a column takes a request. The rows of its targets take another one if the store
  /// did not pass them with the first.
  func prefetch(_ names: ArraySlice<String>, of group: SiblingGroup) {
    guard let name = names.first else { return }
    for block in 0..<(group.references.count + group.blockCount - 1) / group.blockCount {
      rows.readBlock(block, of: group)
    }
    for relationship in relationships(named: name, of: group) {
      let relation =
        group.relations.find(relationship, epoch: viewState.epoch)
        ?? (relationship.form == .column
          ? columnRelation(relationship, nil, of: group)
          : indexRelation(relationship, nil, of: group, countMax: .max, wantsRows: true))
      guard let targets = relation?.group else { continue }
      rows.readBlock(0, of: targets)
      prefetch(names.dropFirst(), of: targets)
    }
  }

  /// The relationships with a name in the entities of a group's objects. There may be several if
  /// the objects are in several stores.
  private func relationships(named name: String, of group: SiblingGroup) -> [RelationshipShape] {
    var found: [RelationshipShape] = []
    for number in Set(group.references.map(\.entityNumber)).sorted() {
      guard let relationship = graph.shape(numbered: number).relationships.first(where: { $0.name == name }),
        !found.contains(where: relationship.isSame)
      else { continue }
      found.append(relationship)
    }
    return found
  }
}
extension RelationshipShape {
  /// Whether an object has this relationship.
  func isSame(as graph: GraphSchema, of reference: ObjectReference) -> Bool {
    let shape = graph.shape(of: reference)
    guard slot < shape.slotCount, shape.isRelationship(slot) else { return false }
    return isSame(as: shape.relationship(slot))
  }
}
