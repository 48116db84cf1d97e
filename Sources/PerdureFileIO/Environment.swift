#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// What the process was started with.
package enum Environment {
  /// The value of an environment variable; nil if it isn't set.
  package static func value(of name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// The number of this process.
  package static var processID: Int32 { getpid() }
}
