#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The process and the machine that it runs on.
package enum Environment {
  /// The value of an environment variable; nil if it isn't set.
  package static func value(of name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// The number of this process.
  package static var processID: Int32 { getpid() }

  /// The name of the running program, without its directory; nil if it has none.
  package static var programName: String? {
    guard let path = CommandLine.arguments.first, let name = path.split(separator: "/").last else {
      return nil
    }
    return String(name)
  }

  /// The name of this machine; nil if it has none, or if the system does not give it.
  package static var hostName: String? {
    var name = [CChar](repeating: 0, count: 256)
    // The last byte stays zero, even if the system truncates a long name without a terminator.
    guard gethostname(&name, name.count - 1) == 0, name[0] != 0 else { return nil }
    return name.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// Seconds since 1970-01-01 00:00 UTC, by this machine's clock.
  package static var secondsSince1970: UInt64 { UInt64(max(0, time(nil))) }
}
