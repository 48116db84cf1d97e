extension DeclarationScanner {
  /// The type that the source declares.
  static func type(_ source: String) -> TypeSyntax {
    var scanner = DeclarationScanner(source)
    return scanner.typeDeclaration()
  }

  /// The variable that the source declares, or nil when it declares something else.
  static func variable(_ source: String) -> VariableSyntax? {
    var scanner = DeclarationScanner(source)
    return scanner.member(isConditional: false)
  }

  private mutating func typeDeclaration() -> TypeSyntax {
    _ = attributes()
    let modifiers = modifiers()
    let keyword = next
    position += 1
    let name = Self.withoutBackticks(next?.text ?? "")
    position += 1
    let isGeneric = isNext("<")
    if isGeneric { skipAngles() }
    while let token = next, !token.is(":"), !token.is("{"), !token.is("where") { skipOne() }
    var inheritance: [String] = []
    if skip(":") {
      repeat {
        _ = attributes()
        if let type = inheritedType() { inheritance.append(type) }
      } while skip(",")
    }
    while let token = next, !token.is("{") { skipOne() }
    position += 1
    let variables = members()
    return TypeSyntax(
      modifiers: modifiers, keyword: keyword?.text ?? "", keywordOffset: keyword?.range.lowerBound ?? 0,
      name: name, isGeneric: isGeneric, inheritance: inheritance, variables: variables,
      overriddenFunctions: overriddenFunctions)
  }

  private mutating func inheritedType() -> String? {
    let start = position
    var depth = 0
    while let token = next {
      if depth == 0, token.is(",") || token.is("{") || token.is("where") { break }
      depth += Self.angleBalance(token)
      skipOne()
    }
    return text(from: start)
  }

  private mutating func members() -> [VariableSyntax] {
    var variables: [VariableSyntax] = []
    var conditions = 0
    while let token = next, !token.is("}") {
      if token.kind == .pound {
        if token.text == "#if" { conditions += 1 }
        if token.text == "#endif" { conditions -= 1 }
        skipDirective()
      } else if let variable = member(isConditional: conditions > 0) {
        variables.append(variable)
      }
    }
    return variables
  }

  /// Steps over a directive or a freestanding macro: to the end of the line, brackets as wholes.
  private mutating func skipDirective() {
    repeat { skipOne() } while next.map { !$0.startsLine && !$0.is("}") } ?? false
  }

  /// Steps over a member; gives it when it is a variable.
  fileprivate mutating func member(isConditional: Bool) -> VariableSyntax? {
    guard let first = next else { return nil }
    let start = position
    let attributes = attributes()
    let modifiers = modifiers()
    let introducer = next
    if let introducer, introducer.is("var") || introducer.is("let") {
      position += 1
      return VariableSyntax(
        attributes: attributes, modifiers: modifiers, isLet: introducer.is("let"), bindings: bindings(),
        isConditional: isConditional, offset: first.range.lowerBound)
    }
    if introducer?.is("func") ?? false, modifiers.contains("override"), !modifiers.contains("class"),
      position + 1 < tokens.count
    {
      overriddenFunctions.insert(Self.withoutBackticks(tokens[position + 1].text))
    }
    if position < tokens.count, next?.kind != .punctuation || position == start { position += 1 }
    if introducer?.is("typealias") ?? false {
      _ = expression()
    } else {
      skipToBody()
    }
    return nil
  }

  private static let usualModifiers: Set<String> = [
    "public", "private", "fileprivate", "internal", "package", "open", "static", "final", "override", "lazy",
    "weak", "unowned", "dynamic", "nonisolated", "mutating", "required", "convenience", "optional",
    "indirect",
  ]

  private static func beginsDeclaration(_ token: Token) -> Bool {
    token.is("@") || introducers.contains(token.text) || usualModifiers.contains(token.text)
  }

  /// Steps behind the next braces, or to the next thing that begins a declaration.
  private mutating func skipToBody() {
    while let token = next {
      if token.is("{") { return skipOne() }
      if token.is("}") || token.kind == .pound { return }
      if token.startsLine, Self.beginsDeclaration(token) { return }
      skipOne()
    }
  }

  // MARK: Variables

  private mutating func bindings() -> [BindingSyntax] {
    var result: [BindingSyntax] = []
    repeat { result.append(binding()) } while skip(",")
    return result
  }

  private mutating func binding() -> BindingSyntax {
    let offset = next?.range.lowerBound ?? source.count
    var name: String?
    let spelling = next?.text ?? ""
    if next?.kind == .word { name = Self.withoutBackticks(spelling) }
    skipOne()
    let type = skip(":") ? type() : nil
    let initializer = skip("=") ? expression() : nil
    var accessors = AccessorSyntax.none
    if isNext("{") {
      accessors = accessorBlock(at: position)
      skipOne()
    }
    _ = skip(";")
    return BindingSyntax(
      name: name, spelling: spelling, type: type, initializer: initializer, accessors: accessors,
      offset: offset)
  }

  private static func withoutBackticks(_ name: String) -> String {
    name.hasPrefix("`") && name.hasSuffix("`") && name.count > 2 ? String(name.dropFirst().dropLast()) : name
  }
}
