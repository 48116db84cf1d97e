// Ranges of index keys: half-open, bytewise. The engine has a type of its own for the same thing: contexts and
// fetches compute with ranges and must not know the engine (`LogStoreView` translates).

package import PerdurePredicates

/// The keys from `lower` on and before `upper`, compared as unsigned bytes, a prefix before what it begins.
package struct KeyRange: Hashable, Sendable {
  package var lower: [UInt8]
  /// The first key that is out of the range; nil when there is no end.
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

  /// This key alone: no key lies between a key and itself followed by a zero byte.
  package static func equal(_ key: [UInt8]) -> KeyRange {
    KeyRange(lower: key, upper: key + [0])
  }

  /// The entries whose key is a bare reference.
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
  /// The least key that is greater than every key beginning with these bytes; nil when there is none.
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
