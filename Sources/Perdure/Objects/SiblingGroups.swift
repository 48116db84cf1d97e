// The sibling groups of a context (SiblingGroup.swift). The number in the header of an object
// identifies its group.
//
// A header has space only for a number and a position, so the group is looked up here by its
// number. A program begins a walk for each relationship that it iterates over, and soon ends it. So
// the context retains only the last 16 walks. The index of a walk is computed from its number. The
// groups of fetch results and of targets exist as long as one of their instances, because each
// instance retains its group (GS3 in SiblingGroup.swift).

internal import PerdurePredicates

/// The groups of a context.
///
/// A class, because the registry calls it for each instance that is made or freed. A call of a
/// struct in a property of the registry copies the struct, with its arrays' references.
final class SiblingGroups {
  private static let walkCount = 16
  // The exclusivity of accesses is not checked at run time: no function here calls code that uses
  // the groups.

  /// The last walks, so that an object finds its group after the walk has ended. A walk that
  /// continues adds its group again.
  @exclusivity(unchecked) private var walks = [SiblingGroup?](repeating: nil, count: walkCount)
  @exclusivity(unchecked) private var lastNumber: UInt32 = 0
  @exclusivity(unchecked) private var isEmpty = true
  private let lasting = LastingGroups()
  @exclusivity(unchecked) private var neighbourhoods = Neighbourhoods()
  private static let recentCount = 2
  /// The last neighbourhoods (Neighbourhoods.swift), in a ring buffer. The buffer retains them for
  /// walks that retain no object.
  @exclusivity(unchecked) private var recent: [SiblingGroup] = []
  @exclusivity(unchecked) private var nextRecent = 0

  @inline(__always)
  private func place(_ number: UInt32) -> Int { Int(number) & (Self.walkCount - 1) }

  /// Makes the group of a walk.
  func makeWalk(_ references: [ObjectReference], in memory: ObjectMemoryOwner) -> SiblingGroup {
    lastNumber = (lastNumber &+ 1) & ~SiblingGroup.lastingMark
    let group = SiblingGroup(references, .walk, number: lastNumber, in: memory)
    put(group)
    return group
  }

  /// Makes a group that exists as long as its instances, or as long as another owner retains it.
  func makeLasting(
    _ references: [ObjectReference], _ kind: SiblingGroup.Kind, blockCount: Int, depth: Int = 0,
    in memory: ObjectMemoryOwner
  ) -> SiblingGroup {
    let group = SiblingGroup(
      references, kind, number: lasting.reserve(), blockCount: blockCount, depth: depth, in: memory,
      table: lasting)
    lasting.put(group)
    return group
  }

  // MARK: Neighbourhoods

  /// The neighbourhood that contains an object, if such a neighbourhood was made in this epoch.
  @inline(__always)
  func neighbourhood(of reference: ObjectReference) -> SiblingGroup? {
    guard lasting.hasNeighbourhoods,
      let group = lasting.neighbourhood(Neighbourhoods.first(reference)), !group.isNarrow
    else { return nil }
    return group
  }

  /// Records that the program used a row that was read with a neighbourhood.
  func noteUse(ofNeighbour reference: ObjectReference) { neighbourhoods.noteUse(reference) }

  /// Makes the neighbourhood of an object whose own group does not make reads efficient. Returns
  /// nil if the entity's credit is too low (NB1).
  func makeNeighbourhood(
    of reference: ObjectReference, in memory: ObjectMemoryOwner
  ) -> SiblingGroup? {
    guard neighbourhoods.shouldRead(around: reference) else { return nil }
    let group = makeLasting(
      Neighbourhoods.references(around: reference), .neighbours,
      blockCount: Int(Neighbourhoods.idCount), in: memory)
    lasting.putNeighbourhood(group)
    if recent.count < Self.recentCount { recent.append(group) } else { recent[nextRecent] = group }
    nextRecent = (nextRecent + 1) % Self.recentCount
    isEmpty = false
    return group
  }

  // MARK: Walks

