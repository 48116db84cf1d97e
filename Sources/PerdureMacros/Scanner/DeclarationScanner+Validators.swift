extension DeclarationScanner {
  /// The function whose name is at `position`, if it can be the validation of a property. Its name
  /// consists of `validate` and the property's name. The function takes one argument without a
  /// label, throws, and returns nothing. `position` is not changed.
  mutating func validator() -> ValidatorSyntax? {
    lookAhead { ahead in
      guard let name = ahead.next?.text, name.hasPrefix("validate"), name.count > "validate".count else {
        return nil
      }
      ahead.position += 1
      guard let open = ahead.next, open.is("(") else { return nil }
      let begin = ahead.position + 1
      ahead.skipOne()
      guard let type = ahead.argumentType(from: begin, to: ahead.position - 1), ahead.skip("throws") else {
        return nil
      }
      if ahead.isNext("(") { ahead.skipOne() }
      guard ahead.isNext("{") else { return nil }
      return ValidatorSyntax(name: name, argumentType: type)
    }
  }

  /// The type of the only argument between two positions; nil if it has a label or is not the only
  /// one.
  private func argumentType(from begin: Int, to end: Int) -> String? {
    guard end - begin >= 4, tokens[begin].is("_"), tokens[begin + 1].kind == .word, tokens[begin + 2].is(":")
    else { return nil }
    var depth = 0
    for token in tokens[(begin + 3)..<end] {
      if token.kind == .punctuation, ["(", "[", "{"].contains(token.text) { depth += 1 }
      if token.kind == .punctuation, [")", "]", "}"].contains(token.text) { depth -= 1 }
      depth += Self.angleBalance(token)
      if depth == 0, token.is(",") { return nil }
    }
    return content(from: tokens[begin + 3].range.lowerBound, to: tokens[end - 1].range.upperBound)
  }
}
