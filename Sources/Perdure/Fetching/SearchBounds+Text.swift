// Index bounds that follow from comparisons of functions of text.
//
//   TB1. Texts that fold to the same text with [c], with [d] or without options also do so with
//        [cd]. So an index of canonical texts finds them. U+0345 (iota subscript) is an exception:
//        [cd] removes it as a mark, but [c] alone folds it to a letter. Therefore, a constant with
//        an iota that is compared with [c] is not looked up.
//   TB2. Folding a canonical text again, with any options, does not change it.

internal import PerdurePredicates

extension SearchBounds {
  /// The bounds that follow from a comparison of a field, or of a function of its text, with a
  /// constant. Nil if an index does not help.
  init?(
    _ function: TextFunction?, _ kind: FieldKind, _ op: FetchComparison.Operator, _ value: Value,
    _ options: StringOptions
  ) {
    guard function == .canonical, options.foldsSomething else {
      self.init(kind, op, value, options)
      return
    }
    // TB2.
    self.init(kind, op, value.folded(options), [])
  }

  /// The bounds of the canonical text that follow from a comparison of a text with a constant. Nil
  /// if an index of canonical texts does not help.
  init?(canonicalOf op: FetchComparison.Operator, _ value: Value, _ options: StringOptions) {
    switch (op, value) {
    case (.equal, .null), (.notEqual, .null): self.init(.string, op, value, [])
    case (.in, .list(let list)):
      let all = list.compactMap { SearchBounds(canonicalOf: .equal, $0, options) }
      guard all.count == list.count else { return nil }
      self = SearchBounds.union(all)
    case (.equal, .string(let text)):
      guard let canonical = Self.canonical(text, options),
        let bounds = SearchBounds(.string, .equal, .string(canonical), [])
      else { return nil }
      self = bounds
      areExact = options.foldsBoth
    case (.beginsWith, .string(let text)):
      guard !options.contains(.normalized), let canonical = Self.canonical(text, options) else { return nil }
      self = Self.prefix(canonical)
    case (.like, .string(let pattern)):
      guard !options.contains(.normalized),
        let canonical = Self.literalPrefix(pattern).flatMap({ Self.canonical($0, options) })
      else { return nil }
      self = Self.prefix(canonical)
    default: return nil
    }
  }

  /// The canonical form of a constant. Texts that equal the constant have this form. The canonical
  /// forms of texts that begin with the constant begin with this form. Nil if several forms are
  /// possible.
  private static func canonical(_ text: String, _ options: StringOptions) -> String? {
    if options.foldsSomething, !options.contains(.diacriticInsensitive) {
      // TB1.
      let folded = StringFolding.folded(text, options: options)
      if folded.unicodeScalars.contains("\u{3B9}") { return nil }
    }
    return TextFunction.canonical.applied(to: text)
  }
}

extension StringOptions {
  fileprivate var foldsSomething: Bool {
    !contains(.normalized) && !isDisjoint(with: [.caseInsensitive, .diacriticInsensitive])
  }

  fileprivate var foldsBoth: Bool {
    !contains(.normalized) && isSuperset(of: [.caseInsensitive, .diacriticInsensitive])
  }
}

extension Value {
  fileprivate func folded(_ options: StringOptions) -> Value {
    switch self {
    case .string(let text): .string(StringFolding.folded(text, options: options))
    case .list(let list): .list(list.map { $0.folded(options) })
    default: self
    }
  }
}
