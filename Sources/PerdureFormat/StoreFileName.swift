/// The names of the files in a store's directory.
package enum StoreFileName: Hashable, Sendable {
  case lock
  case superblock
  /// The registered readers of the store. The content has a meaning only while the readers run.
  case readers
  case segment(UInt64)
  case blob(UInt64)
  /// Checkpoints of the index. They can be derived from the log.
  case index(UInt64)
  /// A file that only reserves space. It is removed when the volume has no space left.
  case reserve(UInt64)
  /// An unfinished file. It has no meaning, and the next writer removes it.
  case temporary(String)

  package var string: String {
    switch self {
    case .lock: "LOCK"
    case .superblock: "SUPERBLOCK"
    case .readers: "READERS"
    case .segment(let number): hex(number) + ".segment"
    case .blob(let number): hex(number) + ".blob"
    case .index(let number): hex(number) + ".index"
    case .reserve(let number): hex(number) + ".reserve"
    case .temporary(let name): name + ".tmp"
    }
  }

  /// The names that belong to a store, among the names in a directory. Temporary files belong to a
  /// store only if the directory contains another file of a store. In other directories,
  /// `letter.tmp` is a file of the user.
  package static func ownNames(among names: [String]) -> [String] {
    let own = names.filter { StoreFileName($0) != nil }
    return own.contains(where: { StoreFileName($0)?.isTemporary == false }) ? own : []
  }

  private var isTemporary: Bool {
    if case .temporary = self { true } else { false }
  }

  /// The meaning of a name in the directory; nil for a file that does not belong to the store.
  package init?(_ string: String) {
    // Compare bytes, because Swift's == treats a Kelvin sign as the K of LOCK.
    func isExactly(_ name: StoreFileName) -> Bool { string.utf8.elementsEqual(name.string.utf8) }
    if isExactly(.lock) {
      self = .lock
    } else if isExactly(.superblock) {
      self = .superblock
    } else if isExactly(.readers) {
      self = .readers
    } else if let stem = Self.stem(of: string, before: ".tmp") {
      self = .temporary(String(stem))
    } else if let number = Self.number(in: string, before: ".segment") {
      guard number <= FormatLimits.segmentNumberMax else { return nil }
      self = .segment(number)
    } else if let number = Self.number(in: string, before: ".blob") {
      self = .blob(number)
    } else if let number = Self.number(in: string, before: ".index") {
      self = .index(number)
    } else if let number = Self.number(in: string, before: ".reserve") {
      self = .reserve(number)
    } else {
      return nil
    }
  }

  private static func stem(of string: String, before suffix: String) -> Substring? {
    guard string.utf8.count >= suffix.utf8.count else { return nil }
    let cut = string.utf8.index(string.endIndex, offsetBy: -suffix.utf8.count)
    return string.utf8[cut...].elementsEqual(suffix.utf8) ? string[..<cut] : nil
  }

  /// The number before the suffix, in sixteen lower-case hexadecimal digits; nil unless it is at
  /// least 1.
  private static func number(in string: String, before suffix: String) -> UInt64? {
    guard let stem = stem(of: string, before: suffix), let value = UInt64(stem, radix: 16), value > 0,
      stem.utf8.elementsEqual(hex(value).utf8)
    else { return nil }
    return value
  }
}
