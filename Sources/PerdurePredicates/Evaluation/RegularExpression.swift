// MATCHES: a regular expression against a whole text, by the standard library's engine (in its syntax, by
// characters). A pattern comes from outside, so its nesting is limited before the engine's recursive
// reader sees it. The time a match takes is not limited: `(a+)+b` can be slow, as with every backtracking
// engine.

import _StringProcessing

/// A regular expression that has been read.
package struct RegularExpression {
  private static let nestingLimit = 50
  private static let lengthLimit = 10_000

  private let regex: Regex<AnyRegexOutput>
  private let foldsDiacritics: Bool
  private let pattern: String

  /// Reads a pattern; `c` and `d` apply, other options do not.
  package init(_ pattern: String, options: StringOptions) throws(PredicateEvaluationError) {
    foldsDiacritics = options.contains(.diacriticInsensitive)
    self.pattern = pattern
    let text = foldsDiacritics ? StringFolding.folded(pattern, options: .diacriticInsensitive) : pattern
    guard text.utf8.count <= Self.lengthLimit, Self.nesting(of: text) <= Self.nestingLimit else {
      throw Self.invalid(
        pattern, "is longer than \(Self.lengthLimit) bytes or nested deeper than \(Self.nestingLimit)")
    }
    do {
      let regex = try Regex(text)
      self.regex = options.contains(.caseInsensitive) ? regex.ignoresCase() : regex
    } catch {
      throw Self.invalid(pattern, "is no regular expression", cause: error)
    }
  }

  /// Whether the whole text matches.
  package func matches(_ text: String) throws(PredicateEvaluationError) -> Bool {
    let text = foldsDiacritics ? StringFolding.folded(text, options: .diacriticInsensitive) : text
    do {
      return try regex.wholeMatch(in: text) != nil
    } catch {
      throw Self.invalid(pattern, "failed while matching", cause: error)
    }
  }

  /// How many brackets are open at once at most, escapes and character classes not told apart.
  private static func nesting(of pattern: String) -> Int {
    var open = 0
    var most = 0
    for byte in pattern.utf8 {
      if byte == UInt8(ascii: "(") || byte == UInt8(ascii: "[") { open += 1 }
      if byte == UInt8(ascii: ")") || byte == UInt8(ascii: "]") { open = max(0, open - 1) }
      most = max(most, open)
    }
    return most
  }

  private static func invalid(
    _ pattern: String, _ what: String, cause: (any Error)? = nil
  ) -> PredicateEvaluationError {
    PredicateEvaluationError(
      .invalidPattern, "\(Value.quoted(String(pattern.prefix(100)))) after MATCHES \(what).", cause: cause)
  }
}
