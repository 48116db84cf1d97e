// The instances of a context, and the memory that they share.
//
// Invariants:
//   CX1. There is at most one registered instance of a reference.

internal import PerdurePredicates

/// The instances of a context, by reference, and their memory.
final class ObjectRegistry {
  let graph: GraphSchema
  /// The memory of the objects. `memory` is a direct pointer to it.
  let memoryOwner = ObjectMemoryOwner()
  let memory: UnsafeMutablePointer<ObjectMemory>
  // The exclusivity of accesses is not checked at run time: the checks cost more than the accesses.
  // No function of these types calls the context.
  @exclusivity(unchecked) var identityMap = IdentityMap()
  let siblingGroups = SiblingGroups()
  /// The number of instances in memory, including those of removed objects. While it is not 0, the
  /// context retains itself.
  @exclusivity(unchecked) var instanceCount = 0
  /// The registered instances, if the context retains them.
  @exclusivity(unchecked) private var retained: [ObjectIdentifier: ManagedObject]?
  /// The instances of removed objects, while the program retains them. They are the targets of
  /// relationships of other removed instances, and an undo registers them again.
  @exclusivity(unchecked) private(set) var removedInstances: [ObjectReference: Unmanaged<ManagedObject>] = [:]
  /// The cached results of fetched properties, by owner and name (FP1 in
  /// FetchedProperties.swift).
  @exclusivity(unchecked) var cachedFetches: [ObjectReference: [String: [ObjectReference]]] = [:]
  /// Whether the handle of the context was freed. Then unsaved changes retain no instances.
  @exclusivity(unchecked) var isAbandoned = false

  init(_ graph: GraphSchema) {
    self.graph = graph
    memory = memoryOwner.memory
  }

  deinit { identityMap.deallocate() }

  // MARK: Instances

  /// Whether an instance belongs to this context and its object still exists.
  func has(_ object: ManagedObject) -> Bool {
    !object.header.pointee.isGone && object.header.pointee.memory == memory
  }

  /// The instance of a reference. Creates it if there is none.
  func instance(of reference: ObjectReference) -> ManagedObject {
    if let object = identityMap.object(reference) { return object }
    return makeInstance(of: reference)
  }

  /// Creates the instance of a reference that has none.
  func makeInstance(of reference: ObjectReference) -> ManagedObject {
    graph.uncountedShape(of: reference)._withUnsafeGuaranteedRef { shape in
      shape.objectClass.init(ObjectSeed(header: .make(reference, shape, in: memory)))
    }
  }

  /// The reference of an object in this context, even if the instance belongs to another context.
  /// Nil if the object is in another store, or if its entity is neither the destination of the
  /// relationship nor a subentity of the destination.
  func reference(of object: ManagedObject, in relationship: RelationshipShape) -> ObjectReference? {
    // Contexts with other stores may number the same entities differently.
    guard object.header.pointee.memory == memory else {
      return reference(of: object.objectID, in: relationship)
    }
    return graph.isKind(object.reference.entityNumber, of: relationship.destination) ? object.reference : nil
  }

  /// As `reference(of:in:)` for an object, but for an id.
  func reference(of id: ManagedObjectID, in relationship: RelationshipShape) -> ObjectReference? {
    guard let reference = graph.reference(of: id),
      graph.isKind(reference.entityNumber, of: relationship.destination)
    else { return nil }
    return reference
  }

  func attach(_ overlay: ObjectOverlay, to object: ManagedObject) {
    if !isAbandoned { overlay.object = object }
    object.header.pointee.overlay = .passUnretained(overlay)
    if overlay.changesRow { object.header.pointee.shut() }
  }

  /// The target of a relationship of a removed object. It may be a removed object too, if the
  /// program still retains its instance.
  func lastInstance(of reference: ObjectReference) -> ManagedObject {
    if let object = identityMap.object(reference) { return object }
    return removedInstances[reference]?.takeUnretainedValue() ?? instance(of: reference)
  }

  /// Removes an instance from `removedInstances` when it is freed.
  func forgetRemoved(_ object: ManagedObject) {
    guard removedInstances[object.reference]?.toOpaque() == Unmanaged.passUnretained(object).toOpaque() else {
      return
    }
    removedInstances[object.reference] = nil
  }

  /// Keeps a removed object's instance findable while the program retains it.
  func noteRemoved(_ object: ManagedObject) {
    removedInstances[object.reference] = .passUnretained(object)
  }

