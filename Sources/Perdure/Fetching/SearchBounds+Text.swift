// What comparisons say about functions of text.
//
//   B1. What folds to one text with [c], [d] or without options folds to one text with [cd], so an index of canonical
//       texts finds it; but for [c] and the iota below (U+0345): it is a mark, which [cd] leaves out, and with [c]
//       alone a letter. A constant with an iota, compared with [c], is therefore not looked up.
//   B2. Canonical text is its own folding with any options.

internal import PerdurePredicates

extension SearchBounds {
  /// The bounds that a comparison with a constant puts on a field, or on a function of its text; nil when an index
  /// does not help.
  init?(
    _ function: TextFunction?, _ kind: FieldKind, _ op: FetchComparison.Operator, _ value: Value,
    _ options: StringOptions
  ) {
    guard function == .canonical, options.foldsSomething else {
      self.init(kind, op, value, options)
      return
    }
    // B2.
    self.init(kind, op, value.folded(options), [])
  }

  /// What a comparison of a text with a constant says about the canonical text; nil when an index of it does not
  /// help.
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

  /// The canonical text of every text that is equal to a constant, or of its front; nil where there may be several.
  private static func canonical(_ text: String, _ options: StringOptions) -> String? {
    if options.foldsSomething, !options.contains(.diacriticInsensitive) {
      // B1.
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
