// What siblings are related to, got for many of them at once (SiblingRelation.swift).

internal import PerdurePredicates

/// Reads along relationships for whole blocks of siblings.
final class SiblingReader {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let rows: RowLoader

  init(_ rows: RowLoader, _ registry: ObjectRegistry, _ viewState: ViewState, _ pending: PendingChanges) {
    graph = viewState.graph
    self.registry = registry
    self.viewState = viewState
    self.pending = pending
    self.rows = rows
  }

  /// How many references an index is asked for in one request, for siblings that nobody has asked about yet.
  private static let referenceCountMax = 4096

  /// The one instance of a sibling.
  func instance(at position: Int, of group: SiblingGroup) -> ManagedObject {
    let reference = group.references[position]
    if let object = registry.identityMap.object(reference) {
      registry.note(object.header, position, of: group)
      return object
    }
    return graph.uncountedShape(of: reference)._withUnsafeGuaranteedRef { shape in
      let header =
        group.takeHeader(at: position)
        ?? .make(reference, shape, in: registry.memory)
      registry.note(header, position, of: group)
      return shape.objectClass.init(ObjectSeed(header: header))
    }
  }

  // MARK: To-one

  /// The instance at the other end of a to-one relationship that is a column of the owner's row.
  @inline(__always)
  func instance(of target: ObjectReference, at slot: Int, of owner: ManagedObject) -> ManagedObject {
    if let object = registry.identityMap.object(target) {
      // A fault that no group knows would fire by itself.
      if object.header.pointee.row != nil || object.header.pointee.groupNumber != 0 { return object }
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
    // What lies too far away is got by itself (G4).
    if known == nil, group.depth >= SiblingGroup.depthMax { return registry.instance(of: target) }
    let relation = known ?? columnRelation(relationship, block, of: group)
    guard let place = relation.range(of: position)?.first, let targets = relation.group,
      targets.references[Int(relation.places[place])] == target
    else { return registry.instance(of: target) }
    return instance(at: Int(relation.places[place]), of: targets)
  }

  /// Where the columns of siblings lead, as far as their rows are there; of all of them without a block.
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

  /// What a column of a sibling most likely holds (B1).
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

  /// Keeps where a to-one relationship leads, if that can be read without a look at anything else (L3, L4).
  @inline(never)
  func keep(_ target: ManagedObject?, _ slot: Int, of owner: ManagedObject) {
    guard viewState.readFailure == nil, canKeep(owner), owner.header.keptTarget(slot) == nil else { return }
    if let target {
      guard canKeep(target) else { return }
      target.header.pointee.isKept = true
    }
    owner.header.keep(slot, isToMany: false, target.map { Unmanaged.passUnretained($0).toOpaque() })
  }

  /// Whether an object's row is there and is the view's, or is overlaid by unsaved changes, and nobody has to be told.
  @inline(__always)
  func canKeep(_ object: ManagedObject) -> Bool {
    let header = object.header
    if header.pointee.isReady { return true }
    return header.pointee.overlay != nil && header.pointee.wakefulness.isDisjoint(with: [.gone, .drowsy])
      && (header.pointee.overlay?.takeUnretainedValue().isNew == true || header.pointee.row != nil)
  }

  // MARK: By an index

  /// What an object is related to as the store has it, where nothing is changed and it is known, or worth knowing, for
  /// its siblings too; nil when it has to be asked for by itself. The relationship is no column.
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

  /// The number of objects that an object is related to, where that follows from what is known.
  func knownCount(of owner: ManagedObject, _ slot: Int) -> Int? {
    guard let group = siblingsAsStored(of: owner, slot) else { return nil }
    let position = Int(owner.header.pointee.groupPosition)
    let relationship = owner.shape.relationship(slot)
    guard relationship.form != .column else { return nil }
    return group.relations.find(relationship, block: position / group.blockCount, epoch: viewState.epoch)?
      .range(of: position)?.count
  }

  /// The siblings of an object, if what it is related to is as the store has it.
  private func siblingsAsStored(of owner: ManagedObject, _ slot: Int) -> SiblingGroup? {
    guard viewState.vanished.isEmpty, !owner.header.pointee.isGone else { return nil }
    if let overlay = owner.overlay,
      overlay.isNew || overlay.delta(slot) != nil || overlay.order(slot) != nil
    {
      return nil
    }
    return registry.siblingGroup(of: owner)
  }

  /// Asks for a relationship of a block of siblings, unless this is the first time that somebody asks one of them: it may
  /// be the last.
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
    // Of a transient relationship the store knows nothing.
    guard let index = relationship.index else { return nil }
    let positions = block.map(group.positions) ?? group.references.indices
    let owners = positions.filter { position in
      let reference = group.references[position]
      return relationship.isSame(as: graph, of: reference) && !pending.isNew(reference)
    }
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
      // Whose entries are damaged says so when it is asked by itself.
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

  // MARK: What a fetch gave

  /// Makes siblings of the objects that a fetch gave.
  ///
  /// - Parameter blockCount: How many rows are read together.
  /// - Returns: nil where there is nothing to be read together.
  func makeSiblings(_ objects: [ManagedObject], blockCount: Int, isPrefetching: Bool) -> SiblingGroup? {
    guard objects.count > 1 || isPrefetching && !objects.isEmpty else { return nil }
    let group = registry.siblingGroups.makeLasting(
      objects.map(\.reference), .result, blockCount: blockCount, in: registry.memoryOwner)
    for position in objects.indices { registry.note(objects[position].header, position, of: group) }
    return group
  }

  /// Reads the objects that those of a group lead to along a path, with their rows: a request for each
  /// relationship that is not a column, and one for the rows at its other end if the store did not pass
  /// them with the first.
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

  /// What the entities of a group's objects have under a name: several where they are of several stores.
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
