/// How the keys of a keyspace look.
public enum KeyspaceKind: UInt8, Sendable, Hashable {
  /// Keys are 64-bit ids, best given out densely from 1: the index is a table.
  case dense = 0
  /// Keys are byte strings of 0 to 65,535 bytes, ordered bytewise: the index is a tree.
  case bytes = 1
}

/// A named set of keys in a store. A commit may span several; it is atomic over all of them.
public struct Keyspace: Hashable, Sendable {
  /// The number by which records name the keyspace; 0 is the store's own catalog.
  public let id: UInt32
  /// The name that it was created under.
  public let name: String
  /// How its keys look.
  public let kind: KeyspaceKind

  static let catalog = Keyspace(id: 0, name: "", kind: .bytes)
}

/// A key of either kind of keyspace.
public enum Key: Hashable, Sendable, CustomStringConvertible {
  /// A key of a dense keyspace.
  case id(UInt64)
  /// A key of a byte-string keyspace.
  case bytes([UInt8])

  /// The id; or the bytes, at most 32 of them: in quotes when they are printable ASCII, else in hexadecimal.
  public var description: String {
    switch self {
    case .id(let id): return "\(id)"
    case .bytes(let bytes):
      let shown = bytes.prefix(32)
      let more = bytes.count > shown.count ? "…" : ""
      if shown.allSatisfy({ (0x20...0x7E).contains($0) }) {
        return "\"\(String(decoding: shown, as: UTF8.self))\(more)\""
      }
      return shown.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + more
    }
  }
}
