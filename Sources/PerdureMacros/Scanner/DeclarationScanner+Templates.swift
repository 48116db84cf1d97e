/// A function with `@FetchTemplate`.
struct TemplateFunctionSyntax: Hashable, Sendable {
  /// The name without backticks.
  let name: String
  let parameters: [TemplateParameterSyntax]
  let isStatic: Bool
  let hasBody: Bool
  let isConditional: Bool
  /// The attribute `@FetchTemplate`.
  let marker: AttributeSyntax
  let offset: Int
}

/// A parameter of a function with `@FetchTemplate`.
struct TemplateParameterSyntax: Hashable, Sendable {
  /// The name inside the function.
  let name: String
  /// The source text of the type; nil for a type that is valid only in a parameter list, such as
  /// `inout T`.
  let type: String?
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
      let parameters = ahead.templateParameters(from: begin, to: ahead.position - 1)
      ahead.skipToBody()
      return TemplateFunctionSyntax(
        name: Self.withoutBackticks(name.text), parameters: parameters,
        isStatic: !Set(modifiers).isDisjoint(with: ["static", "class"]),
        hasBody: ahead.previous?.is("}") == true, isConditional: isConditional || marker.isConditional,
        marker: marker, offset: name.range.lowerBound)
    }
  }

  /// The parameters between two positions.
  private func templateParameters(from begin: Int, to end: Int) -> [TemplateParameterSyntax] {
    parts(of: tokens[begin..<max(begin, end)], separator: ",").compactMap { parameter in
      guard let colon = parameter.firstIndex(where: { $0.is(":") }),
        let name = parameter[..<colon].last(where: { $0.kind == .word })
      else { return nil }
      let type = parts(of: parameter[(colon + 1)...], separator: "=")[0]
      return TemplateParameterSyntax(name: Self.withoutBackticks(name.text), type: typeName(type))
    }
  }

  /// The text of a type; nil if the type is valid only in a parameter list.
  private func typeName(_ tokens: ArraySlice<Token>) -> String? {
    guard let first = tokens.first, let last = tokens.last,
      !tokens.contains(where: { ["some", "...", "@", "inout"].contains($0.text) })
    else { return nil }
    return content(from: first.range.lowerBound, to: last.range.upperBound)
  }

  /// The parts between separators outside brackets; at least one.
  private func parts(of tokens: ArraySlice<Token>, separator: String) -> [ArraySlice<Token>] {
    var parts: [ArraySlice<Token>] = []
    var (begin, depth) = (tokens.startIndex, 0)
    for index in tokens.indices {
      let token = tokens[index]
      if token.kind == .punctuation, ["(", "[", "{"].contains(token.text) { depth += 1 }
      if token.kind == .punctuation, [")", "]", "}"].contains(token.text) { depth -= 1 }
      depth += Self.angleBalance(token)
      guard depth == 0, token.is(separator) else { continue }
      parts.append(tokens[begin..<index])
      begin = index + 1
    }
    return parts + [tokens[begin...]]
  }
}
