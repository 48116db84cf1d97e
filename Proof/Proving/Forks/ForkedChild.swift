#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A process forked from this one. It has the memory and the open files of its parent, and one
/// thread.
///
/// The child runs a closure, writes the result into a pipe, and ends with `_exit`. So no exit
/// handler of the parent runs in the child, and no buffer is written twice.
package struct ForkedChild: Sendable {
  /// The report of a child, and the way in which the child ended.
  package struct Outcome: Sendable, Equatable, CustomStringConvertible {
    package var words: String
    /// The signal that ended the child; 0 if no signal ended it.
    package var signal: Int32

    /// Whether the child ran longer than its time limit.
    package var hasHung: Bool { signal == SIGALRM }

    package init(words: String, signal: Int32) { (self.words, self.signal) = (words, signal) }

    package var description: String { signal == 0 ? words : "signal \(signal) after \"\(words)\"" }
  }

  private let id: pid_t
  private let pipe: Int32

  /// Forks a child.
  ///
  /// - Parameter seconds: The time limit. After it, an alarm ends the child.
  /// - Parameter body: Runs only in the child, and returns its report.
  package init(seconds: UInt32 = 30, _ body: () -> String) throws {
    var ends: [Int32] = [0, 0]
    guard Self.makePipe(&ends) == 0 else { throw Violation("the system refuses a pipe") }
    let id = Self.forkRetrying()
    guard id >= 0 else {
      close(ends[0])
      close(ends[1])
      throw Violation("the system refuses a process: error \(errno)")
    }
    guard id == 0 else {
      close(ends[1])
      (self.id, pipe) = (id, ends[0])
      return
    }
    Self.endAlone(after: seconds)
    let words = Array(body().utf8)
    var done = 0
    while done < words.count {
      let count = words[done...].withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
      if count <= 0 { break }
      done += count
    }
    _exit(0)
  }

  /// Forks, and waits for the child.
  package static func run(seconds: UInt32 = 30, _ body: () -> String) throws -> Outcome {
    try ForkedChild(seconds: seconds, body).wait()
  }

  /// Reads the child's report, and waits until the child ends.
  package func wait() -> Outcome {
    var words: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(pipe, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      words += buffer[..<count]
    }
    close(pipe)
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    return Outcome(words: String(decoding: words, as: UTF8.self), signal: status & 0x7F)
  }

  /// Ends this process immediately, with a signal that it cannot catch.
  package static func endBySignal() { raise(SIGKILL) }

  /// Ends this process immediately, without its handlers.
  package static func endAtOnce() -> Never { _exit(0) }

  /// Whether the process that forked this one has ended.
  package static func hasLost(parent: Int32) -> Bool { getppid() != parent }

  package static var processID: Int32 { getpid() }

  package static func waitAMillisecond() { SystemLink.waitAMillisecond() }

  /// Sets an alarm that ends this child. A child does not inherit the alarm of its parent. It
  /// inherits the signal handler and the signal mask, so both are reset.
  private static func endAlone(after seconds: UInt32) {
    signal(SIGALRM, SIG_DFL)
    var alone = sigset_t()
    sigemptyset(&alone)
    sigaddset(&alone, SIGALRM)
    pthread_sigmask(SIG_UNBLOCK, &alone, nil)
    alarm(seconds)
  }

  private static func makePipe(_ ends: inout [Int32]) -> Int32 {
    #if canImport(Darwin)
      Darwin.pipe(&ends)
    #elseif canImport(Glibc)
      Glibc.pipe(&ends)
    #elseif canImport(Musl)
      Musl.pipe(&ends)
    #endif
  }

  /// Forks. If the system lacks processes or memory, for example because many other tests run,
  /// tries again for about ten seconds.
  private static func forkRetrying() -> pid_t {
    for _ in 0..<10_000 {
      let id = fork()
      if id >= 0 || errno != EAGAIN && errno != ENOMEM { return id }
      waitAMillisecond()
    }
    return fork()
  }

  /// Calls fork(2), which Swift does not import because a child should only call `exec`.
  private static func fork() -> pid_t {
    #if canImport(Darwin)
      let everywhere = UnsafeMutableRawPointer(bitPattern: -2)
    #else
      let everywhere: UnsafeMutableRawPointer? = nil
    #endif
    guard let function = dlsym(everywhere, "fork") else { return -1 }
    // The signature of fork(2), which is the same on every POSIX system.
    return unsafeBitCast(function, to: (@convention(c) () -> pid_t).self)()
  }
}