  /// Returns the instance of a removed object, if there is one, and forgets that the object was
  /// removed.
  func takeRemoved(_ reference: ObjectReference) -> ManagedObject? {
    removedInstances.removeValue(forKey: reference)?.takeUnretainedValue()
  }

  // MARK: Retained instances

  /// Whether the context retains every registered instance.
  var retainsInstances: Bool { retained != nil }

  func retainObjects(_ retains: Bool) {
    guard retains != (retained != nil) else { return }
    guard retains else { return releaseRetained() }
    var all: [ObjectIdentifier: ManagedObject] = [:]
    for object in identityMap.objects { all[ObjectIdentifier(object)] = object }
    retained = all
  }

  /// Releases all retained instances.
  func releaseRetained() {
    let released = retained
    retained = nil
    // Frees the instances after the assignment, because their deinitializers call this registry.
    withExtendedLifetime(released) {}
  }

  /// Retains a registered instance if the context retains its instances.
  @inline(__always)
  func retain(_ object: ManagedObject) {
    if retained != nil { retained?[ObjectIdentifier(object)] = object }
  }

  /// Releases an instance that is no longer registered.
  func release(_ object: ManagedObject) {
    guard retained != nil else { return }
    let released = retained?.removeValue(forKey: ObjectIdentifier(object))
    withExtendedLifetime(released) {}
  }

  // MARK: Siblings

  /// The siblings of an object. If the object came from a walk (an iteration of a relationship)
  /// that did not record siblings, records them.
  func siblingGroup(of object: ManagedObject) -> SiblingGroup? {
    if let group = siblingGroups.group(of: object.header) { return group }
    guard object.header.pointee.isKept, let walk = memory.pointee.recentWalks.walk(at: object.reference),
      walk.count > 1
    else { return nil }
    let group = siblingGroups.makeWalk(Array(walk.references), in: memoryOwner)
    for (position, reference) in group.references.enumerated() {
      if let object = identityMap.object(reference) { note(object.header, position, of: group) }
    }
    return group
  }

  /// The group with which the row or a relationship of an object is read: its siblings, or its
  /// neighbours if there are few siblings.
  func readingGroup(of object: ManagedObject) -> SiblingGroup? {
    let group = siblingGroup(of: object)
    if let group, !group.isNarrow { return group }
    return joinNeighbours(object) ?? group
  }

  /// Makes an object a sibling of its neighbours, if they are read together.
  private func joinNeighbours(_ object: ManagedObject) -> SiblingGroup? {
    guard let group = neighbours(of: object.reference) else { return nil }
    note(object.header, Neighbourhoods.position(object.reference), of: group)
    return group
  }

  /// The neighbourhood of an object that has no useful group; nil if its rows should not be read
  /// together (NB1 in Neighbourhoods.swift).
  func neighbours(of reference: ObjectReference) -> SiblingGroup? {
    siblingGroups.neighbourhood(of: reference)
      ?? siblingGroups.makeNeighbourhood(of: reference, in: memoryOwner)
  }

  /// Removes and returns the header that waits in the neighbourhood of an object; nil if there is
  /// none. The caller owns the header.
  @inline(__always)
  func neighbourHeader(of reference: ObjectReference) -> SiblingGroup.Header? {
    guard
      let header = siblingGroups.neighbourhood(of: reference)?
        .takeHeader(at: Neighbourhoods.position(reference))
    else { return nil }
    if header.pointee.row != nil { siblingGroups.noteUse(ofNeighbour: reference) }
    return header
  }

  @inline(__always)
  func note(
    _ header: UnsafeMutablePointer<ObjectHeader>, _ position: Int, of group: SiblingGroup
  ) {
    let old = header.pointee.groupNumber
    if (old | group.number) & SiblingGroup.lastingMark != 0 {
      if old != group.number { siblingGroups.join(header, group) }
    } else {
      header.pointee.groupNumber = group.number
    }
    header.pointee.groupPosition = UInt32(truncatingIfNeeded: position)
    if group.kind == .walk { siblingGroups.keep(group) }
  }

  // MARK: Cached fetches

  /// Forgets the cached results of an object's fetched properties.
  func forgetFetched(of reference: ObjectReference) {
    if !cachedFetches.isEmpty { cachedFetches[reference] = nil }
  }
}
