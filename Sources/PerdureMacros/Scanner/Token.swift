/// A piece of Swift source that matters: comments and white space lie between tokens.
struct Token: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// A word, keyword or not, also in backticks; and `$0`.
    case word
    /// A word with `#` in front: a directive or a macro.
    case pound
    case number
    /// A string of any form, interpolations included, or a regular expression.
    case literal
    /// A run of operator characters. `.` and postfix `?` and `!` are punctuation.
    case operation
    /// One of `( ) [ ] { } , : ; @ . ? !` or any character that fits nowhere else.
    case punctuation
  }

  let kind: Kind
  /// In UTF-8 bytes of the source.
  let range: Range<Int>
  let text: String
  /// Whether a line break lies between this token and the one before.
  let startsLine: Bool
  /// Whether white space or a comment lies right before, or nothing at all.
  let hasSpaceBefore: Bool

  func `is`(_ text: String) -> Bool { kind != .literal && self.text == text }
}
