import PerdureFormat

/// The form of a keyspace's keys.
public enum KeyspaceKind: UInt8, Sendable, Hashable {
  /// Keys are 64-bit ids. The index is a table, so ids should be assigned densely from 1.
  case dense = 0
  /// Keys are byte strings of 0 to 65,535 bytes, ordered bytewise. The index is a tree.
  case bytes = 1
}

/// A named set of keys in a store. A commit may change several keyspaces, and is atomic over all of
/// them.
///
/// A store refuses a keyspace of another store. A copy of a store's files counts as the same store
/// here. Each of the two stores accepts a keyspace of the other store, and uses its own keyspace of
/// that name.
public struct Keyspace: Hashable, Sendable {
  /// The number by which records reference the keyspace; 0 is the store's own catalog.
  public let id: UInt32
  /// The name with which it was created.
  public let name: String
  /// The form of its keys.
  public let kind: KeyspaceKind
  /// A hash of the store, the name and the kind. It distinguishes keyspaces with the same number in
  /// two stores.
  let mark: UInt64

  /// - Parameter store: Nil for the catalog, which every store has.
  init(id: UInt32, name: String, kind: KeyspaceKind, of store: StoreID? = nil) {
    (self.id, self.name, self.kind) = (id, name, kind)
    mark = HandleMark.of(name, kind.rawValue, store)
  }

  static let catalog = Keyspace(id: 0, name: "", kind: .bytes)
}

extension Keyspace {
  /// Stops the program if it reads the keyspace by keys of the other kind. Optimised programs also
  /// contain this message; they do not contain messages of `precondition`.
  @inline(__always)
  func requireKeys(_ kind: KeyspaceKind) {
    if self.kind != kind { stopAtOtherKind() }
  }

  @inline(never)
  private func stopAtOtherKind() -> Never {
    let (held, label) = kind == .dense ? ("ids", "id: or ids:") : ("byte strings", "key:, keys: or range:")
    fatalError(
      "The keyspace \"\(name)\" has \(held) as keys, and was read with the other kind. Use \(label), or a Key of "
        + "that kind.")
  }
}

/// Each store numbers its keyspaces and derived indexes by itself, so a number alone has no meaning
/// in another store. A commit also compares names. Reads compare only these marks, because
/// comparing names takes too long.
enum HandleMark {
  /// A hash (FNV-1a) of the name and the kind, with a start value that depends on the store. Two
  /// different handles have the same mark with a probability of 2^-64.
  static func of(_ name: String, _ kind: UInt8, _ store: StoreID?) -> UInt64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ (store?.high ?? 0)
    return (Array(name.utf8) + [kind]).reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}

/// A key of either kind of keyspace.
public enum Key: Hashable, Sendable, CustomStringConvertible {
  /// A key of a dense keyspace.
  case id(UInt64)
  /// A key of a byte-string keyspace.
  case bytes([UInt8])

  /// The id, or at most 32 bytes of the byte string. The bytes are in quotes if they are printable
  /// ASCII, and otherwise in hexadecimal.
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
