// Parses the XML of model files. Foundation's parser gives attributes without their order and
// spelling, so a file could not be written as it was.
//
//   XS1. Work and memory are linear in the bytes: there are no entity declarations, and elements
//        are nested at most `depthMax` levels deep.
//   XS2. All bytes are in the result: prolog, tree and epilog together give the file.

/// A scanner over the bytes of one file.
struct XMLScanner {
  /// The greatest nesting depth. Models need six levels.
  private static let depthMax = 64

  let file: String
  private let bytes: [UInt8]
  /// The offset of the first byte of each line.
  private let lineStarts: [Int]
  private var offset = 0

  /// Checks that the bytes are XML text in UTF-8.
  init(_ bytes: [UInt8], file: String) throws(ModelFileError) {
    self.bytes = bytes
    self.file = file
    lineStarts = [0] + bytes.indices.filter { bytes[$0] == 0x0A }.map { $0 + 1 }
    try checkEncoding()
  }

  /// Parses the whole file.
  mutating func scan(
    allowingDocumentType: Bool = false
  ) throws(ModelFileError) -> (prolog: String, root: ModelElement, epilog: String) {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    try skipMisc(allowingDocumentType: allowingDocumentType)
    try checkDeclaredEncoding(text(0..<offset))
    guard offset < bytes.count else { throw error("The file has no element.", "Restore the file.") }
    let prolog = text(0..<offset)
    let root = try element(before: offset, depth: 0)
    let end = offset
    try skipMisc(allowingDocumentType: false)
    guard offset == bytes.count else {
      throw error("There is text after the end of the root element.", "Remove it.")
    }
    return (prolog, root, text(end..<offset))
  }
}

// MARK: - Encoding

extension XMLScanner {
  private func checkEncoding() throws(ModelFileError) {
    if bytes.isEmpty { throw error("The file is empty.", "Restore the file.") }
    if bytes.starts(with: "bplist".utf8) {
      throw ModelFileError(
        .format, file: file, "The file is a binary property list.",
        "Open the model with Xcode 4 or later and save it; compiled models (.mom) are not supported.")
    }
    let start = Array(bytes.prefix(2))
    if [[0xFE, 0xFF], [0xFF, 0xFE], [0x00, 0x3C], [0x3C, 0x00]].contains(start) {
      throw error("The file is encoded in UTF-16.", "Save it in UTF-8.")
    }
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() {
      if String(validating: line, as: UTF8.self) == nil {
        throw error("The line is not valid UTF-8.", "Save the file in UTF-8.", line: number + 1)
      }
      if let byte = line.first(where: { $0 < 0x20 && $0 != 0x09 && $0 != 0x0D }) {
        throw error("The line contains the control character \(byte).", "Remove it.", line: number + 1)
      }
    }
  }

  private func checkDeclaredEncoding(_ prolog: String) throws(ModelFileError) {
    guard let match = prolog.firstMatch(of: /<\?xml[^>]*encoding\s*=\s*["']([^"']*)["']/) else { return }
    let name = match.output.1.lowercased()
    if !["utf-8", "us-ascii", "ascii"].contains(name) {
      throw error("The file declares the encoding \(match.output.1).", "Save it in UTF-8.", line: 1)
    }
  }
}

// MARK: - Elements

extension XMLScanner {
  /// Parses an element whose start tag begins here.
  ///
  /// - Parameter start: The offset of the space before the element.
  private mutating func element(before start: Int, depth: Int) throws(ModelFileError) -> ModelElement {
    let line = line(at: offset)
    guard depth < Self.depthMax else {
      throw error("Elements are nested more than \(Self.depthMax) levels deep.", "Make the file flatter.")
    }
    var layout = ModelElement.Layout()
    layout.before = unless(text(start..<offset), XMLWriter.indentation(depth))
    offset += 1
    let name = try self.name()
    let attributes = try self.attributes(of: name)
    let tagStart = offset
    skipSpace()
    layout.tagEnd = unless(text(tagStart..<offset), "")
    if skip("/>") {
      return ModelElement(name, attributes, content: [], line: line, layout: layout)
    }
    try require(">", "The start tag of <\(name)> does not end.")
    var content: [ModelElement.Node] = []
    while let node = try node(in: name, depth: depth, &layout) { content.append(node) }
    if !content.isEmpty {
      layout.closing = layout.closing.flatMap { unless($0, depth == 0 ? "\n" : XMLWriter.indentation(depth)) }
    }
    return ModelElement(name, attributes, content: content, line: line, layout: layout)
  }

