// Finds the texts that begin with another text. Reads only their keys in an index.
//
// The decomposition of such a text begins with the decomposition of the other text, so their keys
// are in one range (IK2 in OrderedKey.swift). The range also contains other keys. A match must end
// at the end of a letter (FoldedText.swift), so "é" does not begin with "e". The bytes after the
// prefix show whether a letter ends there:
//
//   TP1. The bytes after the prefix are a whole scalar, or the zeros that end a text. Stores
//        shorten long keys, but prefixes that come near the maximum length are not accepted.
//   TP2. There is always a boundary before an ASCII byte, and before the zeros. So a part of the
//        range need not be checked.

internal import PerdurePredicates

/// The keys of texts that begin with another text.
struct TextPrefix {
  /// All keys that may match.
  let range: KeyRange
  /// The keys that always match (TP2), and those that must be checked.
  let certain: KeyRange
  let doubtful: KeyRange
  /// The length of the prefix.
  private let length: Int

  /// Nil if stores may shorten a key within the scalar after the prefix (TP1).
  ///
  /// - Parameter range: The keys that begin with the key of a text (`SearchBounds.prefix`).
  init?(_ range: KeyRange) {
    // The longest scalar has four bytes (TP1).
    guard range.lower.count + 4 <= IndexDefinition.keyLengthMax else { return nil }
    self.range = range
    length = range.lower.count
    // All texts begin with the empty text, whose key has only the mark for a value.
    let split = length == 1 ? nil : range.lower + [0x80]
    certain = KeyRange(lower: range.lower, upper: split ?? range.upper)
    doubtful = split.map { KeyRange(lower: $0, upper: range.upper) } ?? .none
  }

  /// Whether the text of a key in the range begins with the prefix. O(1).
  @inline(__always)
  func holds(_ key: UnsafeRawBufferPointer) -> Bool { length == 1 || Boundary.isAt(length, in: key) }
}
