#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The standard error stream, unbuffered.
struct StandardError: TextOutputStream {
  mutating func write(_ string: String) {
    var rest = Array(string.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { writeOnce($0) }
      // Nobody is left to tell that the error stream is closed.
      guard written > 0 else { return }
      rest = rest.dropFirst(written)
    }
  }
}

/// One call of the system; at most 0 when the stream is closed.
private func writeOnce(_ bytes: UnsafeRawBufferPointer) -> Int {
  #if canImport(Glibc) || canImport(Musl) || canImport(Android) || canImport(Darwin)
    return write(STDERR_FILENO, bytes.baseAddress, bytes.count)
  #else
    return 0
  #endif
}
