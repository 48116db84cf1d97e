// The groups that can be undone and redone, within limits of their number and size.
//
// Invariants:
//   UH1. Each stack has its groups in the order of their addition. The last group is undone or
//        redone first.
//   UH2. Both stacks together have at most `levelsMax` groups and `byteCountMax` bytes. The oldest
//        undo groups are removed first.
//   UH3. `saved` has the stacks as of the last save, without the groups that UH2 has removed. A
//        rollback restores these stacks. If only some stores have committed their part of a save, a
//        group in `saved` has the committed changes as of that save. It has its other changes as of
//        the last complete save.

/// Two stacks of undo groups.
struct UndoHistory {
  enum Direction { case undo, redo }

  private struct Stacks {
    var undo: [UndoGroup] = []
    var redo: [UndoGroup] = []
    var byteCount: Int { (undo + redo).reduce(0) { $0 + $1.byteCount } }
  }

  private var stacks = Stacks()
  private var saved = Stacks()
  private var byteCount = 0
  /// The number of the store's state after the last save; 0 if there was none.
  var savedSequence: UInt64 = 0
  /// The limits of UH2; 0 for no limit.
  var levelsMax: Int { didSet { keepBounds() } }
  var byteCountMax: Int { didSet { keepBounds() } }

  init(levelsMax: Int, byteCountMax: Int) {
    (self.levelsMax, self.byteCountMax) = (levelsMax, byteCountMax)
  }

  func groups(_ direction: Direction) -> [UndoGroup] {
    direction == .undo ? stacks.undo : stacks.redo
  }

  func last(_ direction: Direction) -> UndoGroup? { groups(direction).last }

  /// The last group that has removed each object. The undo of that group will restore the object.
  ///
  /// - Complexity: O(n) for n changes in the groups.
  func groupsOfDeletions() -> [ObjectReference: UndoGroup] {
    var groups: [ObjectReference: UndoGroup] = [:]
    for group in (stacks.undo + stacks.redo).sorted(by: { $0.number < $1.number }) {
      for change in group.changes where change.after.isAbsent {
        if case .object(let reference) = change.place { groups[reference] = group }
      }
    }
    return groups
  }

  func count(_ direction: Direction) -> Int {
    direction == .undo ? stacks.undo.count : stacks.redo.count
  }

  /// Adds a group of new edits, and removes the groups that could be redone.
  ///
  /// - Parameters:
  ///   - group: The group; nil if its edits together have changed nothing.
  ///   - savedPart: The edits of the group that were saved while it was open; nil if there are
  ///     none. A rollback keeps them.
  mutating func add(_ group: UndoGroup?, savedPart: UndoGroup?) {
    byteCount -= stacks.redo.reduce(0) { $0 + $1.byteCount }
    stacks.redo = []
    if let savedPart {
      saved.redo = []
      saved.undo.append(savedPart)
    }
    if let group { put(group, .undo) }
  }

  /// Adds a group to a stack, such as the group that reverses an undo.
  ///
  /// - Parameter isSaved: Whether a hook has saved the group. Then a rollback keeps it.
  mutating func put(_ group: UndoGroup, _ direction: Direction, isSaved: Bool = false) {
    switch direction {
    case .undo: stacks.undo.append(group)
    case .redo: stacks.redo.append(group)
    }
    if isSaved {
      switch direction {
      case .undo: saved.undo.append(group)
      case .redo: saved.redo.append(group)
      }
    }
    byteCount += group.byteCount
    keepBounds()
  }

  /// Names the last group that can be undone, also in `saved`.
  mutating func setLastName(_ name: String) {
    guard let group = stacks.undo.last else { return }
    let named = UndoGroup(name: name, changes: group.changes, number: group.number)
    stacks.undo[stacks.undo.count - 1] = named
    byteCount += named.byteCount - group.byteCount
    if let position = saved.undo.lastIndex(where: { $0.number == group.number }) {
      let part = saved.undo[position]
      saved.undo[position] = UndoGroup(name: name, changes: part.changes, number: part.number)
    }
    keepBounds()
  }

  /// Replaces the changes of a group, or removes the group if there are none. Does nothing if the
  /// group has been removed. The copies in
  /// `saved` stay, because a rollback reverts the new changes.
  ///
  /// - Parameter later: The changes that were made after all groups.
  mutating func setChanges(
    _ changes: [UndoGroup.Change], ofGroup number: UInt64, before later: [UndoGroup.Change]
  ) {
    func replaced(_ groups: [UndoGroup]) -> [UndoGroup] {
      guard let position = groups.lastIndex(where: { $0.number == number }) else { return groups }
      var groups = groups
      if changes.isEmpty {
        groups.remove(at: position)
        return groups
      }
      groups[position] = groups[position].with(
        changes, before: groups[(position + 1)...].flatMap(\.changes) + later)
      return groups
    }
    (stacks.undo, stacks.redo) = (replaced(stacks.undo), replaced(stacks.redo))
    byteCount = stacks.byteCount
    keepBounds()
  }

