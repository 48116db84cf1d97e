// Conditions on text.

public import PerdurePredicates

extension PropertyRef<String> {
  private func ask(
    _ op: FetchComparison.Operator, _ text: String, _ options: StringOptions
  ) -> FetchPredicate {
    .comparison(FetchComparison(expression, op, .constant(.string(text)), options: options))
  }

  /// The number of characters; no value if there is no text.
  public var length: PropertyRef<Int> { PropertyRef<Int>(.path(from: expression, PropertyPath("length"))) }

  /// Whether there is a text without characters. `== nil` tests for an absent text.
  public var isEmpty: FetchPredicate { self == "" }

  /// The text in lower case.
  public func lowercased() -> Self { Self(.function(.lowercase, [expression])) }

  /// The text in upper case.
  public func uppercased() -> Self { Self(.function(.uppercase, [expression])) }

  /// Whether the text equals one of several texts under the options.
  public func `in`(_ texts: some Sequence<String>, _ options: StringOptions) -> FetchPredicate {
    let list = Value.list(texts.map(\.predicateValue))
    return .comparison(FetchComparison(expression, .in, .constant(list), options: options))
  }

  /// Whether the text equals another text under the options.
  public func equals(_ text: String, _ options: StringOptions) -> FetchPredicate {
    ask(.equal, text, options)
  }

  /// Whether the text contains another text.
  public func contains(_ part: String, _ options: StringOptions = []) -> FetchPredicate {
    ask(.contains, part, options)
  }

  /// Whether the text begins with another text.
  public func hasPrefix(_ prefix: String, _ options: StringOptions = []) -> FetchPredicate {
    ask(.beginsWith, prefix, options)
  }

  /// Whether the text begins with another text. The same as ``hasPrefix(_:_:)``.
  public func starts(with prefix: String) -> FetchPredicate { hasPrefix(prefix) }

  /// Whether the text contains another text, ignoring case and diacritics. The rules are those of
  /// Unicode, not those of a language.
  public func localizedStandardContains(_ part: String) -> FetchPredicate {
    contains(part, [.caseInsensitive, .diacriticInsensitive])
  }

  /// Whether the text ends with another text.
  public func hasSuffix(_ suffix: String, _ options: StringOptions = []) -> FetchPredicate {
    ask(.endsWith, suffix, options)
  }

  /// Whether the whole text matches a pattern in which `?` is one character and `*` any number.
  public func like(_ pattern: String, _ options: StringOptions = []) -> FetchPredicate {
    ask(.like, pattern, options)
  }

  /// Whether the whole text matches a regular expression.
  public func matches(_ expression: String, _ options: StringOptions = []) -> FetchPredicate {
    ask(.matches, expression, options)
  }
}
