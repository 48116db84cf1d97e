// Extracts the spellings and layouts of elements from the text of a file. Foundation's parser does
// not report them, but they are needed to write an unchanged file byte for byte.
//
//   XS1. Elements are extracted after the parser has accepted the text. So tags, quotes and
//        comments are complete. The names and values are those that the parser reported.
//   XS2. All bytes are in the result: prolog, tree and epilog together are the whole file.

/// The text of one file, with the position of the next part.
struct XMLSpellings {
  private let bytes: [UInt8]
  private var offset = 0
  private var line = 1
  /// The start tags that follow.
  private var tags: ArraySlice<XMLTag>

  private init(_ bytes: [UInt8], _ tags: [XMLTag]) {
    self.bytes = bytes
    self.tags = tags[...]
  }

  /// Parses a whole file.
  static func parse(
    _ bytes: [UInt8], file: String
  ) throws(ModelFileError) -> (prolog: String, root: ModelElement, epilog: String) {
    var spellings = XMLSpellings(bytes, try XMLTagReader.tags(of: bytes, file: file))
    let mark = spellings.has("\u{FEFF}") ? spellings.take(3) : ""
    let prolog = mark + spellings.misc()
    let root = spellings.element(before: "", depth: 0)
    return (prolog, root, spellings.misc())
  }

  /// Extracts spaces, comments and processing instructions.
  private mutating func misc() -> String {
    var text = take(while: XMLText.isSpace)
    while let markup = markup() { text += markup + take(while: XMLText.isSpace) }
    return text
  }
}

// MARK: - Elements

extension XMLSpellings {
  /// Extracts the element whose start tag begins at the current position.
  private mutating func element(before space: String, depth: Int) -> ModelElement {
    let line = line
    let tag = tags.removeFirst()
    var layout = ModelElement.Layout()
    layout.before = unless(space, XMLWriter.indentation(depth))
    _ = take("<\(tag.name)".utf8.count)
    let attributes = attributes(of: tag, &layout)
    var content: [ModelElement.Node] = []
    if !skip("/>") {
      _ = skip(">")
      while let node = node(depth: depth, &layout) { content.append(node) }
      _ = take("</\(tag.name)".utf8.count)
      layout.endTag = unless(take(while: XMLText.isSpace), "")
      _ = skip(">")
    }
    if !content.isEmpty {
      let usual = depth == 0 ? "\n" : XMLWriter.indentation(depth)
      layout.closing = layout.closing.flatMap { unless($0, usual) }
    }
    return ModelElement(tag.name, attributes, content: content, line: line, layout: layout)
  }

  private mutating func attributes(
    of tag: XMLTag, _ layout: inout ModelElement.Layout
  ) -> [ModelElement.Attribute] {
    var attributes: [ModelElement.Attribute] = []
    while true {
      let space = take(while: XMLText.isSpace)
      let line = line
      let name = take { !XMLText.isSpace($0) && $0 != Self.equals && $0 != Self.slash && $0 != Self.greater }
      guard let value = tag.attributes[name] else {
        layout.tagEnd = unless(space, "")
        return attributes
      }
      var text = space + name + take { XMLText.isSpace($0) || $0 == Self.equals }
      let quote = take(1)
      text += quote + take(through: quote)
      let spelling = unless(text, XMLWriter.spelling(name, value))
      attributes.append(ModelElement.Attribute(name, value, line: line, spelling: spelling))
    }
  }

  /// Extracts the next part of the content of an element. Returns nil at the end tag, and records
  /// the space before this tag.
  private mutating func node(depth: Int, _ layout: inout ModelElement.Layout) -> ModelElement.Node? {
    let space = take(while: XMLText.isSpace)
    if has("</") {
      layout.closing = space
      return nil
    }
    if let markup = markup() { return .other(space + markup) }
    if has("<") { return .element(element(before: space, depth: depth + 1)) }
    return .other(space + take { $0 != Self.less })
  }

  /// Extracts a comment, a CDATA section or a processing instruction. Returns nil if none begins at
  /// the current position.
  private mutating func markup() -> String? {
    for (_, start, end) in XMLText.markup where skip(start) {
      return start + take(through: end)
    }
    return nil
  }
}

// MARK: - Bytes

extension XMLSpellings {
  private static let (less, greater) = (UInt8(ascii: "<"), UInt8(ascii: ">"))
  private static let (equals, slash) = (UInt8(ascii: "="), UInt8(ascii: "/"))

  private mutating func take(_ count: Int) -> String {
    let part = bytes[offset...].prefix(count)
    offset = part.endIndex
    line += part.count { $0 == 0x0A }
    return String(decoding: part, as: UTF8.self)
  }

  private mutating func take(while condition: (UInt8) -> Bool) -> String {
    take((bytes[offset...].firstIndex { !condition($0) } ?? bytes.count) - offset)
  }

  /// Extracts all text up to and including a token.
  private mutating func take(through token: String) -> String {
    let start = bytes[offset...].indices.first { bytes[$0...].starts(with: token.utf8) }
    return take((start ?? bytes.count) - offset + token.utf8.count)
  }

  private func has(_ token: String) -> Bool { bytes[offset...].starts(with: token.utf8) }

  private mutating func skip(_ token: String) -> Bool {
    guard has(token) else { return false }
    offset += token.utf8.count
    return true
  }

  /// The text; nil if it is the usual text.
  private func unless(_ text: String, _ usual: String) -> String? {
    text.utf8.elementsEqual(usual.utf8) ? nil : text
  }
}
