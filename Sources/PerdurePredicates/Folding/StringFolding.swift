// Folding: a common form for all texts that a comparison with [c], [d] or [cd] treats as equal.
//
//   1. canonical decomposition (NFD), with marks in canonical order;
//   2. with `d`: nonspacing marks (Mn) are removed;
//   3. with `c`: full case folding of every scalar, decomposed, and marks in order again.
//
// Without options only step 1 is done. Two texts are canonically equivalent if and only if these
// forms have equal bytes. Step 2 must precede step 3: U+0345 is a mark that folds to a letter, and
// it must be removed as a mark.
//
// The tables are part of Perdure and never change (version 1, Unicode 14.0.0). Folded text is
// stored, so it must not depend on the platform. Scalars that were added to Unicode later fold to
// themselves. There are no rules for languages: a dotless i never equals an i. Letters with a
// stroke (ø, ł, đ) do not decompose, so `d` does not change them.
//
// ASCII text is never decoded. Its folded form is the text itself, or with `c` the text in lower
// case.

/// The pinned text folding of `[c]`, `[d]`, `canonical:` and canonical derived attributes.
public enum StringFolding {
  /// The version of the tables. Text folded under one version never changes.
  public static let version = 1

  /// The folded form of a text. By default it has neither case nor diacritics: "Héllo Wörld" gives
  /// "hello world".
  ///
  /// - Complexity: linear in the length of the text.
  public static func folded(
    _ text: String, options: StringOptions = [.caseInsensitive, .diacriticInsensitive]
  ) -> String {
    var text = text
    return text.withUTF8 { utf8 in
      String(decoding: fold(UnsafeRawBufferPointer(utf8), options), as: UTF8.self)
    }
  }

  /// The folded form of UTF-8 bytes. Bytes that are not UTF-8 become U+FFFD. With `n`, the bytes
  /// are not changed.
  package static func fold(_ bytes: UnsafeRawBufferPointer, _ options: StringOptions) -> [UInt8] {
    if options.contains(.normalized) { return Array(bytes) }
    if isASCII(bytes) {
      return options.contains(.caseInsensitive) ? bytes.map(lowercased) : Array(bytes)
    }
    var folder = Folder(options, capacity: bytes.count)
    folder.fold(bytes)
    return folder.utf8
  }

  /// The folded form of a text as UTF-8.
  package static func fold(_ text: String, _ options: StringOptions) -> [UInt8] {
    var text = text
    return text.withUTF8 { fold(UnsafeRawBufferPointer($0), options) }
  }

  /// Whether all bytes are ASCII.
  @inlinable
  package static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index &+ 8 <= bytes.count {
      if bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 {
        return false
      }
      index &+= 8
    }
    while index < bytes.count {
      if bytes[index] >= 0x80 { return false }
      index &+= 1
    }
    return true
  }

  /// An ASCII byte in lower case.
  @inlinable
  package static func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }
}
