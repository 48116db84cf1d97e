/// The memory of roots: makes copies of the published root, and reuses roots that no reader holds.
///
/// A reused root differs from the published one in few entries, and only these are copied
/// (`RootChanges`). So the cost of a commit does not grow with the number of keyspaces and indexes.
struct RootPool: ~Copyable {
  /// The entries of the published root that recent commits changed.
  var changes = RootChanges()
  /// The number of retired roots at which the committer starts to look for roots that no reader
  /// holds. It is also the maximum number of spare roots.
  private(set) var batchCount = Self.batchCountMax
  /// The number of keyspaces and indexes that were copied into new roots.
  private(set) var copiedEntryCount = 0
  /// Unused roots. All of them have the layout of the published root.
  private var spares = PointerStack()

  /// This number of small roots fits into a cache.
  private static let batchCountMax = 64
  /// Only a few long roots are kept, because they occupy much memory. Also, with n roots, a reused
  /// root lacks the changes of about n commits.
  private static let batchCountMin = 4
  private static let batchBytes = 256 << 10

  /// Makes a copy of the published root.
  mutating func copy(_ root: UnsafeMutablePointer<Root>) -> UnsafeMutablePointer<Root> {
    guard spares.count > 0 else { return copy(root, keyspaceCapacity: root.pointee.keyspaceCapacity) }
    let next = spares.pop().assumingMemoryBound(to: Root.self)
    next.pointee.keyspaceCount = root.pointee.keyspaceCount
    if !changes.isUsed || !copyChangedEntries(of: root, to: next) { copyAllEntries(of: root, to: next) }
    return next
  }

  /// Makes a copy, and adds the keyspaces of `catalog` that the published root lacks.
  mutating func copy(
    _ root: UnsafeMutablePointer<Root>, addingKeyspacesOf catalog: borrowing Catalog, _ indexes: IndexSet
  ) -> UnsafeMutablePointer<Root> {
    let (first, count) = (root.pointee.keyspaceCount, catalog.keyspaces.count)
    let isLonger = count > root.pointee.keyspaceCapacity
    // The capacity grows by a constant factor, so that n new keyspaces copy O(n) entries.
    let next = isLonger ? copy(root, keyspaceCapacity: count + count / 2 + 4) : copy(root)
    for id in first..<count {
      // Publishing a root with a new layout discards all noted changes, so none is noted then.
      if !isLonger { changes.note(UInt32(id), indexes) }
      next.pointee.keyspaces[id] = KeyspaceRoot(mark: catalog.keyspaces[id].mark)
    }
    next.pointee.keyspaceCount = count
    return next
  }

  /// Makes a copy with the entries of a new catalog.
  mutating func copy(
    _ root: UnsafeMutablePointer<Root>, for catalog: borrowing Catalog
  ) -> UnsafeMutablePointer<Root> {
    let keyspaceCount = catalog.keyspaces.count
    let next = Root.allocate(
      keyspaceCount: keyspaceCount, indexCount: catalog.indexes.count,
      keyspaceCapacity: max(keyspaceCount, root.pointee.keyspaceCapacity))
    copyAllEntries(of: root, to: next)
    next.pointee.mark(catalog, keyspacesFrom: root.pointee.keyspaceCount)
    // The changes that a new catalog makes are not noted. RC2
    next.pointee.changesSeen = RootChanges.unknown
    return next
  }

  /// Prepares a root to be published after `old`.
  mutating func willPublish(_ next: UnsafeMutablePointer<Root>, after old: UnsafeMutablePointer<Root>) {
    if !next.pointee.hasLayout(of: old.pointee) { adapt(to: next) }
    next.pointee.changesSeen = changes.end
  }

  /// Prepares for copies of a root with a new layout.
  mutating func adapt(to root: UnsafeMutablePointer<Root>) {
    freeAll()
    changes.adapt(keyspaceCapacity: root.pointee.keyspaceCapacity, indexCount: root.pointee.indexCount)
    root.pointee.changesSeen = changes.end
    setBatchCount(for: root, heldCount: 0)
  }

  /// Frees the memory of an unreachable root, or keeps it for a new root.
  mutating func free(_ old: UnsafeMutablePointer<Root>, publishing root: UnsafeMutablePointer<Root>) {
    if old.pointee.hasLayout(of: root.pointee), spares.count < batchCount {
      spares.push(old)
    } else {
      Root.free(old)
    }
  }

  /// Notes the number of retired roots that readers hold.
  mutating func didReclaim(publishing root: UnsafeMutablePointer<Root>, heldCount: Int) {
    setBatchCount(for: root, heldCount: heldCount)
    while spares.count > batchCount { freeLast() }
  }

  mutating func freeAll() { while spares.count > 0 { freeLast() } }

  private mutating func freeLast() { Root.free(spares.pop().assumingMemoryBound(to: Root.self)) }

  private mutating func setBatchCount(for root: UnsafeMutablePointer<Root>, heldCount: Int) {
    let length = Root.byteCount(
      keyspaceCapacity: root.pointee.keyspaceCapacity, indexCount: root.pointee.indexCount)
    // The count grows with the number of held roots, because each batch examines all held roots
    // again.
    batchCount = min(Self.batchCountMax, max(Self.batchCountMin, Self.batchBytes / length, heldCount / 8))
  }

  private mutating func copy(
    _ root: UnsafeMutablePointer<Root>, keyspaceCapacity: Int
  ) -> UnsafeMutablePointer<Root> {
    let next = Root.allocate(
      keyspaceCount: root.pointee.keyspaceCount, indexCount: root.pointee.indexCount,
      keyspaceCapacity: keyspaceCapacity)
    copyAllEntries(of: root, to: next)
    return next
  }

  /// Copies the entries of the published root that `next` lacks.
  ///
  /// - Returns: Whether these entries were known. If not, nothing was copied.
  @inline(never)
  private mutating func copyChangedEntries(
    of root: UnsafeMutablePointer<Root>, to next: UnsafeMutablePointer<Root>
  ) -> Bool {
    let copied = changes.forEach(since: next.pointee.changesSeen) { entry in
      if entry.isIndex {
        next.pointee.indexes[entry.id] = root.pointee.indexes[entry.id]
      } else if entry.id < root.pointee.keyspaceCount {
        // A higher id is skipped: it belongs to a keyspace whose commit was refused.
        next.pointee.keyspaces[entry.id] = root.pointee.keyspaces[entry.id]
      }
    }
    guard let copied else { return false }
    copiedEntryCount &+= copied
    copyFields(of: root, to: next)
    assert(next.pointee.hasEntries(of: root.pointee), "RC2: a change of the root was not noted")
    return true
  }

  private mutating func copyAllEntries(
    of root: UnsafeMutablePointer<Root>, to next: UnsafeMutablePointer<Root>
  ) {
    next.pointee.keyspaces.update(from: root.pointee.keyspaces, count: root.pointee.keyspaceCount)
    if root.pointee.indexCount > 0 {
      next.pointee.indexes.update(from: root.pointee.indexes, count: root.pointee.indexCount)
      next.pointee.indexMarks.update(from: root.pointee.indexMarks, count: root.pointee.indexCount)
    }
    copiedEntryCount &+= root.pointee.keyspaceCount &+ root.pointee.indexCount
    copyFields(of: root, to: next)
  }

  private func copyFields(of root: UnsafeMutablePointer<Root>, to next: UnsafeMutablePointer<Root>) {
    next.pointee.sequence = root.pointee.sequence
    next.pointee.end = root.pointee.end
    next.pointee.replacedNanoseconds = 0
    next.pointee.changesSeen = changes.end
  }
}
