import Synchronization

/// The bytes of a file on a disk. The bytes are immutable, so disks share them, and the hash is
/// computed once.
final class FileBytes: Sendable {
  static let empty = FileBytes([])

  let bytes: [UInt8]
  /// The hash; 0 before its first use.
  private let hash = Atomic<Int>(0)

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// A hash of the bytes. Different bytes have the same hash with a probability of 2^-64. The hash
  /// is valid only within one process.
  var fingerprint: Int {
    let known = hash.load(ordering: .relaxed)
    if known != 0 { return known }
    var hasher = Hasher()
    hasher.combine(bytes.count)
    // Hashes all bytes together, which is much faster than element by element.
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
