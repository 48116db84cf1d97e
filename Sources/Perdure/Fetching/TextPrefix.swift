// Which keys of an index on a text are of texts that begin with another, told by the keys alone.
//
// The decompositions of such texts begin with the decomposition of the other one, so their keys lie in one range (K2 in
// OrderedKey.swift). That is not enough: a match ends where a letter does (FoldedText.swift), and "é" does not begin with
// "e". Whether a letter ends there is told by what follows in the key:
//
//   P1. The bytes behind the prefix are a whole scalar, or the zeros that end a text: of what stores cut from a key
//       nothing is missed, as ranges that end where they cut are not taken.
//   P2. Before a byte of ASCII, and before the zeros, there is always a boundary. So a part of the range needs no look.

internal import PerdurePredicates

/// The keys of texts that begin with another one.
struct TextPrefix {
  /// All keys in question.
  let range: KeyRange
  /// Those that need no look (P2), and the others.
  let certain: KeyRange
  let doubtful: KeyRange
  /// The length of what they begin with.
  private let length: Int

  /// - Parameter range: The keys that begin with those of a text (`SearchBounds.prefix`). Nil for one that stores may cut
  ///   through.
  init?(_ range: KeyRange) {
    // The longest scalar has four bytes (P1).
    guard range.lower.count + 4 <= IndexDefinition.keyLengthMax else { return nil }
    self.range = range
    length = range.lower.count
    // Everything begins with the empty text, of which the key has only the mark for a value.
    let split = length == 1 ? nil : range.lower + [0x80]
    certain = KeyRange(lower: range.lower, upper: split ?? range.upper)
    doubtful = split.map { KeyRange(lower: $0, upper: range.upper) } ?? .none
  }

  /// Whether the text of a key in the range begins so. O(1).
  @inline(__always)
  func holds(_ key: UnsafeRawBufferPointer) -> Bool { length == 1 || Boundary.isAt(length, in: key) }
}
