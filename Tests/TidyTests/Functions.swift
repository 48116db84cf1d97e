/// The functions, initialisers and subscripts of a source file in the layout of swift-format.
struct Functions {
  struct Function {
    var line: Int
    /// The number of lines from the line with the name to the closing brace.
    var lineCount: Int
    var isPublic: Bool
    var unlabelledCount: Int
  }

  var all: [Function] = []

  init(_ file: Repository.SourceFile) {
    let lines = file.lines
    var isInLiteral = false
    for (index, line) in lines.enumerated() {
      if line.opensOrClosesLiteral { isInLiteral.toggle() }
      guard !isInLiteral, Self.isDeclaration(line) else { continue }
      let indent = line.prefix { $0 == " " }
      guard let open = Self.end(ofHeadAt: index, in: lines, indent),
        let close = lines[open...].dropFirst().firstIndex(where: { $0.hasPrefix(indent + "}") })
      else { continue }
      let head = lines[index...open].joined(separator: " ")
      all.append(
        Function(
          line: index + 1, lineCount: close - index + 1, isPublic: head.contains("public "),
          unlabelledCount: Self.unlabelledCount(in: head)))
    }
  }

  /// The index of the line that ends with the opening brace of the body. Nil if there is no body,
  /// or if the whole function is in one line.
  private static func end(ofHeadAt index: Int, in lines: [Substring], _ indent: Substring) -> Int? {
    for (number, line) in zip(index..., lines[index...]) {
      if line.hasSuffix("{") { return number }
      let isHead =
        number == index
        ? !line.hasSuffix("}")
        : [")", "  ", "where ", "{", "throws"].contains { line.hasPrefix(indent + $0) }
      guard isHead else { return nil }
    }
    return nil
  }

  private static let modifiers: Set<Substring> = [
    "public", "open", "package", "internal", "private", "fileprivate", "static", "class", "final",
    "override", "mutating", "borrowing", "consuming", "required", "convenience", "nonisolated", "prefix",
    "postfix",
  ]

  private static func isDeclaration(_ line: Substring) -> Bool {
    let words = line.split(separator: " ").drop { $0.hasPrefix("@") || modifiers.contains($0) }
    guard let word = words.first else { return false }
    return word == "func"
      || ["init", "subscript"].contains { name in
        word.hasPrefix(name) && "(<?!".contains(word.dropFirst(name.count).first ?? " ")
      }
  }

  /// The number of parameters that are passed without a label. Returns 0 for subscripts, whose
  /// parameters have no labels by default.
  private static func unlabelledCount(in head: String) -> Int {
    guard !head.contains("subscript"), let start = head.firstRange(of: /(func [^(<]+|init[?!]?)/),
      let open = head[start.upperBound...].firstIndex(of: "(")
    else { return 0 }
    var depth = 0
    var count = 0
    var isAtStart = true
    for character in head[open...] {
      if isAtStart && depth == 1 && character != " " {
        isAtStart = false
        if character == "_" { count += 1 }
      }
      if "([".contains(character) { depth += 1 }
      if ")]".contains(character) { depth -= 1 }
      if depth == 0 { break }
      if depth == 1 && (character == "," || character == "(" && isAtStart) { isAtStart = true }
    }
    return count
  }
}