  /// Adds the group of a walk again, if a later walk has replaced it.
  @inline(__always)
  func keep(_ group: SiblingGroup) {
    if walks[place(group.number)] !== group { put(group) }
  }

  private func put(_ group: SiblingGroup) {
    walks[place(group.number)] = group
    isEmpty = false
  }

  /// Forgets all walks, and releases the last neighbourhoods.
  func removeAll() {
    guard !isEmpty else { return }
    recent = []
    nextRecent = 0
    for place in walks.indices { walks[place] = nil }
    isEmpty = true
  }

  /// The group that last returned an object, if it still exists (H3 in ObjectHeader.swift).
  @inline(__always)
  func group(of header: UnsafeMutablePointer<ObjectHeader>) -> SiblingGroup? {
    let number = header.pointee.groupNumber
    guard let group = group(numbered: number), group.number == number else { return nil }
    let position = Int(header.pointee.groupPosition)
    guard position < group.references.count, group.references[position] == header.pointee.reference else {
      return nil
    }
    return group
  }

  @inline(__always)
  private func group(numbered number: UInt32) -> SiblingGroup? {
    number & SiblingGroup.lastingMark == 0 ? walks[place(number)] : lasting[number]
  }

  /// Adds an instance to a group, and removes it from its former group (GS3).
  func join(_ header: UnsafeMutablePointer<ObjectHeader>, _ group: SiblingGroup) {
    if group.kind != .walk { _ = Unmanaged.passUnretained(group).retain() }
    let old = header.pointee.groupNumber
    header.pointee.groupNumber = group.number
    if old & SiblingGroup.lastingMark != 0, let left = lasting[old] {
      Unmanaged.passUnretained(left).release()
    }
  }

  /// Removes an instance from its group, before the instance is freed. The group must not be a
  /// walk.
  ///
  /// - Returns: Whether the group has taken the header.
  func leave(_ header: UnsafeMutablePointer<ObjectHeader>) -> Bool {
    guard let group = lasting.unmanaged(header.pointee.groupNumber) else { return false }
    // The instance retains the group until the release below (GS3).
    let isTaken = group._withUnsafeGuaranteedRef { $0.reclaimHeader(header) }
    group.release()
    return isTaken
  }
}

/// All groups that are not walks, by number. The table does not retain them: each group removes
/// itself in its deinit.
final class LastingGroups {
  // The exclusivity of accesses is not checked at run time: no function here calls code that uses
  // the table.
  @exclusivity(unchecked) private var groups: [Unmanaged<SiblingGroup>?] = []
  @exclusivity(unchecked) private var free: [UInt32] = []
  /// The number of each neighbourhood, by its first reference.
  @exclusivity(unchecked) private var neighbourhoods: [ObjectReference: UInt32] = [:]

  /// A number that no group has.
  func reserve() -> UInt32 {
    if let number = free.popLast() { return number }
    groups.append(nil)
    return UInt32(groups.count - 1) | SiblingGroup.lastingMark
  }

  func put(_ group: SiblingGroup) { groups[Self.place(group.number)] = .passUnretained(group) }

  func remove(_ group: SiblingGroup) {
    let number = group.number
    if group.kind == .neighbours, let first = group.references.first, neighbourhoods[first] == number {
      neighbourhoods[first] = nil
    }
    groups[Self.place(number)] = nil
    free.append(number)
  }

  var hasNeighbourhoods: Bool { !neighbourhoods.isEmpty }

  func neighbourhood(_ first: ObjectReference) -> SiblingGroup? { neighbourhoods[first].flatMap { self[$0] } }

  func putNeighbourhood(_ group: SiblingGroup) {
    if let first = group.references.first { neighbourhoods[first] = group.number }
  }

  @inline(__always)
  subscript(number: UInt32) -> SiblingGroup? { unmanaged(number)?.takeUnretainedValue() }

  @inline(__always)
  func unmanaged(_ number: UInt32) -> Unmanaged<SiblingGroup>? { groups[Self.place(number)] }

  @inline(__always)
  private static func place(_ number: UInt32) -> Int { Int(number & ~SiblingGroup.lastingMark) }
}
