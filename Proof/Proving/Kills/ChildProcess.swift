#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A process that this one has started.
struct ChildProcess {
  /// How a process ended.
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
    // Threads of a pool block signals, and a child inherits its parent thread's mask: an alarm, or
    // an interrupt from the keyboard, could not end it.
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

  /// Kills it at any moment, and returns how it ended: perhaps it had ended before.
  func kill() -> End {
    sendKill()
    while true { if let end = end(options: 0) { return end } }
  }

  /// Kills it; the caller must still wait for it.
  func sendKill() {
    #if canImport(Darwin)
      _ = Darwin.kill(id, SIGKILL)
    #elseif canImport(Glibc)
      _ = Glibc.kill(id, SIGKILL)
    #elseif canImport(Musl)
      _ = Musl.kill(id, SIGKILL)
    #endif
  }

  /// Waits until it has ended; kills it after a timeout in milliseconds, or when the task is
  /// cancelled.
  ///
  /// - Returns: How it ended, and whether it had to be killed here.
  func wait(milliseconds: Int, isCancelled: () -> Bool) -> (end: End, hadToKill: Bool) {
    for _ in 0..<milliseconds where !isCancelled() {
      if let end = end(options: WNOHANG) { return (end, false) }
      SystemLink.waitAMillisecond()
    }
    return (kill(), true)
  }

  private func end(options: Int32) -> End? { look(options: options)?.end }

  /// Its end, and its maximum resident memory in bytes; nil as long as it runs.
  ///
  /// - Parameter waits: Whether this waits for the end.
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

  /// Ends this process after a number of seconds, unless it has ended before.
  static func endLater(seconds: UInt32) { alarm(seconds) }

  static let killed = End.signal(SIGKILL)
}

extension KillChild {
  /// Whatever becomes of its parent: a child does not stay.
  package static func endLater() { ChildProcess.endLater(seconds: 600) }
}