  /// Parses the next part of the content of an element. Returns nil at its end tag, and notes the
  /// layout of the tag.
  private mutating func node(
    in name: String, depth: Int, _ layout: inout ModelElement.Layout
  ) throws(ModelFileError) -> ModelElement.Node? {
    let start = offset
    skipSpace()
    guard offset < bytes.count else {
      throw error("The file ends inside of <\(name)>.", "Restore the file: it is truncated.")
    }
    if has("</") {
      layout.closing = text(start..<offset)
      offset += 2
      let end = try self.name()
      guard end == name else {
        throw error("</\(end)> ends the element <\(name)>.", "Write </\(name)>.")
      }
      let nameEnd = offset
      skipSpace()
      layout.endTag = unless(text(nameEnd..<offset), "")
      try require(">", "The end tag of <\(name)> does not end.")
      return nil
    }
    if try skipMarkup() { return .other(text(start..<offset)) }
    if has("<") { return .element(try element(before: start, depth: depth + 1)) }
    while offset < bytes.count, !has("<") { offset += 1 }
    return .other(text(start..<offset))
  }

  private mutating func attributes(of element: String) throws(ModelFileError) -> [ModelElement.Attribute] {
    var attributes: [ModelElement.Attribute] = []
    var names: Set<String> = []
    while true {
      let start = offset
      skipSpace()
      if offset == bytes.count {
        throw error("The file ends in a tag.", "Restore the file: it is truncated.")
      }
      if has("/") || has(">") {
        offset = start
        return attributes
      }
      guard offset > start else {
        throw error("A space is missing before an attribute of <\(element)>.", "Insert it.")
      }
      let line = line(at: offset)
      let name = try self.name()
      guard names.insert(name).inserted else {
        throw error("The element <\(element)> has the attribute \(name) twice.", "Remove one of them.")
      }
      skipSpace()
      try require("=", "The attribute \(name) of <\(element)> has no value.")
      skipSpace()
      let value = try quotedValue(of: name)
      let spelling = unless(text(start..<offset), XMLWriter.spelling(name, value))
      attributes.append(ModelElement.Attribute(name, value, line: line, spelling: spelling))
    }
  }

  private mutating func quotedValue(of name: String) throws(ModelFileError) -> String {
    guard has("\"") || has("'") else {
      throw error("The value of \(name) has no quotes.", "Write \(name)=\"…\".")
    }
    let quote = bytes[offset]
    let start = offset + 1
    guard let end = bytes[start...].firstIndex(of: quote) else {
      throw error("The quotes of \(name) are not closed.", "Close them.")
    }
    if let mark = bytes[start..<end].firstIndex(of: 0x3C) {
      offset = mark
      throw error("The value of \(name) contains \"<\".", "Write &lt; or close the quotes.")
    }
    let value = try unescaped(start..<end)
    offset = end + 1
    return value
  }

