/// Finds in the source of a declaration what the macros need: its head, and its variables.
///
/// The scanner works on tokens and knows only as much grammar as it takes to step over everything else:
/// 1. Brackets of all three kinds are stepped over as wholes.
/// 2. A declaration with a body ends behind its braces.
/// 3. A type or an expression ends at a `,` `;` or `=` or closing bracket, or where a line begins with
///    something that cannot carry it on, behind something that can end it.
/// Angle brackets count only inside types, where they cannot be operators.
struct DeclarationScanner {
  let source: [UInt8]
  let tokens: [Token]
  var position = 0
  /// The functions marked `override` that were stepped over.
  var overriddenFunctions: Set<String> = []

  init(_ source: String) {
    self.source = Array(source.utf8)
    tokens = Lexer.tokens(of: source)
  }

  var next: Token? { position < tokens.count ? tokens[position] : nil }
  var previous: Token? { (1..<tokens.count + 1).contains(position) ? tokens[position - 1] : nil }

  func isNext(_ text: String) -> Bool { next?.is(text) ?? false }

  mutating func skip(_ text: String) -> Bool {
    guard isNext(text) else { return false }
    position += 1
    return true
  }

  /// The source from the token at `start` to the one before `position`.
  func text(from start: Int) -> String? {
    guard start < position else { return nil }
    let range = tokens[start].range.lowerBound..<tokens[position - 1].range.upperBound
    return String(decoding: source[range], as: UTF8.self)
  }

  private func content(from start: Int, to end: Int) -> String {
    start < end ? String(decoding: source[start..<end], as: UTF8.self) : ""
  }

  /// Steps over one token, or over a bracket with all that it holds.
  mutating func skipOne() {
    var depth = 0
    repeat {
      guard let token = next else { return }
      if token.kind == .punctuation {
        if ["(", "[", "{"].contains(token.text) { depth += 1 }
        if [")", "]", "}"].contains(token.text) { depth -= 1 }
      }
      position += 1
    } while depth > 0
  }

  // MARK: Attributes and modifiers

  mutating func attributes() -> [AttributeSyntax] {
    var result: [AttributeSyntax] = []
    while let at = next, at.is("@") {
      position += 1
      var name = ""
      repeat {
        name = next?.text ?? ""
        position += 1
      } while skip(".")
      if isNext("<") { skipAngles() }
      var arguments: String?
      if let open = next, open.is("("), !open.hasSpaceBefore || name == "available" {
        skipOne()
        arguments = content(from: open.range.upperBound, to: previous?.range.lowerBound ?? 0)
      }
      result.append(AttributeSyntax(name: name, arguments: arguments, offset: at.range.lowerBound))
    }
    return result
  }

  mutating func skipAngles() {
    var depth = 0
    repeat {
      guard let token = next else { return }
      depth += Self.angleBalance(token)
      skipOne()
    } while depth > 0
  }

  static let introducers: Set<String> = [
    "var", "let", "func", "init", "deinit", "subscript", "class", "struct", "enum", "actor", "extension",
    "protocol", "typealias", "associatedtype", "case", "import", "operator", "precedencegroup", "macro",
  ]

  /// Words up to the one that says what is declared. `class` counts as a modifier in front of another.
  mutating func modifiers() -> [String] {
    var result: [String] = []
    while let word = next, word.kind == .word {
      let follower = position + 1 < tokens.count ? tokens[position + 1] : nil
      let isModifier =
        word.text == "class"
        ? [
          "var", "let", "func", "subscript", "override", "final", "private", "public", "internal", "open",
          "package", "fileprivate",
          "nonisolated", "dynamic",
        ]
        .contains(follower?.text ?? "")
        : !Self.introducers.contains(word.text)
      guard isModifier else { break }
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

  // MARK: Where things end

  static func angleBalance(_ token: Token) -> Int {
    guard token.kind == .operation, token.text != "->" else { return 0 }
    return token.text.reduce(0) { $0 + ($1 == "<" ? 1 : $1 == ">" ? -1 : 0) }
  }

  /// Steps over a type and gives its text.
  mutating func type() -> String? {
    let start = position
    var depth = 0
    while let token = next {
      if depth == 0, position > start {
        if token.kind == .punctuation, [",", ";", "{", "}", ")", "]"].contains(token.text) { break }
        if token.is("=") { break }
        if token.startsLine, !carriesTypeOn(token) { break }
      }
      depth += Self.angleBalance(token)
      skipOne()
    }
    return text(from: start)
  }

  /// Steps over an expression and gives its text.
  mutating func expression() -> String? {
    let start = position
    while let token = next {
      if position > start {
        if token.kind == .punctuation, [",", ";", "}", ")", "]"].contains(token.text) { break }
        if token.is("{"), isObserverBlock { break }
        if token.startsLine, !carriesOn(token) { break }
      }
      skipOne()
    }
    return text(from: start)
  }

  /// Whether a token that begins a line belongs to the type on the line before.
  private func carriesTypeOn(_ token: Token) -> Bool {
    if let last = previous, ["->", "&", ".", ":", "any", "some", "throws", "async"].contains(last.text) {
      return true
    }
    return ["->", "&", ".", "throws", "async"].contains(token.text)
  }

  /// Whether a token that begins a line belongs to the expression on the line before. An operator at the
  /// end of a line asks for more only when a space stands before it; without one it is postfix.
  private func carriesOn(_ token: Token) -> Bool {
    if let last = previous {
      if last.kind == .operation, last.hasSpaceBefore { return true }
      if ["any", "some", "try", "await", "as", "is", "in", ":", "."].contains(last.text) { return true }
    }
    if token.kind == .operation { return true }
    return token.kind != .literal && ["as", "is", ".", "?", ":", "{"].contains(token.text)
  }

  /// Whether the braces at `position` hold `willSet` or `didSet`.
  var isObserverBlock: Bool {
    if case .observers = accessorBlock(at: position) { true } else { false }
  }

  /// What the braces at `index` hold.
  func accessorBlock(at index: Int) -> AccessorSyntax {
    var inner = self
    inner.position = index + 1
    let attributes = inner.attributes()
    guard attributes.count < inner.tokens.count, let first = inner.next else { return .computed }
    if ["willSet", "didSet"].contains(first.text), first.kind == .word {
      return .observers(first.range.lowerBound)
    }
    return .computed
  }
}
