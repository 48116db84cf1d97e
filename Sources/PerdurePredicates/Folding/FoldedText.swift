// Compares one constant text, which is folded once, with many texts in UTF-8, such as those of
// rows.
//
// The definition of a match: Both texts are compared in folded form (StringFolding.swift). A match
// can begin and end only at boundaries. There is a boundary before every scalar, except a scalar
// that belongs to the previous one: a mark, or a Hangul vowel or trailing letter. So "e" does not
// match in "é", whether é is one scalar or two, unless marks are ignored. And `?` in a pattern
// matches a letter with all its marks.
//
// ASCII is fast: an ASCII text is its own decomposition, and all its positions are boundaries. So
// it is compared as bytes, without allocation; with `c`, each byte is converted to lower case. A
// constant that is not ASCII after folding cannot match in an ASCII text. Any other text is folded
// first, unless its ASCII beginning or end already decides the result.

/// A folded text that is compared with other texts.
package struct FoldedText: Hashable, Sendable {
  @usableFromInline package let bytes: [UInt8]
  @usableFromInline package let isASCII: Bool
  package let options: StringOptions
  /// Whether ASCII bytes are converted to lower case before comparing.
  @usableFromInline package let lowers: Bool
  /// Whether all bytes are compared unchanged.
  @usableFromInline package let isVerbatim: Bool

  package init(_ text: String, options: StringOptions) {
    bytes = StringFolding.fold(text, options)
    isASCII = bytes.allSatisfy { $0 < 0x80 }
    self.options = options
    isVerbatim = options.contains(.normalized)
    lowers = options.contains(.caseInsensitive) && !isVerbatim
  }

  /// Whether the text is equal to this one.
  @inlinable
  package func isEqual(to text: UnsafeRawBufferPointer) -> Bool {
    switch leadingMatch(text) {
    case .differs: false
    case .unknown: isEqualFolding(text)
    case .matches:
      text.count == bytes.count || (!isASCIIOrVerbatim(text[bytes.count]) && isEqualFolding(text))
    }
  }

  /// Whether the text begins with this folded text.
  @inlinable
  package func isPrefix(of text: UnsafeRawBufferPointer) -> Bool {
    switch leadingMatch(text) {
    case .differs: false
    case .unknown: isPrefixFolding(text)
    case .matches:
      text.count == bytes.count || isASCIIOrVerbatim(text[bytes.count]) || isPrefixFolding(text)
    }
  }

  /// Whether the text ends with this folded text.
  @inlinable
  package func isSuffix(of text: UnsafeRawBufferPointer) -> Bool {
    switch trailingMatch(text) {
    case .differs: false
    case .unknown: isSuffixFolding(text)
    case .matches: true
    }
  }

  /// Whether the text contains this folded text.
  @inlinable
  package func isPart(of text: UnsafeRawBufferPointer) -> Bool {
    if isVerbatim { return firstMatch(in: text, from: 0, lowers: false) != nil }
    if StringFolding.isASCII(text) { return isASCII && firstMatch(in: text, from: 0, lowers: lowers) != nil }
    return isPartFolding(text)
  }

  /// Whether the whole text matches this one as a pattern. `?` is one character, `*` is any number
  /// of characters, and `\` makes the next character literal.
  ///
  /// - Complexity: O(n · m) for a text of n bytes and a pattern of m bytes; no recursion.
  @inlinable
  package func matchesPattern(_ text: UnsafeRawBufferPointer) -> Bool {
    if isVerbatim || StringFolding.isASCII(text) { return LikePattern.matches(text, self, lowers: lowers) }
    return matchesPatternFolding(text)
  }
}

// MARK: Bytes

extension FoldedText {
  /// The result of a comparison of bytes alone. A run of ASCII at either end of a text folds to
  /// itself, or with `c` to its lower case. The rest of the text does not change this folding, so a
  /// difference in the run is final.
  @usableFromInline package enum ByteMatch {
    case matches, differs, unknown
  }

  @inlinable
  package func isASCIIOrVerbatim(_ byte: UInt8) -> Bool { byte < 0x80 || isVerbatim }

  /// Compares from the front. `matches` is independent of the text that follows.
  @inlinable
  package func leadingMatch(_ text: UnsafeRawBufferPointer) -> ByteMatch {
    bytes.withUnsafeBufferPointer { needle in
      var index = 0
      while index < needle.count {
        guard index < text.count else { return .differs }
        let byte = text[index]
        if !isASCIIOrVerbatim(byte) { return .unknown }
        if needle[index] != (lowers ? StringFolding.lowercased(byte) : byte) { return .differs }
        index &+= 1
      }
      return .matches
    }
  }

