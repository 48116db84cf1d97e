import Foundation

/// The service in its own process.
final class ServiceProcess: Sendable {
  enum End: Equatable { case exited(Int32), killed }
  struct NoPort: Error {}

  /// The port that the system chose.
  let port: Int
  // These tests use `Process` from any thread. This is safe because each call is one system call.
  private let process: Process

  /// Starts the program. Returns when it accepts connections.
  init(storePath: String) throws {
    process = Process()
    let output = Pipe()
    let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    process.executableURL = tests.deletingLastPathComponent().appending(path: "ShopService")
    process.arguments = ["--port", "0", "--store", storePath]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    guard let port = Self.port(in: output.fileHandleForReading) else {
      process.terminate()
      throw NoPort()
    }
    self.port = port
  }

  /// The port in the first line of the program's output; nil if the program ends before that line,
  /// or if the line has no port.
  private static func port(in output: FileHandle) -> Int? {
    var text = ""
    while !text.contains("\n") {
      let data = output.availableData
      if data.isEmpty { return nil }
      text += String(decoding: data, as: UTF8.self)
    }
    return text.firstMatch(of: /Serving on port ([0-9]+)\n/).flatMap { Int($0.output.1) }
  }

  func sendSIGKILL() {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  func sendSIGTERM() { process.terminate() }

  func waitForEnd() -> End {
    process.waitUntilExit()
    return process.terminationReason == .exit ? .exited(process.terminationStatus) : .killed
  }
}
