/// CSV lines as in RFC 4180, except that they end in a line feed.
enum CSVText {
  /// Returns one line, without the line feed. A missing value is an empty field, and an empty
  /// string is `""`.
  static func line(_ fields: [String?]) -> String {
    // Quote a single missing value, because an empty line is not a record.
    if fields == [nil] { return "\"\"" }
    return fields.map { $0.map(field) ?? "" }.joined(separator: ",")
  }

  private static func field(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { !Self.needsQuotes.contains($0) }
    if isPlain { return text }
    return "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }

  /// The separator, the quote, line ends, and spaces and tabs, which some programs remove.
  private static let needsQuotes: Set<UInt8> = Set("\",\n\r\t ".utf8)
}
