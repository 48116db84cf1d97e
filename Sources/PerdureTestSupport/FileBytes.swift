import Synchronization

/// The bytes of a file on a disk. They don't change, so that disks share them, and are hashed once.
final class FileBytes: Sendable {
  static let empty = FileBytes([])

  let bytes: [UInt8]
  /// 0 until it is asked for.
  private let hash = Atomic<Int>(0)

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// A number that differs for bytes that differ, but for one chance in 2^64; only within one
  /// process.
  var fingerprint: Int {
    let known = hash.load(ordering: .relaxed)
    if known != 0 { return known }
    var hasher = Hasher()
    hasher.combine(bytes.count)
    // As a whole, which is much faster than what `Hashable` does element by element.
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    let made = hasher.finalize()
    hash.store(made, ordering: .relaxed)
    return made
  }
}

extension FileBytes: Hashable {
  static func == (one: FileBytes, other: FileBytes) -> Bool { one === other || one.bytes == other.bytes }

  func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}
