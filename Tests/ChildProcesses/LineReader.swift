import Foundation

/// A program whose output a test reads line by line while the program runs.
public final class LineReader {
  private let process = Process()
  private let pipe = Pipe()
  private var buffer = Data()

  /// Starts a program that is in the same folder as the test executable.
  ///
  /// - Throws: The errors of `Process.run`.
  public init(built name: String, _ arguments: [String]) throws {
    let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent(name)
    process.arguments = arguments
    process.standardOutput = pipe
    try process.run()
  }

  deinit { kill() }

  /// The next complete line; nil at the end of the output. An incomplete last line is not returned.
  public func nextLine() -> String? {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self)
        buffer = Data(buffer[buffer.index(after: end)...])
        return line
      }
      // Not `read(upToCount:)`, which waits until it has read all of the bytes.
      let more = pipe.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      buffer += more
    }
  }

  /// Ends the program with SIGKILL. Lines that it has printed can still be read.
  public func kill() {
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }
}
