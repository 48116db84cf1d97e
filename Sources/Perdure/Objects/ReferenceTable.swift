// A map from references to objects of a context: to instances, or to overlays with unsaved changes.
//
// An open-addressing table of unmanaged references. It retains no object, so each object must be
// removed from the table before the object is freed. An instance is added when it is made and
// removed in its deinit. `PendingChanges` retains the overlays.
//
// The table uses linear probing. A removal shifts later entries back, so there are no tombstones,
// and a lookup ends at the first empty entry. The table is at most three quarters full. When it
// grows, it grows by half, and is then half full. So an object takes at most 32 bytes of a growing
// table.

internal import PerdurePredicates

/// A map from references to objects, which it does not retain. References are never 0.
struct ReferenceTable<Instance: AnyObject> {
  private struct Entry {
    var key: UInt64 = 0
    var object: Unmanaged<Instance>?
  }

  private static var capacityMin: Int { 16 }

  private var entries: UnsafeMutablePointer<Entry>
  private var capacity: Int
  private(set) var count = 0

  init() {
    capacity = Self.capacityMin
    entries = Self.table(Self.capacityMin)
  }

  private static func table(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
    let table = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
    table.initialize(repeating: Entry(), count: capacity)
    return table
  }

  /// Frees the table; the map must not be used afterwards.
  func deallocate() {
    entries.deallocate()
  }

  /// The index at which the search for a key begins. The hash is a product, whose upper bits are
  /// scaled to the capacity.
  @inline(__always)
  private func home(_ key: UInt64) -> Int {
    Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: UInt64(capacity)).high)
  }

  @inline(__always)
  private func after(_ place: Int) -> Int { place &+ 1 == capacity ? 0 : place &+ 1 }

  /// The number of steps from one index to another.
  @inline(__always)
  private func distance(_ first: Int, _ second: Int) -> Int {
    second >= first ? second &- first : second &- first &+ capacity
  }

  @inline(__always)
  func object(_ reference: ObjectReference) -> Instance? {
    var place = home(reference.rawValue)
    while entries[place].key != 0 {
      if entries[place].key == reference.rawValue { return entries[place].object?.takeUnretainedValue() }
      place = after(place)
    }
    return nil
  }

  /// Adds an object. Stops the program if the reference is in the map: an object with two instances
  /// or two overlays is saved wrongly (CX1, PC1).
  @inline(__always)
  mutating func insert(_ object: Instance, _ reference: ObjectReference) {
    count &+= 1
    if count &* 4 > capacity &* 3 { resize(capacity + capacity / 2) }
    place(Entry(key: reference.rawValue, object: .passUnretained(object)))
  }

  @inline(__always)
  private func place(_ entry: Entry) {
    var place = home(entry.key)
    while entries[place].key != 0 {
      precondition(entries[place].key != entry.key, "The reference is in the map.")
      place = after(place)
    }
    entries[place] = entry
  }

  mutating func remove(_ reference: ObjectReference) {
    var hole = home(reference.rawValue)
    while entries[hole].key != reference.rawValue {
      if entries[hole].key == 0 { return }
      hole = after(hole)
    }
    var next = after(hole)
    while entries[next].key != 0 {
      if distance(home(entries[next].key), next) >= distance(hole, next) {
        entries[hole] = entries[next]
        hole = next
      }
      next = after(next)
    }
    entries[hole] = Entry()
    count &-= 1
    if capacity > Self.capacityMin, count &* 8 < capacity { resize(max(capacity / 2, Self.capacityMin)) }
  }

  /// Removes all objects. A table that is at least one eighth full keeps its size, because a
  /// context usually fills it again.
  mutating func removeAll() {
    if count &* 8 < capacity, capacity > Self.capacityMin {
      entries.deallocate()
      capacity = Self.capacityMin
      entries = Self.table(capacity)
    } else {
      entries.update(repeating: Entry(), count: capacity)
    }
    count = 0
  }

  @inline(never)
  private mutating func resize(_ newCapacity: Int) {
    let old = UnsafeMutableBufferPointer(start: entries, count: capacity)
    entries = Self.table(newCapacity)
    capacity = newCapacity
    for entry in old where entry.key != 0 { place(entry) }
    old.deallocate()
  }

  /// All objects in the table.
  var objects: [Instance] {
    var result: [Instance] = []
    result.reserveCapacity(count)
    for entry in UnsafeBufferPointer(start: entries, count: capacity) {
      if let object = entry.object { result.append(object.takeUnretainedValue()) }
    }
    return result
  }
}

/// The instances of a context.
typealias IdentityMap = ReferenceTable<ManagedObject>
