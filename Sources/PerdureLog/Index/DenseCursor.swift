/// The position of a cursor: on an entry, before the first, or after the last. Moving back from
/// either end reaches the outermost entry.
enum CursorPlace {
  case beforeFirst
  case onEntry
  case afterLast
}

/// A cursor over one version of a dense table, in ascending or descending order of ids. It
/// allocates no memory. It keeps its leaf, and descends from the root once for each leaf.
struct DenseCursor {
  let table: DenseTable
  private(set) var place: CursorPlace = .beforeFirst
  private(set) var id: UInt64 = 0
  private var leaf: UnsafeMutableRawPointer?
  /// The last slot of this leaf that `forEachWordAhead` has passed. Initially it is the slot at
  /// which the cursor entered the leaf.
  private var slotAhead = 0

  /// Creates a cursor before the first entry.
  init(_ table: DenseTable) { self.table = table }

  var isValid: Bool { place == .onEntry }

  /// The word of the cursor's entry.
  var word: UInt64 {
    precondition(isValid, "the cursor must be on an entry")
    return DenseNode(leaf.unsafelyUnwrapped).word(Int(id & 63))
  }

  /// Passes words of this leaf to `body` before a walk in one direction reaches them. It passes the
  /// words of ids that are up to `distance` ahead, and 0 for absent ids. If it is called at each
  /// entry, it passes each word after the first entry of the leaf once.
  @inline(__always)
  mutating func forEachWordAhead(_ distance: Int, descending: Bool, _ body: (UInt64) -> Void) {
    precondition(isValid, "the cursor must be on an entry")
    let node = DenseNode(leaf.unsafelyUnwrapped)
    let here = Int(id & 63)
    if descending {
      let end = max(here &- distance, 0)
      while slotAhead > end {
        slotAhead &-= 1
        body(node.word(slotAhead))
      }
    } else {
      let end = min(here &+ distance, DenseNode.slotCount &- 1)
      while slotAhead < end {
        slotAhead &+= 1
        body(node.word(slotAhead))
      }
    }
  }

  mutating func seekFirst() -> Bool { moveTo(table.firstPlace(from: 0), else: .afterLast) }

  mutating func seekLast() -> Bool { moveTo(table.lastPlace(through: .max), else: .beforeFirst) }

  /// Moves to the first entry whose id is at least `id`; returns false if there is none.
  mutating func seek(lowerBound id: UInt64) -> Bool {
    moveTo(table.firstPlace(from: id), else: .afterLast)
  }

  /// Moves to the first entry whose id is greater than `id`; returns false if there is none.
  mutating func seek(upperBound id: UInt64) -> Bool {
    moveTo(id == .max ? nil : table.firstPlace(from: id + 1), else: .afterLast)
  }

  /// Moves to the entry that has `position` entries before it; returns false if there is none.
  mutating func seek(position: Int) -> Bool {
    moveTo(table.place(atPosition: position), else: position < 0 ? .beforeFirst : .afterLast)
  }

  @inline(__always)
  mutating func next() -> Bool {
    guard place == .onEntry else { return place == .beforeFirst && seekFirst() }
    let later = DenseNode(leaf.unsafelyUnwrapped).presence.bits(above: Int(id & 63))
    if later == 0 { return nextLeaf() }
    id = id & ~63 | UInt64(later.lowestBit)
    return true
  }

  @inline(__always)
  mutating func previous() -> Bool {
    guard place == .onEntry else { return place == .afterLast && seekLast() }
    let earlier = DenseNode(leaf.unsafelyUnwrapped).presence.bits(below: Int(id & 63))
    if earlier == 0 { return previousLeaf() }
    id = id & ~63 | UInt64(earlier.highestBit)
    return true
  }

  @inline(never)
  private mutating func nextLeaf() -> Bool { seek(upperBound: id | 63) }

  @inline(never)
  private mutating func previousLeaf() -> Bool {
    let start = id & ~63
    return moveTo(start == 0 ? nil : table.lastPlace(through: start - 1), else: .beforeFirst)
  }

  private mutating func moveTo(_ found: DensePlace?, else end: CursorPlace) -> Bool {
    guard let found else {
      place = end
      return false
    }
    place = .onEntry
    leaf = found.leaf.base
    slotAhead = Int(found.id & 63)
    id = found.id
    return true
  }
}
