// Elements of a layer: index entries, rows, order keys and sums, sorted for lookups.

internal import PerdurePredicates

/// An entry of an index. Entries are ordered by key, then by reference (PS5 in
/// PersistentStore.swift).
struct LayerEntry: Hashable, Sendable {
  let key: [UInt8]
  let reference: ObjectReference
}

extension LayerEntry: Comparable {
  static func < (left: LayerEntry, right: LayerEntry) -> Bool {
    let order = left.key.withUnsafeBytes { key in
      right.key.withUnsafeBytes { key.compared(to: $0) }
    }
    return order == 0 ? left.reference.rawValue < right.reference.rawValue : order < 0
  }

  /// Whether the entry precedes another entry in a walk.
  @inline(__always)
  func comes(
    before key: UnsafeRawBufferPointer, _ reference: ObjectReference, descending: Bool
  ) -> Bool {
    let order = self.key.withUnsafeBytes { $0.compared(to: key) }
    if order != 0 { return (order < 0) != descending }
    if self.reference == reference { return false }
    return (self.reference.rawValue < reference.rawValue) != descending
  }

  /// An entry of an owner. Its key is the owner's reference, without a mark for null.
  static func under(_ owner: ObjectReference, _ reference: ObjectReference) -> LayerEntry {
    LayerEntry(key: key(of: owner), reference: reference)
  }

  /// The entry of a member in an index of order keys. Its key has the owner and the order key.
  static func at(_ key: OrderKey, _ link: StoreLink) -> LayerEntry {
    LayerEntry(key: OrderIndexes.indexKey(link.source, key), reference: link.target)
  }

  /// The entry of an owner in an index of counts.
  static func count(_ count: Int, _ owner: ObjectReference) -> LayerEntry {
    var key = OrderedKey()
    key.append(bareCount: count)
    return LayerEntry(key: key.bytes, reference: owner)
  }

  private static func key(of owner: ObjectReference) -> [UInt8] {
    var key = OrderedKey()
    key.append(bare: owner)
    return key.bytes
  }
}

extension UnsafeRawBufferPointer {
  /// Compares unsigned bytes; a prefix is less than longer bytes. Returns a number less than 0,
  /// equal to 0, or greater than 0.
  @inline(__always)
  func compared(to other: UnsafeRawBufferPointer) -> Int {
    let length = Swift.min(count, other.count)
    var offset = 0
    while offset &+ 8 <= length {
      let mine = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let its = other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if mine != its { return mine.bigEndian < its.bigEndian ? -1 : 1 }
      offset &+= 8
    }
    while offset < length {
      if self[offset] != other[offset] { return self[offset] < other[offset] ? -1 : 1 }
      offset &+= 1
    }
    return count &- other.count
  }
}

/// The row of an object as the next save will write it; `row` is nil if the save will remove it.
struct LayerRow: Comparable, Sendable {
  let reference: ObjectReference
  let row: PendingRow?

  static func < (left: LayerRow, right: LayerRow) -> Bool {
    left.reference.rawValue < right.reference.rawValue
  }

  static func == (left: LayerRow, right: LayerRow) -> Bool { left.reference == right.reference }
}

/// The changed order key of a member in an ordered relationship; `key` is nil if it no longer has
/// an order key.
struct LayerOrderKey: Comparable, Sendable {
  let link: StoreLink
  let key: OrderKey?

  static func < (left: LayerOrderKey, right: LayerOrderKey) -> Bool {
    let (first, second) = (left.link, right.link)
    if first.index != second.index { return first.index.rawValue < second.index.rawValue }
    if first.source != second.source { return first.source.rawValue < second.source.rawValue }
    return first.target.rawValue < second.target.rawValue
  }

  static func == (left: LayerOrderKey, right: LayerOrderKey) -> Bool { left.link == right.link }
}

/// The amount by which the layer changes the sum of an owner.
struct LayerSum: Comparable, Sendable {
  let index: StoreIndex
  let owner: ObjectReference
  let difference: StoredSum

  static func < (left: LayerSum, right: LayerSum) -> Bool {
    if left.index != right.index { return left.index.rawValue < right.index.rawValue }
    return left.owner.rawValue < right.owner.rawValue
  }

  static func == (left: LayerSum, right: LayerSum) -> Bool {
    left.index == right.index && left.owner == right.owner
  }
}

/// The bytes of a row that is not in the store, at a fixed address.
// Unchecked: written in init, freed in deinit.
final class PendingRow: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer
  let version: RowVersion

  init(_ bytes: [UInt8], _ version: RowVersion) {
    memory = .allocate(byteCount: bytes.count, alignment: 8)
    memory.copyBytes(from: bytes)
    self.version = version
  }

  deinit { memory.deallocate() }

  var stored: StoredRow { StoredRow(bytes: UnsafeRawBufferPointer(memory), version: version) }

  func has(_ bytes: [UInt8]) -> Bool { memory.elementsEqual(bytes) }
}
