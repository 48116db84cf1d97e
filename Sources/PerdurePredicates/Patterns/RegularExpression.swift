// MATCHES: matches a whole text against a regular expression, by characters. The syntax is that of
// the standard library's `Regex`.
//
// A pattern may come from a user, so every match must end. MATCHES needs no captures, so a match
// follows all alternatives at the same time (PatternMatch.swift). Its time is proportional to the
// length of the text times the size of the pattern. The parser rejects constructs that this method
// cannot match: backreferences, lookbehind, atomic groups and possessive quantifiers.
//
//   RX1. Parsing gives a program of bounded size, or an error. Its recursion is at most
//        `nestingLimit` levels deep.
//   RX2. A match throws after `PatternMatch.stepMax` steps. Without lookahead, a step is one
//        instruction at one character. So a pattern of 100 instructions can match a text of 500,000
//        characters.

/// A parsed regular expression.
package struct RegularExpression: Sendable {
  static let nestingLimit = 50
  private static let lengthLimit = 10_000

  private let program: PatternProgram
  private let foldsDiacritics: Bool
  private let pattern: String

  /// Parses a pattern.
  ///
  /// - Parameter options: `c` and `d` apply; other options are ignored.
  /// - Throws: `PredicateEvaluationError` with the code `invalidPattern` if the pattern is longer
  ///   than 10,000 bytes, expands to too many instructions, is malformed, or contains an
  ///   unsupported construct.
  /// - Complexity: O(n) for a pattern of n characters, with counted repetitions expanded.
  package init(_ pattern: String, options: StringOptions) throws(PredicateEvaluationError) {
    foldsDiacritics = options.contains(.diacriticInsensitive)
    self.pattern = pattern
    let text = foldsDiacritics ? StringFolding.folded(pattern, options: .diacriticInsensitive) : pattern
    guard text.utf8.count <= Self.lengthLimit else {
      throw Self.invalid(pattern, "is longer than \(Self.lengthLimit) bytes")
    }
    do throws(PatternError) {
      var parser = PatternParser(
        text, ignoresCase: options.contains(.caseInsensitive), foldsDiacritics: foldsDiacritics)
      program = try PatternProgram(try parser.parse())
    } catch {
      throw Self.invalid(pattern, error.message)
    }
  }

  /// Whether the whole text matches.
  ///
  /// - Throws: `PredicateEvaluationError` with the code `matchTooLong` if the match takes more than
  ///   `PatternMatch.stepMax` steps.
  /// - Complexity: O(n) for a text of n characters; with lookahead O(n²) in the worst case.
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

/// The reason why a pattern cannot be parsed. The message is the end of a sentence that begins with
/// the pattern.
struct PatternError: Error {
  let message: String

  init(_ message: String) { self.message = message }

  static func unsupported(_ what: String) -> PatternError {
    PatternError("has \(what), which is not supported, because a match could take exponential time")
  }
}
