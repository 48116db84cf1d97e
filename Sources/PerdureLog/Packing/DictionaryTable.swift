import PerdureFormat
import Synchronization

/// A dictionary in the catalog. FORMAT.md, "Catalog".
struct DictionaryEntry: Hashable, Sendable {
  /// The number of the dictionary. Numbers start at 1 and have no gaps, over all keyspaces.
  var number: Int
  /// The id of the keyspace from whose values the dictionary was made.
  var keyspace: UInt32
  /// The stored size of values compressed with this dictionary, in bytes for each 1,000 bytes of
  /// values. It was measured with samples that were not used to make the dictionary.
  var perMille: Int
  var bytes: [UInt8]
}

/// The dictionaries of an open store, for readers. The table only grows.
///
/// Invariants
///  DI1. A dictionary never changes, and is kept until the table is freed.
///  DI2. A reader that can see a record can see its dictionary. The committer adds the dictionary
///       before it publishes the root of the commit that contains the dictionary. Values are packed
///       with it only after that.
// Unchecked: an element of `places` is written once, before `published` counts it. Readers read
// only counted elements.
final class DictionaryTable: @unchecked Sendable {
  private let places: UnsafeMutablePointer<UnsafeRawBufferPointer>
  private let published = Atomic<Int>(0)

  init() { places = .allocate(capacity: FormatLimits.dictionaryNumberMax) }

  deinit {
    for place in 0..<count { places[place].deallocate() }
    places.deallocate()
  }

  var count: Int { published.load(ordering: .acquiring) }

  /// Adds the new dictionaries of the catalog. Only the committer calls this.
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
