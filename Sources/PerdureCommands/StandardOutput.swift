import PerdureFileIO

/// The standard output did not accept all results.
struct OutputFailure: Error, CustomStringConvertible {
  let cause: FileIOError

  /// Whether the reader of a pipe has closed the pipe, as `head` does. Such a reader needs no more
  /// results.
  var isReaderGone: Bool { cause.isBrokenPipe }

  var description: String { "The results are incomplete. \(cause)" }
}

/// The standard output of the process. It checks every write.
///
/// Text is collected and written in large parts, except to a terminal.
final class StandardOutput {
  private static let capacity = 64 << 10

  private let capacity: Int
  private var collected: [UInt8] = []

  /// - Parameter capacity: The number of collected bytes at which `add` writes them.
  init(capacity: Int = StandardStreams.isTerminal(.output) ? 0 : StandardOutput.capacity) {
    self.capacity = capacity
  }

  /// Adds text. If the text is not written immediately, `flush` writes it.
  ///
  /// - Throws: `OutputFailure`.
  func add(_ text: String) throws {
    collected += text.utf8
    if collected.count >= capacity { try flush() }
  }

  /// Writes the collected text.
  ///
  /// - Throws: `OutputFailure`. The text is then discarded.
  func flush() throws {
    defer { collected.removeAll(keepingCapacity: true) }
    try collected.withUnsafeBytes { try Self.write($0) }
  }

  /// Writes bytes immediately, without collecting them.
  static func write(_ bytes: UnsafeRawBufferPointer) throws(OutputFailure) {
    do throws(FileIOError) { try StandardStreams.write(bytes, to: .output) } catch {
      throw OutputFailure(cause: error)
    }
  }
}
