// LIKE: `?` is one character (a scalar with its marks), and `*` is any number of characters. `\`
// makes the next byte of the pattern literal. The whole text must match.
//
// Two positions advance together. After a mismatch, the last star matches one more character, and
// the pattern restarts after the star. Earlier stars need no retry, because a later star can match
// the same characters. So there is no recursion, and the work is at most length of text times
// length of pattern.

enum LikeMark {
  static let one = UInt8(ascii: "?")
  static let many = UInt8(ascii: "*")
  static let escape = UInt8(ascii: "\\")
}

package enum LikePattern {
  /// Whether a text matches a folded pattern. The text is folded, or it is ASCII and is converted
  /// to lower case here.
  @usableFromInline package static func matches(
    _ text: UnsafeRawBufferPointer, _ pattern: FoldedText, lowers: Bool
  ) -> Bool {
    pattern.bytes.withUnsafeBytes { matches(text, $0, lowers: lowers) }
  }

  private static func matches(
    _ text: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer, lowers: Bool
  ) -> Bool {
    var position = 0
    var mark = 0
    var star: (mark: Int, position: Int)?
    while true {
      if mark < pattern.count, pattern[mark] == LikeMark.many, Boundary.isAt(position, in: text) {
        mark += 1
        star = (mark, position)
      } else if position >= text.count, mark >= pattern.count {
        return true
      } else if let step = step(text, position, pattern, mark, lowers: lowers) {
        position = step.position
        mark = step.mark
      } else if let last = star, last.position < text.count {
        position = Boundary.after(last.position, in: text)
        mark = last.mark
        star = (last.mark, position)
      } else {
        return false
      }
    }
  }

  /// Advances over one character or byte of the text and of the pattern. Returns nil if they
  /// differ, if the text or the pattern is at its end, or if the pattern is at a star.
  private static func step(
    _ text: UnsafeRawBufferPointer, _ position: Int, _ pattern: UnsafeRawBufferPointer, _ mark: Int,
    lowers: Bool
  ) -> (position: Int, mark: Int)? {
    guard position < text.count, mark < pattern.count else { return nil }
    var mark = mark
    switch pattern[mark] {
    case LikeMark.one:
      guard Boundary.isAt(position, in: text) else { return nil }
      return (Boundary.after(position, in: text), mark + 1)
    case LikeMark.many: return nil
    case LikeMark.escape where mark + 1 < pattern.count: mark += 1
    default: break
    }
    let byte = lowers ? StringFolding.lowercased(text[position]) : text[position]
    return byte == pattern[mark] ? (position + 1, mark + 1) : nil
  }
}