  /// Compares from the end. Every ASCII byte is at a boundary. With the option `n`, every position
  /// is a boundary.
  @inlinable
  package func trailingMatch(_ text: UnsafeRawBufferPointer) -> ByteMatch {
    bytes.withUnsafeBufferPointer { needle in
      var index = 1
      while index <= needle.count {
        guard index <= text.count else { return .differs }
        let byte = text[text.count &- index]
        if !isASCIIOrVerbatim(byte) { return .unknown }
        if needle[needle.count &- index] != (lowers ? StringFolding.lowercased(byte) : byte) {
          return .differs
        }
        index &+= 1
      }
      return .matches
    }
  }

  /// Whether a folded text has these bytes at a position.
  package func matches(_ text: UnsafeRawBufferPointer, at start: Int) -> Bool {
    start >= 0 && start + bytes.count <= text.count
      && bytes.elementsEqual(text[start..<start + bytes.count])
  }

  /// The first position of these bytes in the text, from `start` on. If `lowers` is set, ASCII
  /// letters of the text are converted to lower case first.
  @inlinable
  package func firstMatch(in text: UnsafeRawBufferPointer, from start: Int, lowers: Bool) -> Int? {
    bytes.withUnsafeBufferPointer { needle in
      guard let first = needle.first else { return start }
      let last = text.count &- needle.count
      var position = start
      while position <= last {
        var index = 0
        var byte = text[position]
        if (lowers ? StringFolding.lowercased(byte) : byte) == first {
          repeat {
            index &+= 1
            if index == needle.count { return position }
            byte = text[position &+ index]
          } while (lowers ? StringFolding.lowercased(byte) : byte) == needle[index]
        }
        position &+= 1
      }
      return nil
    }
  }
}

// MARK: Folded texts

extension FoldedText {
  @usableFromInline package func isEqualFolding(_ text: UnsafeRawBufferPointer) -> Bool {
    StringFolding.fold(text, options) == bytes
  }

  @usableFromInline package func isPrefixFolding(_ text: UnsafeRawBufferPointer) -> Bool {
    withFolded(text) { matches($0, at: 0) && Boundary.isAt(bytes.count, in: $0) }
  }

  @usableFromInline package func isSuffixFolding(_ text: UnsafeRawBufferPointer) -> Bool {
    withFolded(text) { folded in
      let start = folded.count - bytes.count
      return start >= 0 && matches(folded, at: start) && Boundary.isAt(start, in: folded)
    }
  }

  @usableFromInline package func isPartFolding(_ text: UnsafeRawBufferPointer) -> Bool {
    withFolded(text) { folded in
      var start = 0
      while let match = firstMatch(in: folded, from: start, lowers: false) {
        if Boundary.isAt(match, in: folded), Boundary.isAt(match + bytes.count, in: folded) { return true }
        start = match + 1
      }
      return false
    }
  }

  @usableFromInline package func matchesPatternFolding(_ text: UnsafeRawBufferPointer) -> Bool {
    withFolded(text) { LikePattern.matches($0, self, lowers: false) }
  }

  private func withFolded(
    _ text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    StringFolding.fold(text, options).withUnsafeBytes(body)
  }
}

/// The positions at which a match in folded text may begin and end.
package enum Boundary {
  /// Whether there is a boundary before the byte at a position. Both ends of the text are
  /// boundaries.
  @inlinable
  package static func isAt(_ index: Int, in text: UnsafeRawBufferPointer) -> Bool {
    index == 0 || index >= text.count || text[index] < 0x80 || isBeforeScalar(index, in: text)
  }

  @usableFromInline package static func isBeforeScalar(
    _ index: Int, in text: UnsafeRawBufferPointer
  ) -> Bool {
    text[index] & 0xC0 != 0x80 && !UTF8Scalar.extendsPrevious(UTF8Scalar.decode(text, at: index).scalar)
  }

  /// The next boundary after a position that is not the end.
  @inlinable
  package static func after(_ index: Int, in text: UnsafeRawBufferPointer) -> Int {
    var next = index &+ 1
    while !isAt(next, in: text) { next &+= 1 }
    return next
  }
}
