/// The comments of a source file, and the names of its tests.
struct Comments {
  /// A line outside of string literals that contains only a comment.
  struct Line {
    var number: Int
    /// The text after the slashes.
    var text: Substring
    var columns: Int

    /// Whether the line's columns have a meaning, as in code and in rows of tables.
    var isLaidOut: Bool {
      text.contains("   ") || text.drop { $0 == " " }.hasPrefix("|")
    }
  }

  var lines: [Line] = []
  /// The names of the file's suites and tests.
  var names: [String] = []

  init(_ file: Repository.SourceFile) {
    var isInLiteral = false
    var isInFence = false
    var expectsName = false
    let newline = UInt8(ascii: "\n")
    let all = file.text.utf8.split(separator: newline, omittingEmptySubsequences: false)
    for (index, bytes) in all.enumerated() {
      let code = bytes.drop { $0 == UInt8(ascii: " ") }
      if code.starts(with: "//".utf8) && !isInLiteral {
        let text = Substring(code).drop { $0 == "/" }
        if text.contains("```") {
          isInFence.toggle()
        } else if !isInFence && !text.contains("swift-format-ignore") {
          lines.append(Line(number: index + 1, text: text, columns: Substring(bytes).count))
        }
        continue
      }
      isInFence = false
      guard code.contains(UInt8(ascii: "\"")) || code.first == UInt8(ascii: "@") else {
        expectsName = false
        continue
      }
      let line = Substring(code)
      if line.opensOrClosesLiteral { isInLiteral.toggle() }
      let isDeclared = line.hasPrefix("@Test(") || line.hasPrefix("@Suite(")
      if isDeclared || expectsName, let name = Self.literal(in: line) { names.append(name) }
      expectsName = isDeclared && line.hasSuffix("(")
    }
  }

  private static func literal(in line: Substring) -> String? {
    let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
    return parts.count > 2 ? String(parts[1]) : nil
  }

  /// The lowercase words of all comments and names. A nil separates two texts, and replaces code
  /// between back quotes.
  var words: [Substring?] {
    var found: [Substring?] = []
    var last = 0
    for line in lines {
      if line.number != last + 1 || line.text.allSatisfy({ $0 == " " }) { found.append(nil) }
      last = line.number
      if !line.text.hasPrefix("     ") { found += Self.words(of: line.text) }
    }
    for name in names { found += [nil] + Self.words(of: name[...]) }
    return found
  }

  private static func words(of text: Substring) -> [Substring?] {
    // The parts with an odd index are between back quotes.
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().flatMap { index, part in
      guard index % 2 == 0 else { return [Substring?.none] }
      return part.lowercased()[...].split { !$0.isLetter && $0 != "-" && $0 != "'" }.map { $0 }
    }
  }
}

extension Substring {
  /// Whether a multi-line string literal begins or ends in this line, but not both.
  var opensOrClosesLiteral: Bool {
    contains("\"\"\"") && split(separator: "\"\"\"", omittingEmptySubsequences: false).count % 2 == 0
  }
}
