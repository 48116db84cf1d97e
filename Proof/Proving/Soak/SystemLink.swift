#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

enum SystemLink {
  static func waitAMillisecond() { usleep(1000) }
  static func waitBriefly() { usleep(50) }

  /// The target of a symbolic link; nil if it cannot be read.
  static func target(of path: String) -> String? {
    var bytes = [CChar](repeating: 0, count: 4096)
    let length = readlink(path, &bytes, bytes.count)
    guard length > 0 else { return nil }
    return String(decoding: bytes[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
