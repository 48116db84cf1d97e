/// Finds the parts of a declaration's source that the macros need: its head and its variables.
///
/// The scanner works on tokens. It knows only the grammar that it needs to skip everything else:
/// 1. Brackets of all three kinds are skipped as a whole.
/// 2. A declaration with a body ends after its braces.
/// 3. A type or an expression ends at a `,` `;` or `=` or at a closing bracket. It also ends before
///    a line that begins with a token that cannot continue it, if the previous token can end it.
/// 4. Inside a type, `<` and `>` are brackets, because they cannot be operators. In an expression,
///    they are brackets if their content can be types and the next token cannot be an operand.
///
/// `Scripts/ScannerComparison` compares the scanner with SwiftParser.
struct DeclarationScanner {
  let source: [UInt8]
  let tokens: [Token]
  let angles: AngleBrackets
  var position = 0
  /// The number of skipped tokens, including lookahead. A test compares it with the length of the
  /// source.
  private(set) var steps = 0
  /// The skipped functions that are marked `override`.
  var overriddenFunctions: Set<String> = []
  /// The skipped initializers.
  var initializers: [InitializerSyntax] = []
  /// The skipped functions that can be validations of a property.
  var validators: [ValidatorSyntax] = []
  /// The skipped functions with `@FetchTemplate`.
  var templateFunctions: [TemplateFunctionSyntax] = []
  /// Whether the type before `position` ended inside a token, at a `=`: `Array<Int>=[]`.
  var endsWithEqualSign = false

  init(_ source: String) {
    let lexer = Lexer(source)
    self.source = lexer.bytes
    tokens = lexer.tokens
    angles = AngleBrackets(tokens)
    steps = lexer.lookedAhead
  }

  var next: Token? { token(0) }
  var previous: Token? { token(-1) }

  /// The token at a distance from `position`.
  func token(_ distance: Int) -> Token? {
    tokens.indices.contains(position + distance) ? tokens[position + distance] : nil
  }

  func isNext(_ text: String) -> Bool { next?.is(text) ?? false }

  mutating func skip(_ text: String) -> Bool {
    guard isNext(text) else { return false }
    position += 1
    return true
  }

  /// The source from the token at `start` to the one before `position`.
  func text(from start: Int) -> String? {
    guard start < position else { return nil }
    return content(from: tokens[start].range.lowerBound, to: tokens[position - 1].range.upperBound)
  }

  func content(from start: Int, to end: Int) -> String {
    start < end ? String(decoding: source[start..<end], as: UTF8.self) : ""
  }

  /// Skips one token, or a bracket with its content.
  mutating func skipOne() {
    var depth = 0
    repeat {
      guard let token = next else { return }
      if token.kind == .punctuation {
        if ["(", "[", "{"].contains(token.text) { depth += 1 }
        if [")", "]", "}"].contains(token.text) { depth -= 1 }
      }
      position += 1
      steps += 1
    } while depth > 0
  }

  /// Calls `find`, and then restores `position`. `steps` includes the steps of `find`.
  mutating func lookAhead<Finding>(_ find: (inout DeclarationScanner) -> Finding) -> Finding {
    let start = position
    let result = find(&self)
    position = start
    return result
  }

  /// Skips generic parameters or arguments, but not beyond the enclosing bracket.
  mutating func skipAngles() {
    var depth = 0
    repeat {
      guard let token = next, !["{", "}", ")", "]", ";"].contains(where: token.is) else { return }
      depth += Self.angleBalance(token)
      skipOne()
    } while depth > 0
  }

  static func angleBalance(_ token: Token) -> Int {
    guard token.kind == .operation, token.text != "->" else { return 0 }
    return token.text.reduce(0) { $0 + ($1 == "<" ? 1 : $1 == ">" ? -1 : 0) }
  }

  // MARK: Attributes

  mutating func attributes() -> [AttributeSyntax] {
    var result: [AttributeSyntax] = []
    while let token = next {
      if token.is("@") {
        result.append(attribute())
      } else if token.is("#if"), let conditional = conditionalAttributes() {
        result += conditional
      } else {
        break
      }
    }
    return result
  }

  private mutating func attribute() -> AttributeSyntax {
    let offset = next?.range.lowerBound ?? source.count
    position += 1
    steps += 1
    var name = ""
    repeat {
      name = next?.text ?? ""
      position += 1
      if isNext("<") { skipAngles() }
      // A module's name may precede two colons.
    } while skip(".") || (skip(":") && skip(":"))
    var arguments: String?
    if let open = next, open.is("("), !open.hasSpaceBefore || name == "available" {
      skipOne()
      arguments = content(from: open.range.upperBound, to: previous?.range.lowerBound ?? 0)
    }
    return AttributeSyntax(name: name, arguments: arguments, offset: offset)
  }

  /// Reads the attributes inside `#if` up to its `#endif`. Returns nil, and restores `position`, if
  /// the block contains anything else or no attribute, has no `#endif`, or is nested too deeply.
  private mutating func conditionalAttributes() -> [AttributeSyntax]? {
    let start = position
    var result: [AttributeSyntax] = []
    var depth = 0
    while let token = next {
      if token.is("@") {
        var attribute = attribute()
        attribute.isConditional = true
        result.append(attribute)
        continue
      }
      if token.is("#if") { depth += 1 }
      if token.is("#endif") { depth -= 1 }
      guard ["#if", "#elseif", "#else", "#endif"].contains(token.text), depth < Self.conditionDepthLimit
      else { break }
      skipDirective()
      if depth == 0 { return result.isEmpty ? backTo(start) : result }
    }
    return backTo(start)
  }

  /// The maximum nesting of `#if` in which attributes are searched, so that the search stays
  /// linear.
  private static let conditionDepthLimit = 8

  private mutating func backTo(_ start: Int) -> [AttributeSyntax]? {
    position = start
    return nil
  }

  /// Skips a directive to the end of the line, and brackets as a whole.
  mutating func skipDirective() {
    repeat { skipOne() } while next.map { !$0.startsLine && !$0.is("}") } ?? false
  }

  // MARK: Modifiers

  static let introducers: Set<String> = [
    "var", "let", "func", "init", "deinit", "subscript", "class", "struct", "enum", "actor", "extension",
    "protocol", "typealias", "associatedtype", "case", "import", "operator", "precedencegroup", "macro",
  ]

  static let usualModifiers: Set<String> = [
    "public", "private", "fileprivate", "internal", "package", "open", "static", "final", "override", "lazy",
    "weak", "unowned", "dynamic", "nonisolated", "isolated", "mutating", "nonmutating", "required",
    "convenience",
    "optional", "indirect", "distributed", "prefix", "postfix", "infix", "borrowing", "consuming",
  ]

  /// Reads words up to the keyword of the declaration.
  mutating func modifiers() -> [String] {
    var result: [String] = []
    while let word = next, word.kind == .word, !Self.introducers.contains(word.text) || isClassModifier {
      var modifier = word.text
      position += 1
      if let open = next, open.is("("), !open.hasSpaceBefore {
        let start = position
        skipOne()
        modifier += text(from: start) ?? ""
      }
      result.append(modifier)
    }
    return result
  }

  /// Whether the next word is a `class` that modifies another declaration, and does not declare a
  /// class.
  private var isClassModifier: Bool {
    guard isNext("class"), let follower = token(1) else { return false }
    if ["var", "let", "func", "subscript"].contains(follower.text) { return true }
    // A class may have a name that is a modifier elsewhere.
    return Self.usualModifiers.contains(follower.text) && !["{", ":", "<"].contains(token(2)?.text)
  }
}
