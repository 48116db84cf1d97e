/// A token of Swift source. Comments and white space are between tokens.
struct Token: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// A keyword or an identifier, with or without backticks; also `$0`.
    case word
    /// `#` and the word after it: a directive or a macro.
    case pound
    case number
    /// A string of any form, including its interpolations, or a regular expression.
    case literal
    /// A run of operator characters. `.` and postfix `?` and `!` are punctuation.
    case operation
    /// One of `( ) [ ] { } , : ; @ . ? !`, or any other character.
    case punctuation
  }

  let kind: Kind
  /// The range of the token in UTF-8 bytes of the source.
  let range: Range<Int>
  let text: String
  /// Whether the token follows a line break, or is the first one.
  let startsLine: Bool
  /// Whether the token follows white space or a comment, or is the first one.
  let hasSpaceBefore: Bool

  func `is`(_ text: String) -> Bool { kind != .literal && self.text == text }
}
