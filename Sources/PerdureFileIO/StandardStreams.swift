#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The standard streams of the process, unbuffered.
package enum StandardStreams {
  /// A stream that a program writes to.
  package enum Output: Sendable {
    case output, error

    fileprivate var descriptor: Int32 { self == .output ? STDOUT_FILENO : STDERR_FILENO }
    fileprivate var name: String { self == .output ? "the standard output" : "the standard error stream" }
  }

  /// Opens the null device for each closed standard stream, so that no other file gets its
  /// descriptor. Reading or writing such a stream still fails, because the device is opened for the
  /// other direction.
  package static func reserveDescriptors() {
    // The order is ascending, because `open` returns the lowest free descriptor.
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
      // If this fails, the process has no descriptors left, and the opening of a store fails too.
      _ = openNullDevice(descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Whether the stream is a terminal.
  package static func isTerminal(_ stream: Output) -> Bool { isatty(stream.descriptor) == 1 }

  /// Whether the stream is a terminal that supports colours: TERM is set and not `dumb`, and
  /// NO_COLOR is unset or empty.
  package static func takesColours(_ stream: Output) -> Bool {
    isTerminal(stream) && (Environment.value(of: "NO_COLOR") ?? "").isEmpty
      && Environment.value(of: "TERM") ?? "dumb" != "dumb"
  }

  /// The width of the terminal in columns, at least 20, from the variable COLUMNS; 80 without it.
  package static var columns: Int {
    Environment.value(of: "COLUMNS").flatMap { Int($0) }.map { max(20, $0) } ?? 80
  }

  /// Writes all of the bytes.
  ///
  /// - Throws: `FileIOError` if the system reports an error, for example because the stream is
  ///   closed. Some bytes may have been written.
  package static func write(_ bytes: UnsafeRawBufferPointer, to stream: Output) throws(FileIOError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let length = min(rest.count, SystemCall.transferLengthMax)
      let result = SystemCall.repeating { systemWrite(stream.descriptor, rest.baseAddress, length) }
      guard result.errno == 0 else { throw failure(result.errno, .write, stream.name) }
      done += result.value
    }
  }

  /// Writes text and ignores errors. If the stream is a pipe without a reader, the system ends the
  /// process (SIGPIPE), unless the process ignores this signal.
  package static func say(_ text: String, on stream: Output) {
    var text = text
    text.withUTF8 { bytes in
      // If the stream is closed, the failure cannot be reported anywhere.
      try? write(UnsafeRawBufferPointer(bytes), to: stream)
    }
  }

  /// Reads at most `count` bytes from the standard input. Returns none at its end.
  package static func read(_ count: Int) throws(FileIOError) -> [UInt8] {
    var failed: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { bytes, done in
      let result = SystemCall.repeating {
        systemRead(STDIN_FILENO, bytes.baseAddress, min(count, SystemCall.transferLengthMax))
      }
      (failed, done) = (result.errno, max(0, result.value))
    }
    guard failed == 0 else { throw failure(failed, .read, "the standard input") }
    return bytes
  }

  private static func failure(_ errno: Int32, _ operation: FileIOError.Operation, _ name: String)
    -> FileIOError
  {
    FileIOError(FileIOError.Code(errno: errno), operation: operation, path: name, errno: errno)
  }
}

private func openNullDevice(_ flags: Int32) -> Int32 { open("/dev/null", flags) }

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}

private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}
