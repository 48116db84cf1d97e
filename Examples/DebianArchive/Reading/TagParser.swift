// Tag fields: `facet::tag, facet::{tag,tag}, ...`. Braces list several tags of one facet. The text
// before and after the braces belongs to each of these tags.

/// Reads the tags of a package.
public enum TagParser {
  /// Parses the tags in `field`, in order. Each tag is in the result once.
  ///
  /// - Parameter malformed: Called with the text of each entry that is skipped because it has
  ///   braces that are not exactly one pair.
  public static func parse(
    _ field: ArraySlice<UInt8>, malformed: (String) -> Void = { _ in }
  ) -> [String] {
    var tags: [String] = []
    var seen: Set<String> = []
    for entry in entries(field) {
      guard let expanded = expand(entry) else {
        malformed(entry.text)
        continue
      }
      for tag in expanded where !tag.isEmpty && seen.insert(tag).inserted { tags.append(tag) }
    }
    return tags
  }

  /// Splits at the commas outside braces.
  private static func entries(_ field: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    var entries: [ArraySlice<UInt8>] = []
    var start = field.startIndex
    var depth = 0
    for index in field.indices {
      switch field[index] {
      case UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "}"): depth = max(0, depth - 1)
      case UInt8(ascii: ",") where depth == 0:
        entries.append(field[start..<index].trimmingSpace())
        start = index + 1
      default: break
      }
    }
    entries.append(field[start...].trimmingSpace())
    return entries.filter { !$0.isEmpty }
  }

  /// The tags of one entry; nil if it has braces that are not exactly one pair.
  private static func expand(_ entry: ArraySlice<UInt8>) -> [String]? {
    let opens = entry.indices.filter { entry[$0] == UInt8(ascii: "{") }
    let closes = entry.indices.filter { entry[$0] == UInt8(ascii: "}") }
    if opens.isEmpty, closes.isEmpty { return [entry.text] }
    guard opens.count == 1, closes.count == 1, opens[0] < closes[0] else { return nil }
    let prefix = entry[..<opens[0]].text
    let suffix = entry[(closes[0] + 1)...].text
    return entry[(opens[0] + 1)..<closes[0]].split(separator: UInt8(ascii: ","))
      .map { prefix + $0.trimmingSpace().text + suffix }
  }
}
