// Finds the ends of types and expressions.

extension DeclarationScanner {
  // MARK: Types

  /// Skips a type and returns its source text.
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
      if depth == 0, token.kind == .operation, token.text.hasPrefix(">"), token.text.hasSuffix("=") {
        endsWithEqualSign = true
        return content(from: tokens[start].range.lowerBound, to: token.range.upperBound - 1)
      }
    }
    return text(from: start)
  }

  /// Whether a token at the beginning of a line continues the type on the previous line.
  private func carriesTypeOn(_ token: Token) -> Bool {
    if isAfterWord(["any", "some", "throws", "async"]) { return true }
    if let last = previous, ["->", "&", ".", ":"].contains(where: last.is) { return true }
    return ["->", "&", ".", "throws", "async"].contains(where: token.is)
  }

  /// Whether one of the words is before `position`, and is not the name of a member.
  private func isAfterWord(_ words: Set<String>, _ distance: Int = -1) -> Bool {
    guard let word = token(distance), word.kind == .word, words.contains(word.text) else { return false }
    return !(token(distance - 1)?.is(".") ?? false)
  }

  // MARK: Expressions

  /// Skips an expression and returns its source text.
  mutating func expression() -> String? {
    let start = position
    var isType = false
    while let token = next {
      if position > start {
        if token.kind == .punctuation, [",", ";", "}", ")", "]"].contains(token.text) { break }
        if token.is("{"), isAtAccessorBlock() { break }
        if token.is("#if"), skipPostfixConditions() { continue }
        if token.startsLine, !carriesOn(token) { break }
      }
      if token.is("if") || token.is("switch"), !(previous?.is(".") ?? false) {
        skipConditional()
      } else if let end = angles.ends[position], isType || endsArguments(end) {
        position = end + 1
      } else {
        isType = isAfterWord(["as", "is"], 0) || (isType && Self.carriesTypeOnInExpression(token))
        skipOne()
      }
    }
    return text(from: start)
  }

  /// Whether a token can continue the type after `as` or `is`, up to its generic arguments.
  private static func carriesTypeOnInExpression(_ token: Token) -> Bool {
    token.kind == .word || [".", "?", "!", "&", "(", "[", "->"].contains(where: token.is)
  }

  /// Whether the token after a `>` shows that it ends generic arguments and is not a comparison.
  private func endsArguments(_ end: Int) -> Bool {
    // An operator that continues after its last `>`, such as `>?`, always ends generic arguments.
    guard tokens[end].text.last == ">", end + 1 < tokens.count else { return true }
    let follower = tokens[end + 1]
    if follower.is("(") || follower.is("[") { return !follower.startsLine }
    return ["{", "}", ")", "]", ".", ",", ";", ":", "?", "!", "&", "="].contains(where: follower.is)
  }

  /// Skips `if` or `switch` to the position after its last braces.
  private mutating func skipConditional() {
    while let token = next {
      skipOne()
      guard token.is("{") else {
        if token.is("}") { return }
        continue
      }
      if !skip("else") { return }
    }
  }

  /// Skips an `#if` block if it contains members of the expression before it. Returns whether it
  /// skipped the block.
  private mutating func skipPostfixConditions() -> Bool {
    let isPostfix = lookAhead { ahead in
      repeat { ahead.skipDirective() } while ahead.isNext("#if")
      return ahead.isNext(".")
    }
    guard isPostfix else { return false }
    var depth = 0
    repeat {
      guard let token = next, !token.is("}") else { return true }
      if token.is("#if") { depth += 1 }
      if token.is("#endif") { depth -= 1 }
      if token.kind == .pound { skipDirective() } else { skipOne() }
    } while depth > 0
    return true
  }

  /// Whether a token at the beginning of a line continues the expression on the previous line. An
  /// operator at the end of a line continues it only if a space precedes the operator. Otherwise
  /// the operator is postfix.
  private func carriesOn(_ token: Token) -> Bool {
    if let last = previous {
      if last.kind == .operation, last.hasSpaceBefore { return true }
      if last.is(":") || last.is(".") { return true }
      let keywords: Set<String> = [
        "any", "some", "try", "await", "as", "is", "in", "consume", "copy", "each", "repeat",
      ]
      if isAfterWord(keywords) { return true }
      if last.is("?") || last.is("!"), isAfterWord(["try", "as"], -2) { return true }
      if last.is("}"), token.kind == .word, self.token(1)?.is(":") ?? false {
        return self.token(2)?.is("{") ?? false
      }
    }
    if token.kind == .operation { return true }
    return token.kind != .literal && ["as", "is", ".", "?", ":", "{", "else"].contains(token.text)
  }

  // MARK: Accessors

  /// Whether the braces at `position` contain accessors of a variable with an initial value, and
  /// are not a closure.
  private mutating func isAtAccessorBlock() -> Bool {
    guard let first = firstWordInBraces() else { return false }
    return ["willSet", "didSet", "init"].contains(where: first.is)
  }

  /// The kind of accessors in the braces at `position`.
  mutating func accessorBlock() -> AccessorSyntax {
    if let first = firstWordInBraces(), first.is("willSet") || first.is("didSet") {
      return .observers(first.range.lowerBound)
    }
    return .computed(isSettable: accessorNames().isSuperset(of: ["get", "set"]))
  }

  /// The names of the accessors in the braces at `position`; empty if they contain a getter's body.
  private mutating func accessorNames() -> Set<String> {
    lookAhead { inner in
      inner.position += 1
      var names: Set<String> = []
      while let token = inner.next, !token.is("}") {
        _ = inner.attributes()
        while inner.isNext("mutating") || inner.isNext("nonmutating") { inner.position += 1 }
        guard let name = inner.next, ["get", "set", "_modify", "_read"].contains(name.text) else { return [] }
        names.insert(name.text)
        inner.position += 1
        if inner.isNext("(") { inner.skipOne() }
        guard inner.isNext("{") else { return [] }
        inner.skipOne()
      }
      return names
    }
  }

  private mutating func firstWordInBraces() -> Token? {
    lookAhead { inner in
      inner.position += 1
      _ = inner.attributes()
      return inner.next
    }
  }
}
