// MATCHES: a regular expression against a whole text, in the syntax of the standard library's `Regex`, by characters.
//
// A pattern may come from a user, so a match must end. Only whether the text matches is asked, not what the groups
// hold; so all ways to match are followed at once (PatternMatch.swift), in time proportional to text times pattern.
// What cannot be told in this way is refused when the pattern is read: backreferences, lookbehind, atomic groups and
// possessive quantifiers.
//
//   R1. Reading a pattern ends in a program of bounded size, or in an error. It calls itself at most `nestingLimit`
//       times.
//   R2. A match takes at most `PatternMatch.stepMax` steps; then it throws. Without lookahead a step is one
//       instruction at one character, so a pattern of 100 instructions may meet a text of 500,000 characters.

/// A regular expression that has been read.
package struct RegularExpression: Sendable {
  static let nestingLimit = 50
  private static let lengthLimit = 10_000

  private let program: PatternProgram
  private let foldsDiacritics: Bool
  private let pattern: String

  /// Reads a pattern; `c` and `d` apply, other options do not.
  package init(_ pattern: String, options: StringOptions) throws(PredicateEvaluationError) {
    foldsDiacritics = options.contains(.diacriticInsensitive)
    self.pattern = pattern
    let text = foldsDiacritics ? StringFolding.folded(pattern, options: .diacriticInsensitive) : pattern
    guard text.utf8.count <= Self.lengthLimit else {
      throw Self.invalid(pattern, "is longer than \(Self.lengthLimit) bytes")
    }
    do throws(PatternError) {
      var parser = PatternParser(text, ignoresCase: options.contains(.caseInsensitive))
      program = try PatternProgram(try parser.parse())
    } catch {
      throw Self.invalid(pattern, error.message)
    }
  }

  /// Whether the whole text matches.
  ///
  /// - Complexity: O(n) for a text of n characters; with lookahead O(n²) at worst.
  package func matches(_ text: String) throws(PredicateEvaluationError) -> Bool {
    let text = foldsDiacritics ? StringFolding.folded(text, options: .diacriticInsensitive) : text
    if let answer = PatternMatch.wholeMatch(program, text) { return answer }
    throw PredicateEvaluationError(
      .matchTooLong,
      "\(Self.words(pattern)) after MATCHES takes more than \(PatternMatch.stepMax) steps on a text of "
        + "\(text.utf8.count) bytes. Use a simpler pattern, or limit the length of the text.")
  }

  private static func words(_ pattern: String) -> String { Value.quoted(pattern.shortened) }

  private static func invalid(_ pattern: String, _ what: String) -> PredicateEvaluationError {
    PredicateEvaluationError(.invalidPattern, "\(words(pattern)) after MATCHES \(what).")
  }
}

/// Why a pattern cannot be read: goes on after the pattern.
struct PatternError: Error {
  let message: String

  init(_ message: String) { self.message = message }

  static func unsupported(_ what: String) -> PatternError {
    PatternError("has \(what), which is not supported, because a match could take exponential time")
  }
}
