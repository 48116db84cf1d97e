/// One stanza of an index: fields in order, each with its line number.
public struct Stanza: Sendable {
  struct Field: Sendable {
    var name: Range<Int>
    /// The range after the colon, up to the end of the last continuation line. It does not include
    /// the last line end.
    var value: Range<Int>
    var line: Int
  }

  /// The position of the stanza's first line.
  public internal(set) var place: SourcePlace
  var bytes: [UInt8] = []
  var fields: [Field] = []

  /// The names of the stanza's fields, in order.
  public var fieldNames: [String] { fields.map { String(decoding: bytes[$0.name], as: UTF8.self) } }

  /// The unchanged bytes of the field with a name, including line ends. Case is ignored. Nil if
  /// there is no such field.
  public func bytes(_ name: StaticString) -> ArraySlice<UInt8>? {
    field(name).map { bytes[$0.value] }
  }

  /// The text of the field with a name. Spaces at both ends are removed, and so is the space that
  /// marks continuation lines. Bytes that are not UTF-8 become U+FFFD. Nil if there is no such
  /// field.
  public func text(_ name: StaticString) -> String? {
    guard let field = field(name) else { return nil }
    let value = bytes[field.value].trimmingSpace()
    guard value.contains(UInt8(ascii: "\n")) else { return String(decoding: value, as: UTF8.self) }
    let lines = value.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return lines.enumerated()
      .map { index, line in String(decoding: index == 0 ? line : line.dropFirst(), as: UTF8.self) }
      .joined(separator: "\n")
  }

  /// The position of the field with a name; the stanza's position if there is no such field.
  public func place(of name: StaticString) -> SourcePlace {
    guard let field = field(name) else { return place }
    return SourcePlace(
      index: place.index, line: field.line, byteOffset: place.byteOffset + field.name.lowerBound)
  }

  private func field(_ name: StaticString) -> Field? {
    let wanted = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    return fields.first { $0.name.count == wanted.count && bytes[$0.name].equalsIgnoringCase(wanted) }
  }
}

extension Collection<UInt8> {
  /// Whether `other` has the same bytes, ignoring the case of ASCII letters. The caller compares
  /// the lengths.
  func equalsIgnoringCase(_ other: some Collection<UInt8>) -> Bool {
    zip(self, other).allSatisfy { $0 == $1 || ($0 ^ $1 == 0x20 && (0x61...0x7A).contains($0 | 0x20)) }
  }
}

extension ArraySlice<UInt8> {
  /// The bytes without white space at either end.
  func trimmingSpace() -> ArraySlice<UInt8> {
    var slice = self
    while let first = slice.first, first.isSpace { slice.removeFirst() }
    while let last = slice.last, last.isSpace { slice.removeLast() }
    return slice
  }
}

extension UInt8 {
  /// Whether the byte is ASCII white space.
  var isSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}
