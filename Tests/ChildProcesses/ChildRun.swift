public import Foundation

/// The output and the exit status of a program that a test ran to its end.
///
/// A program that prints nothing for two minutes is killed. The test then fails with the output up
/// to that time.
public struct ChildRun: Sendable {
  /// The program's standard output.
  public let output: String
  /// The program's standard error.
  public let errors: String
  /// The program's exit code, or the number of the signal that ended the program.
  public let status: Int32
  /// Whether a signal ended the program.
  public let wasKilled: Bool

  /// The error for a program that printed nothing for two minutes.
  public struct Silence: Error, CustomStringConvertible {
    /// The program's name, arguments and output.
    public let description: String
  }

  private static let silenceMax: Int32 = 120_000

  /// Runs a program with an empty standard input.
  ///
  /// - Parameter environment: Variables that are set in addition to the environment of the tests.
  /// - Throws: The errors of `Process.run`; `Silence`.
  public init(_ executable: URL, _ arguments: [String], environment: [String: String] = [:]) throws {
    let process = Process()
    process.executableURL = executable
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipes = [Pipe(), Pipe()]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipes[0]
    process.standardError = pipes[1]
    try process.run()
    let (texts, isThrough) = Self.read(pipes)
    if !isThrough { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    guard isThrough else {
      throw Silence(
        description: "\(executable.lastPathComponent) \(arguments) printed nothing for "
          + "\(Self.silenceMax / 1_000) s, and was killed. Before that:\n\(texts[0])\n\(texts[1])")
    }
    (output, errors) = (texts[0], texts[1])
    status = process.terminationStatus
    wasKilled = process.terminationReason == .uncaughtSignal
  }

  /// Runs a program that is in the same folder as the test executable.
  public init(built name: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    try self.init(
      tests.deletingLastPathComponent().appendingPathComponent(name), arguments, environment: environment)
  }

  /// Reads both pipes to their ends. `isThrough` is false if no output arrived for `silenceMax`
  /// milliseconds.
  private static func read(_ pipes: [Pipe]) -> (texts: [String], isThrough: Bool) {
    var waiting = pipes.map {
      pollfd(fd: $0.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
    }
    var bytes = pipes.map { _ in [UInt8]() }
    var isThrough = true
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while isThrough, waiting.contains(where: { $0.fd >= 0 }) {
      let ready = poll(&waiting, nfds_t(waiting.count), silenceMax)
      if ready < 0, errno == EINTR { continue }
      isThrough = ready > 0
      for place in waiting.indices where waiting[place].fd >= 0 && waiting[place].revents != 0 {
        let count = Foundation.read(waiting[place].fd, &buffer, buffer.count)
        // The pipe has ended. `poll` ignores an entry with a negative descriptor.
        if count <= 0 { waiting[place].fd = -1 } else { bytes[place] += buffer[..<count] }
      }
    }
    return (bytes.map { String(decoding: $0, as: UTF8.self) }, isThrough)
  }
}
