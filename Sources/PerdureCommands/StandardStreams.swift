import PerdureLog

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

  /// Writes all of the bytes to the output stream, unbuffered.
  ///
  /// - Throws: `StoreError` with code `.io` when the stream is closed or cannot take more.
  static func writeOutput(_ bytes: UnsafeRawBufferPointer) throws {
    var done = 0
    while done < bytes.count {
      let written = try transfer("The output stream cannot be written") {
        #if canImport(Glibc) || canImport(Musl) || canImport(Android) || canImport(Darwin)
          write(STDOUT_FILENO, bytes.baseAddress.map { $0 + done }, bytes.count - done)
        #else
          -1
        #endif
      }
      done += written
    }
  }

  /// Reads at most so many bytes of the input stream; none at its end.
  ///
  /// - Throws: `StoreError` with code `.io`.
  static func readInput(_ count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { bytes, done in
      done = try transfer("The input stream cannot be read") {
        #if canImport(Glibc) || canImport(Musl) || canImport(Android) || canImport(Darwin)
          read(STDIN_FILENO, bytes.baseAddress, count)
        #else
          -1
        #endif
      }
    }
  }

  /// Calls the system until no signal gets in the way.
  private static func transfer(_ failure: String, _ call: () -> Int) throws -> Int {
    while true {
      let count = call()
      if count >= 0 { return count }
      #if canImport(Glibc) || canImport(Musl) || canImport(Android) || canImport(Darwin)
        if errno == EINTR { continue }
        throw StoreError(.io, "\(failure) (error \(errno)); check where it leads")
      #else
        throw StoreError(.io, "\(failure): this system has none; name a folder")
      #endif
    }
  }
}
