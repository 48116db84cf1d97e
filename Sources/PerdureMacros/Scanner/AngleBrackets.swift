/// Finds each `<` that may open generic arguments: it has a matching `>`, and types can contain all
/// tokens between the two. In an expression, the token after the `>` also decides whether these are
/// generic arguments.
///
/// One pass finds all of them and visits each token once, whatever the source.
struct AngleBrackets {
  private enum Open {
    case angle(Int)
    case bracket
  }

  /// The index of the closing token, by the index of the opening token.
  private(set) var ends: [Int: Int] = [:]
  private var unclosed: [Open] = []

  init(_ tokens: [Token]) {
    for (index, token) in tokens.enumerated() { take(token, index) }
  }

  private mutating func take(_ token: Token, _ index: Int) {
    switch token.kind {
    case .number: break
    case .word: if Self.never.contains(token.text) { unclosed = [] }
    case .literal, .pound: unclosed = []
    case .punctuation: takePunctuation(token.text)
    case .operation: takeOperator(token.text, index)
    }
  }

  private mutating func takePunctuation(_ text: String) {
    switch text {
    case "(", "[": unclosed.append(.bracket)
    case ")", "]":
      // A `<` that is still open inside brackets is a comparison, so the brackets are not inside
      // generic arguments either.
      if case .bracket? = unclosed.last { unclosed.removeLast() } else { unclosed = [] }
    case ",", ".", ":", "@", "?", "!": break
    default: unclosed = []
    }
  }

  private mutating func takeOperator(_ text: String, _ index: Int) {
    if text == "<" || text == "<-" || text == "<~" { return unclosed.append(.angle(index)) }
    guard !["->", "&", "~", "-"].contains(text) else { return }
    for character in text {
      guard character == ">" else {
        // Characters after the last `>`, such as the mark of an optional.
        if text.hasPrefix(">"), "?!=&".contains(character) { continue }
        unclosed = []
        return
      }
      guard case .angle(let begin)? = unclosed.last else {
        unclosed = []
        return
      }
      ends[begin] = index
      unclosed.removeLast()
    }
  }

  private static let never: Set<String> = [
    "var", "let", "func", "init", "class", "struct", "enum", "extension", "protocol", "case", "return", "if",
    "else",
    "switch", "for", "while", "try", "await", "true", "false", "nil", "as", "is",
  ]
}
