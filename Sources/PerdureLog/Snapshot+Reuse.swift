import PerdureFileIO

// Reuses snapshots: `withSnapshot` lends one to its closure, and `advance` moves one to a newer
// root.
//
// Allocating and freeing a snapshot costs more than pinning its root. So `withSnapshot` keeps a
// snapshot, the spare, beside each slot of the pin table. Each call pins the newest root for a
// spare.
//
// Invariants
//  SR1  The root of a snapshot changes only while a single strong reference to it exists, and the
//       owner of this reference makes the change. So no other thread reads the snapshot.
//  SR2  The owner of a slot's pin also owns the slot's spare. So two threads never use the same
//       spare, and a nested call uses the spare of another slot.
//  SR3  A spare that is not in use has no pin and the root `Root.none`, in which all keyspaces are
//       empty.
//  SR4  If `body` has kept its snapshot, or the snapshot has opened values outside their records,
//       it is no longer a spare. It keeps its pin until its last reference is released.
//  SR5  Spares retain the engine. The store releases them when the store itself is freed. Stores
//       opened for reading have none, because they exchange their engine.

extension Store {
  /// Calls `body` with a snapshot of all commits so far. Usually no memory is allocated. A store
  /// that was opened for reading allocates a snapshot for each call.
  ///
  /// Use it for a few reads of the newest state, where the cost of `snapshot()` matters:
  ///
  /// ```swift
  /// let length = try store.withSnapshot { snapshot in
  ///   try snapshot.withValue(id: 1, in: names) { $0.byteCount }
  /// }
  /// ```
  ///
  /// The snapshot has all properties of one that `snapshot()` returns. If `body` keeps it, it stays
  /// valid, and the next call allocates another.
  ///
  /// - Parameter body: Reads the snapshot. It must not keep a weak or unowned reference to the
  ///   snapshot: after the call, such a reference finds no key.
  /// - Returns: The result of `body`.
  /// - Throws: The errors of `body`.
  /// - Complexity: As `snapshot()`.
  @inlinable
  public func withSnapshot<R>(_ body: (Snapshot) throws -> R) rethrows -> R {
    let lent = lendSnapshot()
    defer { takeBack(lent) }
    return try lent._withUnsafeGuaranteedRef { try body($0) }
  }

  /// Moves a snapshot to the newest commit, like `snapshot = store.snapshot()`. No memory is
  /// allocated under three conditions. The store is open for writing and made the snapshot. No
  /// other reference to the snapshot exists. The snapshot has read no value outside the records.
  ///
  /// ```swift
  /// var snapshot = store.snapshot()
  /// try store.write { try $0.put(Array("Ada".utf8), id: 1, in: names) }
  /// store.advance(&snapshot)
  /// let name = try snapshot.value(id: 1, in: names)
  /// ```
  ///
  /// - Parameter snapshot: A snapshot of this store or of another store. It is released if it
  ///   cannot be reused. Other references to it still have the earlier state. No weak or unowned
  ///   reference to it may exist.
  /// - Complexity: As `snapshot()`. In an open store, nothing is done if the snapshot has the
  ///   newest commit.
  public func advance(_ snapshot: inout Snapshot) {
    let engine = engine
    guard snapshot.engine === engine, engine.mark.isOwn else { return snapshot = self.snapshot() }
    if engine.isNewest(snapshot.root), !engine.place.isClosed { return }
    guard isKnownUniquelyReferenced(&snapshot), !snapshot.isOutdated, !snapshot.hasOpenedValues else {
      return snapshot = self.snapshot()
    }
    let (pin, root) = engine.move(snapshot.pin)
    snapshot.show(root, pin)
    // WriterPlace, WP1: the snapshot is pinned before this is read.
    if engine.place.isClosed { snapshot = self.snapshot() }
  }

  /// A snapshot for `withSnapshot`. The caller passes it to `takeBack`.
  @usableFromInline
  func lendSnapshot() -> Unmanaged<Snapshot> {
    guard let lender, let lent = lender._withUnsafeGuaranteedRef({ $0.lendSnapshot() }) else {
      return .passRetained(snapshot())
    }
    return lent
  }

  /// Ends the use of a snapshot of `lendSnapshot`.
  @usableFromInline
  func takeBack(_ lent: Unmanaged<Snapshot>) {
    lent._withUnsafeGuaranteedRef { snapshot in
      guard snapshot.isLent else { return lent.release() }
      let pin = snapshot.pin
      guard pin.isSpareUnique, !snapshot.hasOpenedValues else {
        snapshot.isLent = false
        pin.spare.pointee = nil
        return lent.release()  // SR4
      }
      snapshot.show(Root.none, pin)
      lender?._withUnsafeGuaranteedRef { $0.release(pin) }
    }
  }
}

extension Engine {
  /// The spare snapshot of a free slot, with the newest root. Nil in a forked child, and after the
  /// store was closed. The caller then takes an ordinary snapshot, which registers as a reader if
  /// the store was closed.
  @inline(__always)
  fileprivate func lendSnapshot() -> Unmanaged<Snapshot>? {
    guard mark.isOwn else { return nil }
    let (pin, root) = pinRoot()
    // WriterPlace, WP1: the snapshot is pinned before this is read.
    if place.isClosed {
      release(pin)
      return nil
    }
    let spare = pin.spare.pointee ?? addSpare(to: pin)
    spare._withUnsafeGuaranteedRef { $0.show(root, pin) }
    return spare
  }

  @inline(never)
  private func addSpare(to pin: Pin) -> Unmanaged<Snapshot> {
    let made = Snapshot(self, pin, Root.none)
    made.isLent = true
    let spare = Unmanaged.passRetained(made)
    pin.spare.pointee = spare
    return spare
  }

  /// Whether a root is the newest one.
  @inline(__always)
  fileprivate func isNewest(_ root: UnsafeMutablePointer<Root>) -> Bool {
    UInt(bitPattern: root) == newestRoot
  }

  /// Moves a pin to the newest root, and releases its earlier root.
  @inline(__always)
  fileprivate func move(_ pin: Pin) -> (pin: Pin, root: UnsafeMutablePointer<Root>) {
    let moved = pins.move(pin, to: newestVersion)
    let root = UnsafeMutablePointer<Root>(bitPattern: newestRoot).unsafelyUnwrapped
    moved.settle(root.pointee.version)
    noteRelease(of: pin)
    return (moved, root)
  }
}
