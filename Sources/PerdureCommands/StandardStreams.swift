#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The streams of the process.
enum StandardStreams {
  /// Whether somebody sees the error stream as it is written.
  static var errorIsTerminal: Bool {
    #if canImport(Glibc) || canImport(Musl) || canImport(Android) || canImport(Darwin)
      return isatty(STDERR_FILENO) == 1
    #else
      return false
    #endif
  }

  /// Writes to the error stream, unbuffered.
  static func writeError(_ string: String) {
    var rest = Array(string.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { writeOnce($0) }
      // Nobody is left to tell that the error stream is closed.
      guard written > 0 else { return }
      rest = rest.dropFirst(written)
    }
  }

  /// One call of the system; at most 0 when the stream is closed.
  private static func writeOnce(_ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Glibc) || canImport(Musl) || canImport(Android) || canImport(Darwin)
      return write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    #else
      return 0
    #endif
  }
}
