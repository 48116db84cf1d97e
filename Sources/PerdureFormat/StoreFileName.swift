/// The names of the files in a store's directory.
package enum StoreFileName: Hashable, Sendable {
  case lock
  case superblock
  case segment(UInt64)
  case blob(UInt64)
  /// A file that was being prepared; it means nothing and is removed by the next writer.
  case temporary(String)

  package var string: String {
    switch self {
    case .lock: "LOCK"
    case .superblock: "SUPERBLOCK"
    case .segment(let number): hex(number) + ".segment"
    case .blob(let number): hex(number) + ".blob"
    case .temporary(let name): name + ".tmp"
    }
  }

  /// The meaning of a name found in the directory; nil for a file that is none of ours.
  package init?(_ string: String) {
    switch string {
    case "LOCK": self = .lock
    case "SUPERBLOCK": self = .superblock
    default:
      guard let dot = string.lastIndex(of: ".") else { return nil }
      let stem = string[..<dot]
      switch string[string.index(after: dot)...] {
      case "tmp": self = .temporary(String(stem))
      case "segment":
        guard let number = Self.number(stem) else { return nil }
        self = .segment(number)
      case "blob":
        guard let number = Self.number(stem) else { return nil }
        self = .blob(number)
      default: return nil
      }
    }
  }

  private static func number(_ stem: Substring) -> UInt64? {
    guard stem.utf8.count == 16, let value = UInt64(stem, radix: 16), hex(value) == stem else { return nil }
    return value
  }
}
