/// The arguments of `@Entity`, `@Attribute` or `@Relationship`, as far as the macros need them:
/// which options and labels exist. Only the beginning of an argument counts. The tokens after it
/// belong to an expression and may have any name.
struct MarkerArguments {
  private let arguments: [ArraySlice<Token>]

  init(_ source: String) {
    var arguments: [ArraySlice<Token>] = []
    let tokens = Lexer.tokens(of: source)
    var (begin, depth) = (0, 0)
    for (index, token) in tokens.enumerated() where token.kind == .punctuation {
      switch token.text {
      case "(", "[", "{": depth += 1
      case ")", "]", "}": depth -= 1
      case "," where depth == 0:
        arguments.append(tokens[begin..<index])
        begin = index + 1
      default: break
      }
    }
    self.arguments = arguments + [tokens[begin...]]
  }

  /// Whether an argument has this label.
  func has(label: String) -> Bool {
    arguments.contains { argument in
      argument.count > 1 && argument[argument.startIndex].is(label)
        && argument[argument.startIndex + 1].is(":")
    }
  }

  /// The argument with a label, if it is one word.
  func word(label: String) -> String? {
    for argument in arguments where argument.count == 3 {
      let words = Array(argument)
      if words[0].is(label), words[1].is(":"), words[2].kind == .word { return words[2].text }
    }
    return nil
  }

  /// The argument with a label, if it is a string of letters, digits and underscores.
  func text(label: String) -> String? {
    for argument in arguments where argument.count == 3 {
      let words = Array(argument)
      guard words[0].is(label), words[1].is(":"), words[2].kind == .literal else { continue }
      let value = words[2]
      let text = value.text.dropFirst().dropLast()
      let isName =
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
      return value.text == "\"\(text)\"" && isName ? String(text) : nil
    }
    return nil
  }

  /// Whether an argument is this case of `AttributeOption`, with or without the type before it.
  func has(option: String) -> Bool { arguments.contains { Self.option($0) == option } }

  /// The first argument that is not one of these options, as text; nil if there is none.
  func other(than options: Set<String>) -> String? {
    for argument in arguments where !argument.isEmpty {
      let option = Self.option(argument)
      if let option, options.contains(option) { continue }
      return option.map { ".\($0)" } ?? "\"\(argument.map(\.text).joined())\""
    }
    return nil
  }

  /// If an argument is a case of `AttributeOption`, the name of the case; otherwise nil.
  private static func option(_ argument: ArraySlice<Token>) -> String? {
    var words = argument.map { $0.kind == .literal ? "" : $0.text }[...]
    if words.starts(with: ["Perdure", "."]) { words = words.dropFirst(2) }
    if words.first == "AttributeOption" { words = words.dropFirst() }
    return words.first == "." ? words.dropFirst().first : nil
  }
}
