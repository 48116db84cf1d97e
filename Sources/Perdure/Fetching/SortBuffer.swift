// Sorts objects by key bytes.
//
// The criteria of an object and its reference are one key (OrderedKey.swift). So no two keys are
// equal, and a comparison of keys compares bytes. One array contains all keys. Sorting moves small
// entries, which contain the first sixteen bytes of the key, because these usually decide. With a
// limit of k, only the first k objects are kept, in a heap with the last of them on top. So n
// objects cost O(n log k) and memory for k objects.

internal import PerdurePredicates

/// An object that was found, and its row if there is one, valid during one call.
struct FoundObject {
  let reference: ObjectReference
  let row: StoredRow?
}

/// An object that was found, and its row if there is one, valid after the call.
struct KeptObject {
  let reference: ObjectReference
  let row: LeasedRow?

  /// Calls `body` with the object and its row. The bytes of the row are valid until `body` returns.
  @inline(__always)
  func passOn<R>(_ body: (ObjectReference, StoredRow?) throws -> R) rethrows -> R {
    guard let row else { return try body(reference, nil) }
    return try row.withRow { try body(reference, $0) }
  }
}

struct SortBuffer {
  private struct Entry {
    var high: UInt64
    var low: UInt64
    /// The index in `slots`.
    var slot: Int
  }

  /// The parts of an entry that need not move with it.
  private struct Slot {
    var offset: Int
    var length: Int
    var found: KeptObject
  }

  /// The maximum number of entries.
  private let limit: Int?
  /// Whether the reader keeps the rows that it passes on.
  private let keepsRows: Bool
  private var entries: [Entry] = []
  private var slots: [Slot] = []
  private var bytes: [UInt8] = []
  /// The number of bytes in keys of `slots`. The other bytes are keys of removed objects.
  private var liveBytes = 0

  init(limit: Int?, keepsRows: Bool) {
    self.limit = limit
    self.keepsRows = keepsRows
  }

  /// Whether the first eight bytes of an object's key show that it follows all objects in the full
  /// buffer. False if the buffer is not full.
  func isBehindAll(_ front: UInt64) -> Bool {
    guard let limit, entries.count >= limit, let last = entries.first else { return false }
    return front > last.high
  }

  /// Whether all objects whose keys begin with `front` follow all objects in the full buffer. False
  /// if the buffer is not full.
  func isBehindAll(beginning front: ArraySlice<UInt8>) -> Bool {
    guard let limit, entries.count >= limit, let last = entries.first else { return false }
    let slot = slots[last.slot]
    let key = bytes[slot.offset..<slot.offset + min(slot.length, front.count)]
    return key.lexicographicallyPrecedes(front)
  }

  /// Adds an object with its key, which must be different from all others.
  mutating func add(_ key: [UInt8], _ found: FoundObject) {
    if limit == 0 { return }
    var entry = Entry(high: Self.word(key, 0), low: Self.word(key, 8), slot: slots.count)
    let isFull = limit.map { entries.count >= $0 } ?? false
    if isFull, !precedesTop(entry, key) { return }
    let row = found.row.map { LeasedRow($0, isKept: keepsRows) }
    let slot = Slot(
      offset: bytes.count, length: key.count, found: KeptObject(reference: found.reference, row: row))
    if isFull {
      entry.slot = entries[0].slot
      liveBytes -= slots[entry.slot].length
      slots[entry.slot] = slot
      entries[0] = entry
    } else {
      slots.append(slot)
      entries.append(entry)
    }
    bytes.append(contentsOf: key)
    liveBytes += key.count
    if limit == nil { return }
    if isFull { siftDown(0) } else { siftUp(entries.count - 1) }
    if bytes.count > 4096, bytes.count > 4 * liveBytes { compact() }
  }

  /// The objects in order.
  consuming func sorted() -> [KeptObject] {
    var entries = self.entries
    self.entries = []
    let (slots, bytes) = (slots, bytes)
    bytes.withUnsafeBufferPointer { bytes in
      slots.withUnsafeBufferPointer { slots in
        entries.sort { Self.precedes($0, $1, slots, bytes) }
      }
    }
    return entries.map { slots[$0.slot].found }
  }

  /// Eight bytes of a key, as a number in the order of bytes. Bytes after the end are zeros.
  private static func word(_ key: [UInt8], _ start: Int) -> UInt64 {
    key.withUnsafeBytes { key in
      if start &+ 8 <= key.count {
        return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start, as: UInt64.self))
      }
      var word: UInt64 = 0
      for place in start..<start &+ 8 { word = word << 8 | (place < key.count ? UInt64(key[place]) : 0) }
      return word
    }
  }

  /// Whether a new key precedes the last kept key.
  private func precedesTop(_ entry: Entry, _ key: [UInt8]) -> Bool {
    let top = entries[0]
    if entry.high != top.high { return entry.high < top.high }
    if entry.low != top.low { return entry.low < top.low }
    let slot = slots[top.slot]
    return key.lexicographicallyPrecedes(bytes[slot.offset..<slot.offset + slot.length])
  }

  private func precedes(_ left: Entry, _ right: Entry) -> Bool {
    bytes.withUnsafeBufferPointer { bytes in
      slots.withUnsafeBufferPointer { Self.precedes(left, right, $0, bytes) }
    }
  }

  @inline(__always)
  private static func precedes(
    _ left: Entry, _ right: Entry, _ slots: UnsafeBufferPointer<Slot>, _ bytes: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    if left.high != right.high { return left.high < right.high }
    if left.low != right.low { return left.low < right.low }
    return precedes(slots[left.slot], slots[right.slot], bytes)
  }

  /// Compares two keys with the same first sixteen bytes.
  @inline(never)
  private static func precedes(
    _ left: Slot, _ right: Slot, _ bytes: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    var position = 16
    let count = min(left.length, right.length)
    while position < count {
      let (a, b) = (bytes[left.offset &+ position], bytes[right.offset &+ position])
      if a != b { return a < b }
      position &+= 1
    }
    return left.length < right.length
  }

  // MARK: Heap, the last entry on top

  private mutating func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard precedes(entries[parent], entries[child]) else { return }
      entries.swapAt(parent, child)
      child = parent
    }
  }

  private mutating func siftDown(_ start: Int) {
    var parent = start
    while true {
      var last = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
        if precedes(entries[last], entries[child]) { last = child }
      }
      if last == parent { return }
      entries.swapAt(parent, last)
      parent = last
    }
  }

  private mutating func compact() {
    var kept: [UInt8] = []
    kept.reserveCapacity(2 * liveBytes)
    for position in slots.indices {
      let slot = slots[position]
      slots[position].offset = kept.count
      kept.append(contentsOf: bytes[slot.offset..<slot.offset + slot.length])
    }
    bytes = kept
  }
}
