// The text of a result, for the transfer between processes. Each line has a word and its content,
// and the last line is "end". Line breaks in the content are written as \n, and backslashes are
// doubled.
extension CampaignResult {
  package var text: String {
    var lines = ProofCounts.fields.map { "count \($0.name) \(counts[keyPath: $0.path])" }
    lines += report.map { "report \(Self.escaped($0))" }
    for violation in violations {
      lines += ["violation \(Self.escaped(violation.what))", "command \(Self.escaped(violation.command))"]
    }
    return (lines + ["end"]).map { $0 + "\n" }.joined()
  }

  /// Parses the text of a result; nil if the text is incomplete or malformed.
  package init?(text: String) {
    self.init()
    // Splits by scalars, not by characters: a combining accent after a space forms one character
    // with the space.
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard lines.suffix(2) == ["end", ""] else { return nil }
    var what: String?
    for line in lines.dropLast(2) {
      let words = line.unicodeScalars.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
      guard words.count == 2 else { return nil }
      let rest = Self.unescaped(words[1])
      switch String(words[0]) {
      case "count":
        let parts = rest.split(separator: " ")
        guard parts.count == 2, let field = ProofCounts.fields.first(where: { $0.name == parts[0] }),
          let count = Int(parts[1])
        else { return nil }
        counts[keyPath: field.path] = count
      case "report": report.append(rest)
      case "violation": what = rest
      case "command":
        guard let found = what else { return nil }
        violations.append(ProofViolation(found, command: rest))
        what = nil
      default: return nil
      }
    }
    guard what == nil else { return nil }
  }

  private static func escaped(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result.append(contentsOf: "\\\\".unicodeScalars)
      case "\n": result.append(contentsOf: "\\n".unicodeScalars)
      default: result.append(scalar)
      }
    }
    return String(result)
  }

  private static func unescaped(_ text: Substring.UnicodeScalarView) -> String {
    var (result, isEscaped) = (String.UnicodeScalarView(), false)
    for scalar in text {
      if isEscaped {
        result.append(scalar == "n" ? "\n" : scalar)
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }
}
