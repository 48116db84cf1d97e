// The compiler communicates with a plugin over standard input and output. Only this file of the
// plugin depends on the platform.

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(ucrt)
  import ucrt
#endif

enum StandardStreams {
  /// Sets both streams to binary mode, on Windows.
  static func prepare() {
    #if os(Windows)
      _ = _setmode(0, _O_BINARY)
      _ = _setmode(1, _O_BINARY)
    #endif
  }

  /// Reads at most `count` bytes; none at the end of the stream or after a failure.
  static func read(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      #if os(Windows)
        filled = max(0, Int(_read(0, buffer.baseAddress, UInt32(buffer.count))))
      #else
        var result: Int
        repeat { result = systemRead(0, buffer.baseAddress, buffer.count) } while result < 0 && errno == EINTR
        filled = max(0, result)
      #endif
    }
  }

  /// Writes all of `bytes`. Returns false on failure.
  static func write(_ bytes: [UInt8], to descriptor: Int32 = 1) -> Bool {
    var offset = 0
    while offset < bytes.count {
      let written = bytes[offset...].withUnsafeBytes { rest in
        #if os(Windows)
          Int(_write(descriptor, rest.baseAddress, UInt32(rest.count)))
        #else
          systemWrite(descriptor, rest.baseAddress, rest.count)
        #endif
      }
      #if !os(Windows)
        if written < 0, errno == EINTR { continue }
      #endif
      guard written > 0 else { return false }
      offset += written
    }
    return true
  }

  /// Writes the reason to standard error, which the compiler shows, and ends the plugin.
  static func fail(_ sentence: String) -> Never {
    _ = write(Array("PerdureMacros: \(sentence)\n".utf8), to: 2)
    exit(1)
  }
}

#if !os(Windows)
  private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
  }

  private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, buffer, count)
  }
#endif
