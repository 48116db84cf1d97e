// Compares two texts as UTF-8 bytes. Neither text is constant.

extension StringFolding {
  /// Whether two texts are canonically equivalent. With `c` or `d`, the folded texts are compared.
  /// With `n`, the original bytes are compared.
  @inlinable
  package static func equal(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ options: StringOptions
  ) -> Bool {
    if left.count == right.count, left.elementsEqual(right) { return true }
    if options.contains(.normalized) { return false }
    if isASCII(left), isASCII(right) {
      guard options.contains(.caseInsensitive), left.count == right.count else { return false }
      return zip(left, right).allSatisfy { lowercased($0) == lowercased($1) }
    }
    return equalFolding(left, right, options)
  }

  @usableFromInline package static func equalFolding(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ options: StringOptions
  ) -> Bool {
    fold(left, options) == fold(right, options)
  }

  /// The order of the bytes of two folded texts. Without options, the folded form is the canonical
  /// decomposition. With `n`, the original bytes are compared. The order does not depend on the
  /// platform's Unicode version, because stored indexes have this order.
  @inlinable
  package static func order(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ options: StringOptions
  ) -> ValueOrder {
    let folds = !options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive])
    if options.contains(.normalized) || (!folds && isASCII(left) && isASCII(right)) {
      return orderBytes(left, right)
    }
    return orderFolding(left, right, options)
  }

  /// The order of two buffers by unsigned bytes. A prefix comes before the longer buffer.
  @inlinable
  package static func orderBytes(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer
  ) -> ValueOrder {
    let count = min(left.count, right.count)
    var index = 0
    while index < count {
      if left[index] != right[index] { return left[index] < right[index] ? .ascending : .descending }
      index &+= 1
    }
    return left.count == right.count ? .same : left.count < right.count ? .ascending : .descending
  }

  @usableFromInline package static func orderFolding(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ options: StringOptions
  ) -> ValueOrder {
    fold(left, options).withUnsafeBytes { left in
      fold(right, options).withUnsafeBytes { orderBytes(left, $0) }
    }
  }

  /// Whether the left text begins with the right one.
  package static func hasPrefix(_ text: String, _ prefix: String, _ options: StringOptions) -> Bool {
    withBytes(text) { FoldedText(prefix, options: options).isPrefix(of: $0) }
  }

  /// Whether the left text ends with the right one.
  package static func hasSuffix(_ text: String, _ suffix: String, _ options: StringOptions) -> Bool {
    withBytes(text) { FoldedText(suffix, options: options).isSuffix(of: $0) }
  }

  /// Whether the right text is a part of the left one.
  package static func contains(_ text: String, _ part: String, _ options: StringOptions) -> Bool {
    withBytes(text) { FoldedText(part, options: options).isPart(of: $0) }
  }

  /// Whether the left text as a whole matches the pattern.
  package static func like(_ text: String, _ pattern: String, _ options: StringOptions) -> Bool {
    withBytes(text) { FoldedText(pattern, options: options).matchesPattern($0) }
  }

  /// Whether two texts are equal.
  package static func equal(_ left: String, _ right: String, _ options: StringOptions) -> Bool {
    withBytes(left) { left in withBytes(right) { equal(left, $0, options) } }
  }

  /// Order of two texts.
  package static func order(_ left: String, _ right: String, _ options: StringOptions) -> ValueOrder {
    withBytes(left) { left in withBytes(right) { order(left, $0, options) } }
  }

  private static func withBytes<Result>(
    _ text: String, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    var text = text
    return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}
