// The groups that can be undone and redone, within limits of their number and size.
//
// Invariants:
//   UH1. Each stack has its groups in the order of their addition. The last group is undone or
//        redone first.
//   UH2. Both stacks together have at most `levelsMax` groups and `byteCountMax` bytes. The oldest
//        undo groups are removed first.
//   UH3. `saved` has the stacks as of the last save, without the groups that UH2 has removed. A
//        rollback restores these stacks.

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
  /// The stack of the group that was added last; nil after a save or another change of the stacks.
  private(set) var lastDirection: Direction?
  /// The limits of UH2; 0 for no limit.
  var levelsMax: Int { didSet { keepBounds() } }
  var byteCountMax: Int { didSet { keepBounds() } }

  init(levelsMax: Int, byteCountMax: Int) {
    (self.levelsMax, self.byteCountMax) = (levelsMax, byteCountMax)
  }

  func last(_ direction: Direction) -> UndoGroup? {
    direction == .undo ? stacks.undo.last : stacks.redo.last
  }

  /// Whether a group has removed an object. Then the undo of that group will restore the object.
  ///
  /// - Complexity: O(n) for n changes in the groups.
  func brings(back reference: ObjectReference, _ direction: Direction) -> Bool {
    let groups = direction == .undo ? stacks.undo : stacks.redo
    return groups.contains { group in
      group.changes.contains { $0.place == .object(reference) && $0.after.isAbsent }
    }
  }

  func count(_ direction: Direction) -> Int {
    direction == .undo ? stacks.undo.count : stacks.redo.count
  }

  /// Adds a group of new edits, and removes the groups that could be redone.
  ///
  /// - Parameter isSaved: Whether a save has saved edits of the group. Then a rollback keeps the
  ///   group.
  mutating func add(_ group: UndoGroup, isSaved: Bool) {
    byteCount -= stacks.redo.reduce(0) { $0 + $1.byteCount }
    stacks.redo = []
    if isSaved {
      saved.undo.append(group)
      saved.redo = []
    }
    put(group, .undo)
  }

  /// Adds a group to a stack, such as the group that reverses an undo.
  ///
  /// - Parameter isSaved: As for `add`.
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
    lastDirection = direction
    keepBounds()
  }

  /// Names the last group that can be undone, also among the saved ones.
  mutating func setLastName(_ name: String) {
    guard let group = stacks.undo.last else { return }
    let named = UndoGroup(name: name, changes: group.changes, number: group.number)
    stacks.undo[stacks.undo.count - 1] = named
    byteCount += named.byteCount - group.byteCount
    if let position = saved.undo.lastIndex(where: { $0.number == group.number }) {
      saved.undo[position] = named
    }
    keepBounds()
  }

  mutating func removeLast(_ direction: Direction) -> UndoGroup? {
    let group = direction == .undo ? stacks.undo.popLast() : stacks.redo.popLast()
    byteCount -= group?.byteCount ?? 0
    lastDirection = nil
    return group
  }

  mutating func removeAll() {
    (stacks, saved, byteCount, lastDirection) = (Stacks(), Stacks(), 0, nil)
  }

  /// Copies the stacks to `saved` after a save (UH3).
  mutating func didSave() {
    saved = stacks
    lastDirection = nil
  }

  /// Restores the stacks of the last save, after a rollback (UH3).
  mutating func rollBack() {
    stacks = saved
    byteCount = stacks.byteCount
    lastDirection = nil
    keepBounds()
  }

  /// Restores the stacks of an earlier time. The limits stay.
  mutating func restore(_ earlier: UndoHistory) {
    (stacks, saved) = (earlier.stacks, earlier.saved)
    (byteCount, lastDirection) = (earlier.byteCount, earlier.lastDirection)
    keepBounds()
  }

  /// Replaces the reference of an object.
  mutating func rename(_ old: ObjectReference, _ new: ObjectReference) {
    func renamed(_ groups: [UndoGroup]) -> [UndoGroup] { groups.map { $0.renamed(old, new) } }
    stacks = Stacks(undo: renamed(stacks.undo), redo: renamed(stacks.redo))
    saved = Stacks(undo: renamed(saved.undo), redo: renamed(saved.redo))
  }

  private mutating func keepBounds() {
    func isOver() -> Bool {
      levelsMax > 0 && stacks.undo.count + stacks.redo.count > levelsMax
        || byteCountMax > 0 && byteCount > byteCountMax
    }
    var dropped: Set<UInt64> = []
    while isOver() {
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
