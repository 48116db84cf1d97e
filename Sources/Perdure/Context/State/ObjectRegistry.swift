// The instances of a context: which there are, and what they share.
//
// Invariants:
//   C1. There is at most one registered instance of a reference.

internal import PerdurePredicates

/// The instances of a context, by reference, and their memory.
final class ObjectRegistry {
  let graph: GraphSchema
  /// The memory of the objects, also behind a plain pointer.
  let memoryOwner = ObjectMemoryOwner()
  let memory: UnsafeMutablePointer<ObjectMemory>
  // Not checked for exclusivity at run time, which would cost more than the accesses. No function of these types calls
  // anything that could come back to the context.
  @exclusivity(unchecked) var identityMap = IdentityMap()
  @exclusivity(unchecked) var siblingGroups = SiblingGroups()
  /// The number of instances in memory, those of removed objects included. While there are any, the context keeps
  /// itself alive.
  @exclusivity(unchecked) var instanceCount = 0
  /// The registered instances, if the context retains them.
  @exclusivity(unchecked) private var retained: [ObjectIdentifier: ManagedObject]?
  /// The instances of removed objects, while the program holds them. Relationships of other removed instances lead to
  /// them, and an undo brings them back.
  @exclusivity(unchecked) private(set) var removedInstances: [ObjectReference: Unmanaged<ManagedObject>] = [:]
  /// The cached results of fetched properties, by owner and name (FP1 in ContextCore+Fetched.swift).
  @exclusivity(unchecked) var cachedFetches: [ObjectReference: [String: [ObjectReference]]] = [:]
  /// Whether the handle of the context is gone. Unsaved changes then retain no instances.
  @exclusivity(unchecked) var isAbandoned = false

  init(_ graph: GraphSchema) {
    self.graph = graph
    memory = memoryOwner.memory
  }

  deinit { identityMap.deallocate() }

  // MARK: Instances

  /// Whether an instance is one of this context's, and its object is not gone.
  func has(_ object: ManagedObject) -> Bool {
    !object.header.pointee.isGone && object.header.pointee.memory == memory
  }

  /// The one instance of a reference.
  func instance(of reference: ObjectReference) -> ManagedObject {
    if let object = identityMap.object(reference) { return object }
    return makeInstance(of: reference)
  }

  /// The first instance of a reference.
  func makeInstance(of reference: ObjectReference) -> ManagedObject {
    graph.uncountedShape(of: reference)._withUnsafeGuaranteedRef { shape in
      shape.objectClass.init(ObjectSeed(header: .make(reference, shape, in: memory)))
    }
  }

  func attach(_ overlay: ObjectOverlay, to object: ManagedObject) {
    if !isAbandoned { overlay.object = object }
    object.header.pointee.overlay = .passUnretained(overlay)
    if overlay.changesRow { object.header.pointee.shut() }
  }

  /// The instance that a relationship of a gone object leads to. It may itself be gone, if the
  /// program still holds it.
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

  /// Keeps the instance of a removed object findable while the program holds it.
  func noteRemoved(_ object: ManagedObject) {
    removedInstances[object.reference] = .passUnretained(object)
  }

  /// Registers the instance of a removed object again.
  func forgetRemoved(_ reference: ObjectReference) -> ManagedObject? {
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

  /// Lets go of all instances.
  func releaseRetained() {
    let released = retained
    retained = nil
    // Their ends come back here.
    withExtendedLifetime(released) {}
  }

  /// Keeps an instance that is registered, where those are to be kept.
  @inline(__always)
  func retain(_ object: ManagedObject) {
    if retained != nil { retained?[ObjectIdentifier(object)] = object }
  }

  /// Lets go of an instance that is registered no more.
  func release(_ object: ManagedObject) {
    guard retained != nil else { return }
    let released = retained?.removeValue(forKey: ObjectIdentifier(object))
    withExtendedLifetime(released) {}
  }

  // MARK: Siblings

  /// The siblings of an object, also where it was handed out by a walk that noted none.
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

  /// The instance that has a header is being freed.
  ///
  /// - Returns: Whether its siblings keep the header.
  @inline(never)
  func leaveSiblings(_ header: UnsafeMutablePointer<ObjectHeader>) -> Bool {
    // A drowsy object has not read its row, which the next instance may get.
    if siblingGroups.keepsHeaders(of: header), header.pointee.row != nil, !header.pointee.isGone,
      header.pointee.wakefulness.contains(.drowsy), header.pointee.isCurrent
    {
      header.pointee.epoch = memory.pointee.epoch
    }
    return siblingGroups.leave(header)
  }

  // MARK: Cached fetches

  /// Forgets the results of an object.
  func forgetFetched(of reference: ObjectReference) {
    if !cachedFetches.isEmpty { cachedFetches[reference] = nil }
  }
}
