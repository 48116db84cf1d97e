/// A cursor over the bytes of a field's value.
struct FieldScanner {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }
  var next: UInt8? { rest.first }
  /// The index of the next byte in the array that contains the field.
  var position: Int { rest.startIndex }

  mutating func skipSpace() {
    while let first = rest.first, first.isSpace { rest.removeFirst() }
  }

  /// Skips the next byte if it is `byte`. Returns false if it is not.
  mutating func take(_ byte: UInt8) -> Bool {
    guard rest.first == byte else { return false }
    rest.removeFirst()
    return true
  }

  /// Reads bytes as long as `matches` returns true.
  mutating func take(while matches: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let end = rest.firstIndex { !matches($0) } ?? rest.endIndex
    defer { rest = rest[end...] }
    return rest[..<end]
  }
}

extension ArraySlice<UInt8> {
  var text: String { String(decoding: self, as: UTF8.self) }
}