  /// The value of an attribute: references are replaced, and line ends and tabs are spaces.
  private mutating func unescaped(_ range: Range<Int>) throws(ModelFileError) -> String {
    var value: [UInt8] = []
    var index = range.lowerBound
    while index < range.upperBound {
      switch bytes[index] {
      case 0x26:
        offset = index
        let end = bytes[index..<min(index + 12, range.upperBound)].firstIndex(of: 0x3B)
        let name = end.map { text(index + 1..<$0) } ?? ""
        guard let end, let character = XMLText.character(named: name) else {
          throw error("\"&\(name)\" is not a reference to a character.", "Write &amp; for an ampersand.")
        }
        value += Array(String(character).utf8)
        index = end
      case 0x0D where index + 1 < range.upperBound && bytes[index + 1] == 0x0A: break
      case 0x09, 0x0A, 0x0D: value.append(0x20)
      default: value.append(bytes[index])
      }
      index += 1
    }
    return String(decoding: value, as: UTF8.self)
  }
}

// MARK: - Tokens

extension XMLScanner {
  private mutating func name() throws(ModelFileError) -> String {
    let start = offset
    while offset < bytes.count, Self.isNameByte(bytes[offset], first: offset == start) { offset += 1 }
    guard offset > start else {
      throw error("A name is missing.", "Write the name of an element or attribute.")
    }
    return text(start..<offset)
  }

  private static func isNameByte(_ byte: UInt8, first: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
      UInt8(ascii: ":"), 0x80...:
      true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): !first
    default: false
    }
  }

  /// Skips spaces, comments, processing instructions and, if it is allowed, a document type.
  private mutating func skipMisc(allowingDocumentType: Bool) throws(ModelFileError) {
    while true {
      skipSpace()
      if has("<!DOCTYPE") {
        guard allowingDocumentType else {
          throw error("The file declares a document type.", "Remove <!DOCTYPE …>: model files have none.")
        }
        try skip(until: ">", "The document type does not end.")
      } else if has("<![") || has("</") {
        throw error("There is no element here.", "Restore the file.")
      } else if try !skipMarkup() {
        break
      }
    }
    if offset < bytes.count, !has("<") {
      throw error("There is text outside of the root element.", "Remove it; a model file is XML.")
    }
  }

  /// Skips a comment, a processing instruction or a CDATA section. Returns false if there is none.
  private mutating func skipMarkup() throws(ModelFileError) -> Bool {
    if has("<!--") {
      offset += 4
      try skip(until: "-->", "The comment does not end.")
    } else if has("<![CDATA[") {
      try skip(until: "]]>", "The CDATA section does not end.")
    } else if has("<?") {
      try skip(until: "?>", "The processing instruction does not end.")
    } else if has("<!") {
      throw error("The file has a declaration.", "Remove it: model files have elements and comments.")
    } else {
      return false
    }
    return true
  }

  private mutating func skip(until end: String, _ message: String) throws(ModelFileError) {
    let start = offset
    while offset < bytes.count {
      if skip(end) { return }
      offset += 1
    }
    offset = start
    throw error(message, "Restore the file.")
  }

  private mutating func require(_ token: String, _ message: String) throws(ModelFileError) {
    if !skip(token) { throw error(message, "Write \"\(token)\" here.") }
  }

  private mutating func skip(_ token: String) -> Bool {
    guard has(token) else { return false }
    offset += token.utf8.count
    return true
  }

  private func has(_ token: String) -> Bool { bytes[offset...].starts(with: token.utf8) }

  private mutating func skipSpace() {
    while offset < bytes.count, Self.isSpace(bytes[offset]) { offset += 1 }
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D
  }

  /// The line of a byte, from 1.
  private func line(at offset: Int) -> Int {
    var range = 0..<lineStarts.count
    while range.count > 1 {
      let middle = range.lowerBound + range.count / 2
      range = lineStarts[middle] <= offset ? middle..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound + 1
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// The text; nil if it is the usual one.
  private func unless(_ text: String, _ usual: String) -> String? {
    text.utf8.elementsEqual(usual.utf8) ? nil : text
  }

  private func error(_ message: String, _ remedy: String, line: Int? = nil) -> ModelFileError {
    ModelFileError(.syntax, file: file, line: line ?? self.line(at: offset), message, remedy)
  }
}
