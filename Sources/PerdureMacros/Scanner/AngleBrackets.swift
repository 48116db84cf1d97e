/// Which `<` of a source open generic arguments, as far as the tokens between say so: then they close at a `>` and
/// hold nothing that no type has. Whether they are arguments in an expression depends on what follows as well.
///
/// All are found in one pass: whatever the source, each token is looked at once.
struct AngleBrackets {
  private enum Open {
    case angle(Int)
    case bracket
  }

  /// The token that closes, by the one that opens.
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
      // A `<` that is still open in brackets compares, so that around the brackets stand no arguments either.
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
        // What follows behind the last `>`, as the mark of an optional.
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
