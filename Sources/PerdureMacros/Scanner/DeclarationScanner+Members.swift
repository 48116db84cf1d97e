extension DeclarationScanner {
  /// The type that the source declares.
  static func type(_ source: String) -> TypeSyntax {
    var scanner = DeclarationScanner(source)
    return scanner.typeDeclaration()
  }

  /// The variable that the source declares; nil if the source declares something else.
  static func variable(_ source: String) -> VariableSyntax? {
    var scanner = DeclarationScanner(source)
    return scanner.member(isConditional: false)
  }

  /// The first attribute in the source.
  static func attribute(_ source: String) -> AttributeSyntax? {
    var scanner = DeclarationScanner(source)
    return scanner.attributes().first
  }

  mutating func typeDeclaration() -> TypeSyntax {
    let attributes = attributes()
    let modifiers = modifiers()
    let keyword = next
    position += 1
    var name = Self.withoutBackticks(next?.text ?? "")
    position += 1
    // The name of an extension can be a path.
    while keyword?.is("extension") == true, isNext("."), let part = token(1) {
      name += ".\(Self.withoutBackticks(part.text))"
      position += 2
    }
    let isGeneric = isNext("<")
    if isGeneric { skipAngles() }
    while let token = next, !token.is(":"), !token.is("{"), !token.is("where") { skipOne() }
    var inheritance: [String] = []
    var inheritanceOffset: Int?
    if skip(":") {
      repeat {
        while isNext("@") || isNext("nonisolated") { if !skip("nonisolated") { _ = self.attributes() } }
        if inheritance.isEmpty { inheritanceOffset = next?.range.lowerBound }
        if let type = inheritedType() { inheritance.append(type) }
      } while skip(",")
    }
    while let token = next, !token.is("{") { skipOne() }
    position += 1
    let variables = members()
    return TypeSyntax(
      attributes: attributes, modifiers: modifiers, keyword: keyword?.text ?? "",
      keywordOffset: keyword?.range.lowerBound ?? 0,
      name: name, isGeneric: isGeneric, inheritance: inheritance, inheritanceOffset: inheritanceOffset,
      variables: variables, initializers: initializers,
      overriddenFunctions: overriddenFunctions, validators: validators,
      templateFunctions: templateFunctions)
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
      if token.is(";") {
        position += 1
      } else if Self.directives.contains(token.text), !(token.is("#if") && isAtAttributeCondition()) {
        if token.is("#if") { conditions += 1 }
        if token.is("#endif") { conditions -= 1 }
        skipDirective()
      } else if let variable = member(isConditional: conditions > 0) {
        variables.append(variable)
      }
    }
    return variables
  }

  private static let directives: Set<String> = ["#if", "#elseif", "#else", "#endif", "#sourceLocation"]

  /// Whether the `#if` at `position` belongs to the attributes of a member.
  private mutating func isAtAttributeCondition() -> Bool { lookAhead { !$0.attributes().isEmpty } }

  /// Skips a member, and returns it if it is a variable.
  mutating func member(isConditional: Bool) -> VariableSyntax? {
    guard let first = next else { return nil }
    let attributes = attributes()
    let modifiers = modifiers()
    guard let introducer = next else { return nil }
    position += 1
    switch introducer.text {
    case "var", "let":
      return VariableSyntax(
        attributes: attributes, modifiers: modifiers, isLet: introducer.is("let"), bindings: bindings(),
        isConditional: isConditional, offset: first.range.lowerBound)
    case "func":
      if modifiers.contains("override"), !modifiers.contains("class"), !modifiers.contains("static"),
        let name = next
      {
        overriddenFunctions.insert(Self.withoutBackticks(name.text))
      }
      if !isConditional, Set(modifiers).isDisjoint(with: ["class", "static"]), let validator = validator() {
        validators.append(validator)
      }
      if let function = templateFunction(attributes, modifiers, isConditional: isConditional) {
        templateFunctions.append(function)
      }
      skipToBody()
    case "init":
      initializers.append(
        InitializerSyntax(
          modifiers: modifiers, firstLabel: firstLabel(), offset: introducer.range.lowerBound))
      skipToBody()
    case "typealias": skipAlias()
    case _ where introducer.kind == .pound:
      // A macro with all its arguments.
      position -= 1
      _ = expression()
    default:
      if introducer.kind == .punctuation { position -= 1 }
      skipToBody()
    }
    return nil
  }

  /// The label of the first parameter of the initializer before `position`. `position` is not
  /// changed.
  private mutating func firstLabel() -> String? {
    lookAhead { ahead in
      while ahead.isNext("?") || ahead.isNext("!") { ahead.position += 1 }
      if ahead.isNext("<") { ahead.skipAngles() }
      guard ahead.skip("("), let label = ahead.next, label.kind == .word else { return nil }
      return Self.withoutBackticks(label.text)
    }
  }

  private static func beginsDeclaration(_ token: Token) -> Bool {
    token.is("@") || introducers.contains(token.text) || usualModifiers.contains(token.text)
  }

  /// Skips to the position after the next braces. If the member has none, skips to the token that
  /// ends it or begins the next declaration.
  mutating func skipToBody() {
    while let token = next {
      if token.is("{") { return skipOne() }
      if token.is("}") || token.is(";") || token.kind == .pound { return }
      if token.startsLine, Self.beginsDeclaration(token) { return }
      skipOne()
    }
  }

  private mutating func skipAlias() {
    while let token = next, !token.is("="), !token.is("}"), !token.is(";") { skipOne() }
    guard skip("=") else { return }
    _ = type()
    if isNext("where") { skipToBody() }
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
    if next?.kind == .word, spelling != "_" { name = Self.withoutBackticks(spelling) }
    skipOne()
    endsWithEqualSign = false
    let type = skip(":") ? type() : nil
    let initializer = endsWithEqualSign || skip("=") ? expression() : nil
    var accessors = AccessorSyntax.none
    if isNext("{") {
      accessors = accessorBlock()
      skipOne()
    }
    return BindingSyntax(
      name: name, spelling: spelling, type: type, initializer: initializer, accessors: accessors,
      offset: offset)
  }

  static func withoutBackticks(_ name: String) -> String {
    name.hasPrefix("`") && name.hasSuffix("`") && name.count > 2 ? String(name.dropFirst().dropLast()) : name
  }
}
