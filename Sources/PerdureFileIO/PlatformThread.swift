#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The number of this thread. No other thread of this process has the same number at the same time.
package func currentThreadID() -> UInt64 {
  #if canImport(Darwin)
    var id: UInt64 = 0
    pthread_threadid_np(nil, &id)
    return id
  #elseif canImport(Musl)
    return UInt64(UInt(bitPattern: pthread_self()))
  #else
    return UInt64(truncatingIfNeeded: pthread_self())
  #endif
}

/// Operating system threads for work that waits for the disk. The threads of Swift's concurrency
/// pool must not block.
package enum PlatformThread {
  /// The stack size of a thread in bytes, instead of the platform's default.
  private static let stackSize = 2 << 20

  /// Whether creating threads fails for this task. Tests set it.
  @TaskLocal package static var isRefused = false

  /// Runs `body` on a new detached thread.
  ///
  /// - Parameter name: The name for debuggers; the first 15 bytes are kept.
  /// - Returns: False if the system refused to create a thread. Then `body` never runs.
  @discardableResult
  package static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
    if isRefused { return false }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, numericCast(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, stackSize)
    let work = Unmanaged.passRetained(ThreadWork(name: name, body: body))
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let start = pthread_create(
      &thread, &attributes,
      { context in
        // The parameter is optional on some platforms only.
        let work: UnsafeMutableRawPointer? = context
        if let work { Unmanaged<ThreadWork>.fromOpaque(work).takeRetainedValue().run() }
        return nil
      }, work.toOpaque())
    if start != 0 { work.release() }
    return start == 0
  }
}

private final class ThreadWork: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
    self.body = body
  }

  func run() {
    #if canImport(Darwin)
      pthread_setname_np(name)
    #elseif os(Linux) || os(Android)
      SystemCall.nameThisThread(name)
    #endif
    body()
  }
}

/// Monotonic time.
package enum Clock {
  /// Nanoseconds since some moment before the process started. On some systems the clock stops
  /// while the machine sleeps.
  package static func nowNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// The same time at a lower cost, with a precision of a few milliseconds, on Linux and Android.
  /// On other systems, the same as `nowNanoseconds()`.
  package static func coarseNanoseconds() -> UInt64 {
    #if os(Linux) || os(Android)
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
      return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    #else
      return nowNanoseconds()
    #endif
  }
}
