/// Makes Swift literals with a point or an exponent, such as `0.05`, exact if they are values of an
/// attribute of the type `Decimal`. The compiler reads such a literal as a Double, which cannot
/// represent 3.133 exactly. The macro has the text of the literal, and generates a call with this
/// text.
///
/// A literal that no Decimal can represent is not changed: it has more than 38 digits, or an
/// exponent outside -128...127.
enum DecimalLiteral {
  /// The initial value of a variable. It becomes an exact expression if it is a literal and the
  /// type is written as `Decimal`.
  static func initialValue(_ value: String?, type: String) -> String? {
    guard let value, isDecimal(type) else { return value }
    let tokens = Lexer.tokens(of: value)
    guard let (number, end) = number(in: tokens[...]), end == tokens.endIndex else { return value }
    return exact(number)
  }

  /// The arguments of `@Attribute` with exact bounds, at any depth: `.minimum(0.05)` becomes
  /// `.minimum(.decimal(…))`. For an attribute of another type, the arguments are not changed.
  static func options(_ source: String?, type: String) -> String? {
    guard let source, isDecimal(type) else { return source }
    let tokens = Lexer.tokens(of: source)
    var (result, copied) = ([UInt8](), 0)
    let bytes = Array(source.utf8)
    for place in tokens.indices where isBound(at: place, tokens) {
      let first = place + 3
      guard let (number, end) = number(in: tokens[first...]), end < tokens.endIndex, tokens[end].is(")")
      else { continue }
      result += bytes[copied..<tokens[first].range.lowerBound] + Array(".decimal(\(exact(number)))".utf8)
      copied = tokens[end - 1].range.upperBound
    }
    return String(decoding: result + bytes[copied...], as: UTF8.self)
  }

  private static func exact(_ number: String) -> String { "Perdure._decimal(\"\(number)\")" }

  /// Whether `.minimum(` or `.maximum(` begins at a position, and another token follows.
  private static func isBound(at place: Int, _ tokens: [Token]) -> Bool {
    place + 3 < tokens.count && tokens[place].is(".")
      && (tokens[place + 1].is("minimum") || tokens[place + 1].is("maximum")) && tokens[place + 2].is("(")
  }

  /// The literal at the beginning of some tokens, with its sign and without underscores, and the
  /// position after it. Nil if the tokens do not begin with a literal that `fraction` accepts.
  private static func number(in tokens: ArraySlice<Token>) -> (text: String, end: Int)? {
    var rest = tokens
    let isNegative = rest.first?.is("-") == true
    if isNegative { rest = rest.dropFirst() }
    guard let token = rest.first, token.kind == .number, let text = fraction(token.text) else { return nil }
    return (isNegative ? "-\(text)" : text, rest.startIndex + 1)
  }

  /// A literal with a point or an exponent, without underscores; nil for other literals, and for
  /// those that no Decimal can represent.
  private static func fraction(_ literal: String) -> String? {
    let text = literal.filter { $0 != "_" }.lowercased()
    let isDecimal = text.allSatisfy { $0.isNumber || ".e+-".contains($0) }
    guard isDecimal, text.contains(where: { $0 == "." || $0 == "e" }) else { return nil }
    let parts = text.split(separator: "e", maxSplits: 1)
    let places = parts[0].split(separator: ".", maxSplits: 1).dropFirst().first?.count ?? 0
    let digits = parts[0].filter { $0 != "." }.drop { $0 == "0" }
    guard let written = parts.count == 2 ? Int(parts[1]) : 0, digits.count <= 38 else { return nil }
    return (-128...127).contains(written - places) ? text : nil
  }

  private static func isDecimal(_ type: String) -> Bool {
    var text = Lexer.tokens(of: type).map(\.text).joined()[...]
    for prefix in ["Swift.Optional<", "Optional<"] where text.hasPrefix(prefix) && text.hasSuffix(">") {
      text = text.dropFirst(prefix.count).dropLast()
    }
    if text.hasSuffix("?") { text = text.dropLast() }
    return ["Decimal", "Foundation.Decimal", "FoundationEssentials.Decimal"].contains(text)
  }
}
