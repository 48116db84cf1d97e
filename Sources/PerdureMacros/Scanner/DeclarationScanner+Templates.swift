/// A function with `@FetchTemplate`.
struct TemplateFunctionSyntax: Hashable, Sendable {
  /// The name without backticks.
  let name: String
  /// The names of the parameters inside the function.
  let parameters: [String]
  let isStatic: Bool
  let hasBody: Bool
  let isConditional: Bool
  /// The attribute.
  let marker: AttributeSyntax
  let offset: Int
}

extension DeclarationScanner {
  /// The function with `@FetchTemplate` that the source declares; nil for anything else.
  static func templateFunction(_ source: String) -> TemplateFunctionSyntax? {
    var scanner = DeclarationScanner(source)
    _ = scanner.member(isConditional: false)
    return scanner.templateFunctions.first
  }

  /// The function whose name is at `position`, if it has the marker. `position` is not changed.
  mutating func templateFunction(
    _ attributes: [AttributeSyntax], _ modifiers: [String], isConditional: Bool
  ) -> TemplateFunctionSyntax? {
    guard let marker = attributes.first(where: { $0.name == "FetchTemplate" }) else { return nil }
    return lookAhead { ahead in
      guard let name = ahead.next, name.kind == .word else { return nil }
      ahead.position += 1
      guard ahead.isNext("(") else { return nil }
      let begin = ahead.position + 1
      ahead.skipOne()
      let parameters = ahead.parameterNames(from: begin, to: ahead.position - 1)
      ahead.skipToBody()
      return TemplateFunctionSyntax(
        name: Self.withoutBackticks(name.text), parameters: parameters,
        isStatic: !Set(modifiers).isDisjoint(with: ["static", "class"]),
        hasBody: ahead.previous?.is("}") == true, isConditional: isConditional || marker.isConditional,
        marker: marker, offset: name.range.lowerBound)
    }
  }

  /// The inner names of the parameters between two positions.
  private func parameterNames(from begin: Int, to end: Int) -> [String] {
    var names: [String] = []
    var (depth, last) = (0, "")
    var isName = true
    for token in tokens[begin..<max(begin, end)] {
      if depth == 0, isName, token.kind == .word { last = Self.withoutBackticks(token.text) }
      if token.kind == .punctuation, ["(", "[", "{"].contains(token.text) { depth += 1 }
      if token.kind == .punctuation, [")", "]", "}"].contains(token.text) { depth -= 1 }
      depth += Self.angleBalance(token)
      if depth == 0, token.is(":"), isName {
        names.append(last)
        isName = false
      }
      if depth == 0, token.is(",") { isName = true }
    }
    return names
  }
}