  /// Adds links to the groups that have removed one of their ends, or to a later group that has the
  /// same place. The copies in `saved` stay, because a rollback restores the group that had the
  /// links.
  mutating func addToDeletions(_ links: [UndoGroup.Change], _ direction: Direction) {
    var links = links
    var groups = groups(direction)
    for position in groups.indices.reversed() where !links.isEmpty {
      let group = groups[position]
      let (places, removed) = (Set(group.changes.map(\.place)), group.objects { !$0.isAbsent })
      func isOwn(_ link: UndoGroup.Change) -> Bool {
        places.contains(link.place) || !removed.isDisjoint(with: link.ends)
      }
      let own = links.filter(isOwn)
      if own.isEmpty { continue }
      groups[position] = group.followed(by: own)
      links.removeAll(where: isOwn)
    }
    switch direction {
    case .undo: stacks.undo = groups
    case .redo: stacks.redo = groups
    }
    byteCount = stacks.byteCount
    keepBounds()
  }

  mutating func removeLast(_ direction: Direction) -> UndoGroup? {
    let group = direction == .undo ? stacks.undo.popLast() : stacks.redo.popLast()
    byteCount -= group?.byteCount ?? 0
    return group
  }

  mutating func removeAll() {
    (stacks, saved, byteCount, savedSequence) = (Stacks(), Stacks(), 0, 0)
  }

  /// Copies the stacks to `saved` after a save (UH3).
  mutating func didSave() {
    saved = stacks
  }

  /// Updates `saved` after an incomplete save: takes over the changes that were saved, and keeps
  /// the earlier versions of all others (UH3).
  ///
  /// - Parameter isSaved: Whether the save has saved the changes of an object.
  mutating func didSave(_ isSaved: (ObjectReference) -> Bool) {
    func combined(_ old: [UndoGroup], _ new: [UndoGroup]) -> [UndoGroup] {
      var groups: [UInt64: UndoGroup] = [:]
      for group in old + new { groups[group.number] = group }
      let (old, new) = (changesByGroup(old), changesByGroup(new))
      return groups.keys.sorted().compactMap { number in
        let changes =
          (new[number] ?? []).filter { isSaved($0.place.owner) }
          + (old[number] ?? []).filter { !isSaved($0.place.owner) }
        guard let group = groups[number], !changes.isEmpty else { return nil }
        return UndoGroup(name: group.name, changes: changes, number: number)
      }
    }
    saved = Stacks(
      undo: combined(saved.undo, stacks.undo), redo: combined(saved.redo, stacks.redo))
  }

  private func changesByGroup(_ groups: [UndoGroup]) -> [UInt64: [UndoGroup.Change]] {
    Dictionary(uniqueKeysWithValues: groups.map { ($0.number, $0.changes) })
  }

  /// Restores the stacks of the last save, after a rollback (UH3).
  mutating func rollBack() {
    stacks = saved
    byteCount = stacks.byteCount
    keepBounds()
  }

  /// Restores the stacks of an earlier time. The limits stay.
  mutating func restore(_ earlier: UndoHistory) {
    (stacks, saved) = (earlier.stacks, earlier.saved)
    byteCount = earlier.byteCount
    keepBounds()
  }

  /// Replaces the reference of an object.
  mutating func rename(_ change: ReferenceChange) {
    mapGroups { $0.renamed(change) }
  }

  /// Replaces new objects that a save has merged into others.
  mutating func replace(_ merged: MergedReferences) {
    mapGroups(merged.replaced(in:))
    byteCount = stacks.byteCount
    keepBounds()
  }

  private mutating func mapGroups(_ transform: (UndoGroup) -> UndoGroup) {
    func mapped(_ stacks: Stacks) -> Stacks {
      Stacks(undo: stacks.undo.map(transform), redo: stacks.redo.map(transform))
    }
    (stacks, saved) = (mapped(stacks), mapped(saved))
  }

  /// The violations of UH2, and those of the groups, for tests.
  var brokenInvariants: [String] {
    var broken = (stacks.undo + stacks.redo).flatMap(\.brokenInvariants)
    if byteCount != stacks.byteCount { broken.append("UH2: the size of the groups is wrong") }
    if isOver { broken.append("UH2: there are more groups than allowed") }
    return broken
  }

  private var isOver: Bool {
    levelsMax > 0 && stacks.undo.count + stacks.redo.count > levelsMax
      || byteCountMax > 0 && byteCount > byteCountMax
  }

  private mutating func keepBounds() {
    var dropped: Set<UInt64> = []
    while isOver {
      let group =
        stacks.undo.isEmpty
        ? (stacks.redo.isEmpty ? nil : stacks.redo.removeFirst()) : stacks.undo.removeFirst()
      guard let group else { break }
      byteCount -= group.byteCount
      dropped.insert(group.number)
    }
    if dropped.isEmpty { return }
    saved.undo.removeAll { dropped.contains($0.number) }
    saved.redo.removeAll { dropped.contains($0.number) }
  }
}
