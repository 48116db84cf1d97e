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

  /// - Parameter environment: What is set beside the environment of this process.
  init(_ executable: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    var strings = ([executable] + arguments).map { strdup($0) } + [nil]
    var variables = Self.environment(adding: environment).map { strdup($0) } + [nil]
    defer { for string in strings + variables { free(string) } }
    var id: pid_t = 0
    let number = posix_spawnp(&id, executable, nil, nil, &strings, &variables)
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

  /// Kills it, wherever it is, and says how it ended: perhaps it had before.
  func kill() -> End {
    #if canImport(Darwin)
      _ = Darwin.kill(id, SIGKILL)
    #elseif canImport(Glibc)
      _ = Glibc.kill(id, SIGKILL)
    #elseif canImport(Musl)
      _ = Musl.kill(id, SIGKILL)
    #endif
    while true { if let end = end(options: 0) { return end } }
  }

  /// Waits until it has ended; kills it when that takes more than so many milliseconds.
  ///
  /// - Returns: How it ended, and whether it had to be killed here.
  func wait(milliseconds: Int) async -> (end: End, hadToKill: Bool) {
    for _ in 0..<milliseconds {
      if let end = end(options: WNOHANG) { return (end, false) }
      // Cancelled, it waits no more.
      do { try await Task.sleep(nanoseconds: 1_000_000) } catch { break }
    }
    return (kill(), true)
  }

  private func end(options: Int32) -> End? {
    var status: Int32 = 0
    guard waitpid(id, &status, options) == id else { return nil }
    let signal = status & 0x7F
    return signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
  }

  /// Ends this process after so many seconds, should nobody else do it.
  static func endLater(seconds: UInt32) { alarm(seconds) }

  static let killed = End.signal(SIGKILL)
}

extension KillChild {
  /// Whatever becomes of its parent: a child does not stay.
  package static func endLater() { ChildProcess.endLater(seconds: 60) }
}
