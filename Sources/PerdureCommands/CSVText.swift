/// Lines of CSV after RFC 4180, which end in a line feed.
enum CSVText {
  /// One line without its end. No value is an empty field, and an empty text is `""`.
  static func line(_ fields: [String?]) -> String {
    // An empty line would be no record, so a single missing value needs the quotes.
    if fields == [nil] { return "\"\"" }
    return fields.map { $0.map(field) ?? "" }.joined(separator: ",")
  }

  private static func field(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { !Self.needsQuotes.contains($0) }
    if isPlain { return text }
    return "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }

  /// The separator, the quote, ends of lines, and spaces, which some programs remove.
  private static let needsQuotes: Set<UInt8> = Set("\",\n\r\t ".utf8)
}
