// Half-open ranges of index keys, compared by bytes. The engine has its own type for key ranges.
// Contexts and fetches do not depend on the engine, so they use this type. `LogStoreView` converts
// it.

package import PerdurePredicates

/// The keys from `lower` up to, but not including, `upper`. Keys are compared as unsigned bytes,
/// and a prefix sorts before longer keys.
package struct KeyRange: Hashable, Sendable {
  package var lower: [UInt8]
  /// The first key after the range; nil if the range has no end.
  package var upper: [UInt8]?

  package init(lower: [UInt8], upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  /// Every key.
  package static let all = KeyRange(lower: [], upper: nil)

  /// No key.
  package static let none = KeyRange(lower: [], upper: [])

  /// The keys that begin with these bytes.
  package static func prefix(_ bytes: [UInt8]) -> KeyRange {
    KeyRange(lower: bytes, upper: bytes.afterPrefix())
  }

  /// Only this key: no other key sorts between `key` and `key + [0]`.
  package static func equal(_ key: [UInt8]) -> KeyRange {
    KeyRange(lower: key, upper: key + [0])
  }

  /// The entries whose key is this reference, without a mark for null.
  package static func owner(_ reference: ObjectReference) -> KeyRange {
    var key = OrderedKey()
    key.append(bare: reference)
    return .equal(key.bytes)
  }

  /// Whether no key can be in the range.
  package var isEmpty: Bool {
    guard let upper else { return false }
    return !lower.lexicographicallyPrecedes(upper)
  }

  /// Whether a key is in the range.
  package func contains(_ key: some Sequence<UInt8>) -> Bool {
    if key.lexicographicallyPrecedes(lower) { return false }
    guard let upper else { return true }
    return key.lexicographicallyPrecedes(upper)
  }

  /// The keys that are in both ranges.
  package func intersection(_ other: KeyRange) -> KeyRange {
    let low = lower.lexicographicallyPrecedes(other.lower) ? other.lower : lower
    guard let upper, let otherUpper = other.upper else {
      return KeyRange(lower: low, upper: upper ?? other.upper)
    }
    return KeyRange(
      lower: low, upper: upper.lexicographicallyPrecedes(otherUpper) ? upper : otherUpper)
  }
}

extension [UInt8] {
  /// The smallest key that is greater than all keys with this prefix; nil if there is none.
  package func afterPrefix() -> [UInt8]? {
    var bytes = self
    while let last = bytes.popLast() {
      if last < .max {
        bytes.append(last + 1)
        return bytes
      }
    }
    return nil
  }
}
