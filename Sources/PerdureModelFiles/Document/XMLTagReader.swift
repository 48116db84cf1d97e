// Reads the tags of a model file with Foundation's parser, which refuses malformed files.
//
//   XT1. Work and memory are linear in the bytes: entities cannot be declared, and elements are
//        nested at most `depthMax` levels deep.
//   XT2. Every report of the parser is an error. The parser continues after most errors, and the
//        result of `parse()` is true for some of them.

import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// A start tag of a file.
struct XMLTag {
  let name: String
  /// The values without escapes, by name. The parser does not report the order.
  let attributes: [String: String]
  /// The line of the end of the tag, from 1.
  let line: Int
  /// The text between this tag and the next one.
  fileprivate(set) var text = ""
}

/// Collects the start tags of one file.
final class XMLTagReader: NSObject {
  /// The maximum nesting depth. Models need six levels.
  private static let depthMax = 64

  private let file: String
  private var tags: [XMLTag] = []
  private var depth = 0
  private var isInTag = false
  private var error: ModelFileError?

  private init(file: String) { self.file = file }

  /// The start tags of a file, in order; at least one.
  ///
  /// - Throws: `ModelFileError` with the line of the first error.
  static func tags(
    of bytes: [UInt8], file: String, allowingDocumentType: Bool = false
  ) throws(ModelFileError) -> [XMLTag] {
    try checkFormat(of: bytes, file: file)
    try XMLLengthCheck.check(bytes, file: file)
    try checkEncoding(of: bytes, file: file)
    try checkDeclarations(in: bytes, file: file, allowingDocumentType)
    try checkInstructions(in: bytes, file: file)
    let reader = XMLTagReader(file: file)
    let parser = XMLParser(data: Data(bytes))
    parser.delegate = reader
    let isComplete = parser.parse()
    // The parser reports no error for text without tags, and no useful line for a truncated file.
    if !isComplete || reader.tags.isEmpty || reader.depth > 0 {
      let end = line(of: bytes.count, in: bytes)
      reader.refuse(line: end, "The file is not a complete XML document.", "Restore the file.")
    }
    if let error = reader.error { throw error }
    return reader.tags
  }

  /// Records the error, unless an earlier one is recorded.
  private func refuse(line: Int, _ message: String, _ remedy: String) {
    guard error == nil else { return }
    error = ModelFileError(.syntax, file: file, line: line, message, remedy)
  }
}

// MARK: - Encoding

extension XMLTagReader {
  private static func checkFormat(of bytes: [UInt8], file: String) throws(ModelFileError) {
    guard bytes.starts(with: "bplist".utf8) else { return }
    throw ModelFileError(
      .format, file: file, "The file is a binary property list.",
      "Open the model with Xcode 4 or later and save it; compiled models (.mom) are not supported.")
  }

  /// Refuses all text except UTF-8. The parser also accepts other encodings, but then the bytes of
  /// values differ from those of the file.
  private static func checkEncoding(of bytes: [UInt8], file: String) throws(ModelFileError) {
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    // UTF-16 and UTF-32 contain zeros.
    if let index = lines.firstIndex(where: { $0.contains(0) || String(validating: $0, as: UTF8.self) == nil })
    {
      throw ModelFileError(
        .syntax, file: file, line: index + 1, "The line is not text in UTF-8.", "Save the file in UTF-8.")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let match = text.prefixMatch(of: /\u{FEFF}?<\?xml[^>]*encoding\s*=\s*["']([^"']*)["']/) else {
      return
    }
    if !["utf-8", "us-ascii", "ascii"].contains(match.output.1.lowercased()) {
      throw ModelFileError(
        .syntax, file: file, line: 1, "The file declares the encoding \(match.output.1).", "Save it in UTF-8."
      )
    }
  }
}

// MARK: - Unsupported markup

// These checks also apply to the text of comments. They run before the parser, because Foundation
// for Linux dereferences null pointers for some declarations and instructions.
extension XMLTagReader {
  private static func checkDeclarations(
    in bytes: [UInt8], file: String, _ allowingDocumentType: Bool
  ) throws(ModelFileError) {
    let declarations = ["<!ENTITY", "<!ATTLIST", "<!NOTATION", "<!ELEMENT"]
    for declaration in allowingDocumentType ? declarations : ["<!DOCTYPE"] + declarations {
      guard let range = bytes.firstRange(of: declaration.utf8) else { continue }
      throw ModelFileError(
        .syntax, file: file, line: line(of: range.lowerBound, in: bytes),
        "The file has the declaration \(declaration).",
        "Remove it: model files have elements and comments.")
    }
  }

  /// Refuses processing instructions that have a name only, like `<?a?>`.
  private static func checkInstructions(in bytes: [UInt8], file: String) throws(ModelFileError) {
    var rest = bytes[...]
    while let range = rest.firstRange(of: "<?".utf8) {
      rest = rest[range.upperBound...]
      let end = rest.first { $0 == UInt8(ascii: "?") || XMLText.isSpace($0) }
      guard end == UInt8(ascii: "?") else { continue }
      throw ModelFileError(
        .syntax, file: file, line: line(of: range.lowerBound, in: bytes),
        "The processing instruction has no content.", "Remove it.")
    }
  }

  private static func line(of offset: Int, in bytes: [UInt8]) -> Int {
    bytes[..<offset].count { $0 == 0x0A } + 1
  }
}

// MARK: - Events

extension XMLTagReader: XMLParserDelegate {
  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    tags.append(XMLTag(name: name, attributes: attributes, line: parser.lineNumber))
    isInTag = true
    depth += 1
    if depth > Self.depthMax {
      refuse(
        line: parser.lineNumber, "Elements are nested more than \(Self.depthMax) levels deep.",
        "Use fewer levels.")
      parser.abortParsing()
    }
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    depth -= 1
    isInTag = false
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    if isInTag { tags[tags.count - 1].text += text }
  }

  func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
    let code = (parseError as NSError).code
    // If the file is truncated inside of an element, `tags` refuses it, with the line of its end.
    if code == XMLMistake.earlyEnd, depth > 0 { return }
    let mistake = XMLMistake(code: code)
    refuse(line: parser.lineNumber, mistake.message, mistake.remedy)
  }
}
