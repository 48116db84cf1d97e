// A cache of values that a process has computed, such as the checked model of a container's
// classes. A program that opens a store many times, or many stores with one model, computes the
// value once.

internal import PerdureFileIO

/// Caches the values of the most recently used keys. Any thread may use it.
///
/// A lookup compares the key with all cached keys, so there are few of them. Keys are compared and
/// values are computed outside of the lock.
final class RecentValues<Key: Equatable & Sendable, Value: Sendable>: Sendable {
  private final class Entry: Sendable {
    let key: Key
    let value: Value

    init(_ key: Key, _ value: Value) {
      self.key = key
      self.value = value
    }
  }

  private let countMax: Int
  /// The most recently used entry is the last.
  private let entries = Guarded<[Entry]>([])

  init(countMax: Int) { self.countMax = countMax }

  /// Returns the value of a key, and computes it if it is not known.
  ///
  /// - Complexity: O(k) comparisons for `countMax` k.
  func value<E: Error>(of key: Key, compute: () throws(E) -> Value) throws(E) -> Value {
    let entry: Entry
    if let known = entries.withLock({ $0 }).last(where: { $0.key == key }) {
      entry = known
    } else {
      entry = Entry(key, try compute())
    }
    entries.withLock { entries in
      entries.removeAll { $0 === entry }
      if entries.count == countMax { entries.removeFirst() }
      entries.append(entry)
    }
    return entry.value
  }
}
