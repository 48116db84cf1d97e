// Sorting by key bytes.
//
// Every object's criteria become one key (OrderedKey.swift), ended by its reference, so no two keys are equal and
// comparing is comparing bytes. Keys lie one behind the other in one array; entries carry the first eight bytes,
// which decide nearly always. With a limit, only the first k entries are kept, in a heap whose top is the last of
// them: n objects cost O(n log k) and memory for k.

internal import PerdurePredicates

/// An object that was found, and its row where there is one.
struct FoundObject {
  let reference: ObjectReference
  /// nil for an object that is shown from unsaved changes.
  let row: StoredRow?
}

struct SortBuffer {
  private struct Entry {
    var head: UInt64
    var offset: Int
    var length: Int
    var found: FoundObject
  }

  /// The most entries kept.
  private let limit: Int?
  private var entries: [Entry] = []
  private var bytes: [UInt8] = []
  /// Bytes of keys that belong to entries; the rest was left by entries that fell out.
  private var liveBytes = 0

  init(limit: Int?) {
    self.limit = limit
  }

  /// Adds an object with its key, which must be different from all others.
  mutating func add(_ key: [UInt8], _ found: FoundObject) {
    if limit == 0 { return }
    let entry = Entry(
      head: Self.head(key), offset: bytes.count, length: key.count, found: found)
    guard let limit, entries.count >= limit else {
      bytes.append(contentsOf: key)
      liveBytes += key.count
      entries.append(entry)
      if limit != nil { siftUp(entries.count - 1) }
      return
    }
    bytes.append(contentsOf: key)
    guard precedes(entry, entries[0]) else {
      bytes.removeLast(key.count)
      return
    }
    liveBytes += key.count - entries[0].length
    entries[0] = entry
    siftDown(0)
    if bytes.count > 4096, bytes.count > 4 * liveBytes { compact() }
  }

  /// The objects in order.
  consuming func sorted() -> [FoundObject] {
    var entries = self.entries
    self.entries = []
    let bytes = bytes
    bytes.withUnsafeBufferPointer { bytes in
      entries.sort { Self.precedes($0, $1, bytes) }
    }
    return entries.map(\.found)
  }

  private static func head(_ key: [UInt8]) -> UInt64 {
    var head: UInt64 = 0
    for position in 0..<8 { head = head << 8 | (position < key.count ? UInt64(key[position]) : 0) }
    return head
  }

  private func precedes(_ left: Entry, _ right: Entry) -> Bool {
    bytes.withUnsafeBufferPointer { Self.precedes(left, right, $0) }
  }

  private static func precedes(
    _ left: Entry, _ right: Entry, _ bytes: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    if left.head != right.head { return left.head < right.head }
    var position = 8
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
    for position in entries.indices {
      let entry = entries[position]
      entries[position].offset = kept.count
      kept.append(contentsOf: bytes[entry.offset..<entry.offset + entry.length])
    }
    bytes = kept
  }
}
