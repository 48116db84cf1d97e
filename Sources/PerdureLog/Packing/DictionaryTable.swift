import PerdureFormat
import Synchronization

/// A dictionary in the catalog. FORMAT.md, "Catalog".
struct DictionaryEntry: Hashable, Sendable {
  /// From 1, without gaps, over all keyspaces.
  var number: Int
  /// Whose values it was made from.
  var keyspace: UInt32
  /// The stored size of those values with it: bytes for each 1,000 of theirs.
  var perMille: Int
  var bytes: [UInt8]
}

/// The dictionaries of an open store, for readers: a table that only grows.
///
/// Invariants
///  DI1. A dictionary never changes, and stays until the table goes.
///  DI2. A reader that can see a record can see its dictionary. The committer adds the dictionary
///       before it publishes the root of the commit that contains it, and values are packed with it
///       only after that.
// Unchecked: an element of `places` is written once, before `published` counts it; readers read no
// other.
final class DictionaryTable: @unchecked Sendable {
  private let places: UnsafeMutablePointer<UnsafeRawBufferPointer>
  private let published = Atomic<Int>(0)

  init() { places = .allocate(capacity: FormatLimits.dictionaryNumberMax) }

  deinit {
    for place in 0..<count { places[place].deallocate() }
    places.deallocate()
  }

  var count: Int { published.load(ordering: .acquiring) }

  /// Adds the new entries of the catalog. The committer's alone.
  func adopt(_ catalog: Catalog) {
    for entry in catalog.dictionaries.dropFirst(count) {
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: entry.bytes.count, alignment: 16)
      copy.copyBytes(from: entry.bytes)
      places.advanced(by: entry.number - 1).initialize(to: UnsafeRawBufferPointer(copy))
      published.store(entry.number, ordering: .releasing)
    }
  }

  /// The bytes of a dictionary; empty for number 0; nil if there is no such dictionary.
  @inline(__always)
  func bytes(of number: Int) -> UnsafeRawBufferPointer? {
    if number == 0 { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return number <= count ? places[number - 1] : nil
  }
}
