#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A process that this process has started.
struct ChildProcess {
  /// The way in which a process ended.
  enum End: Equatable {
    case exit(Int32)
    case signal(Int32)
  }

  let id: pid_t

  /// - Parameter environment: Variables that are set in addition to the environment of this
  ///   process.
  init(_ executable: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    var strings = ([executable] + arguments).map { strdup($0) } + [nil]
    var variables = Self.environment(adding: environment).map { strdup($0) } + [nil]
    defer { for string in strings + variables { free(string) } }
    // A child inherits the signal mask of the thread that starts it. Threads of a pool block
    // signals. With their mask, neither an alarm nor an interrupt from the keyboard ends the child.
    #if canImport(Darwin)
      var attributes: posix_spawnattr_t?
    #else
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var id: pid_t = 0
    let number = posix_spawnp(&id, executable, nil, &attributes, &strings, &variables)
    guard number == 0 else { throw Violation("\(executable) cannot be started: error \(number)") }
    self.id = id
  }

  private static func environment(adding added: [String: String]) -> [String] {
    var lines: [String] = added.map { "\($0)=\($1)" }
    var next = environ
    while let line = next.pointee {
      let text = String(cString: line)
      if !added.keys.contains(where: { text.hasPrefix($0 + "=") }) { lines.append(text) }
      next += 1
    }
    return lines
  }

  /// Kills the process, and returns the way in which it ended. It may have ended earlier.
  func kill() -> End {
    sendKill()
    while true { if let end = end(options: 0) { return end } }
  }

  /// Kills the process. The caller must still wait for its end.
  func sendKill() {
    #if canImport(Darwin)
      _ = Darwin.kill(id, SIGKILL)
    #elseif canImport(Glibc)
      _ = Glibc.kill(id, SIGKILL)
    #elseif canImport(Musl)
      _ = Musl.kill(id, SIGKILL)
    #endif
  }

  /// Waits until the process has ended. Kills it after a timeout in milliseconds, or when the task
  /// is cancelled.
  ///
  /// - Returns: The way in which the process ended, and whether this function killed it.
  func wait(milliseconds: Int, isCancelled: () -> Bool) -> (end: End, hadToKill: Bool) {
    for _ in 0..<milliseconds where !isCancelled() {
      if let end = end(options: WNOHANG) { return (end, false) }
      SystemLink.waitAMillisecond()
    }
    return (kill(), true)
  }

  private func end(options: Int32) -> End? { look(options: options)?.end }

  /// The way in which the process ended, and its maximum resident memory in bytes; nil if it still
  /// runs, or if its end was already read.
  ///
  /// - Parameter waits: Whether the call waits for the end.
  func look(waits: Bool) -> (end: End, peakBytes: Int)? { look(options: waits ? 0 : WNOHANG) }

  private func look(options: Int32) -> (end: End, peakBytes: Int)? {
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(id, &status, options, &usage) == id else { return nil }
    let signal = status & 0x7F
    #if canImport(Darwin)
      let peakBytes = usage.ru_maxrss
    #else
      let peakBytes = usage.ru_maxrss << 10
    #endif
    return (signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal), peakBytes)
  }

  /// Sets an alarm that ends this process after a number of seconds.
  static func endLater(seconds: UInt32) { alarm(seconds) }

  static let killed = End.signal(SIGKILL)
}

extension KillChild {
  /// Ends a child after a time limit, even if its parent no longer exists.
  package static func endLater() { ChildProcess.endLater(seconds: 600) }
}
