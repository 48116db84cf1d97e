import ArgumentParser
import PerdureFileIO
import PerdureText

/// The output of a command. Results are written to one stream, and all other output to a second
/// one. So a script that reads the first stream gets only results.
final class Console {
  /// The features of the terminal to which the streams write.
  struct Terminal {
    /// Whether progress on the error stream can be overwritten.
    var drawsProgress = false
    /// Whether the results may have colours.
    var coloursOutput = false
    /// Whether errors may have colours.
    var coloursErrors = false
    /// The width of the terminal in columns.
    var width = 80
  }

  private let output: (String) throws -> Void
  private let flush: () throws -> Void
  private let errors: (String) -> Void
  private let terminal: Terminal
  private let now: () -> Duration

  /// - Parameter output: Receives a line without its line feed.
  /// - Parameter flush: Called when all results were printed.
  /// - Parameter errors: Receives text, to be written unchanged.
  /// - Parameter now: Returns the time since some fixed moment.
  init(
    output: @escaping (String) throws -> Void, flush: @escaping () throws -> Void = {},
    errors: @escaping (String) -> Void, terminal: Terminal, now: @escaping () -> Duration
  ) {
    self.output = output
    self.flush = flush
    self.errors = errors
    self.terminal = terminal
    self.now = now
  }

  /// A console with the standard streams of the process.
  static func standard() -> Console {
    let start = ContinuousClock.now
    let terminal = Terminal(
      drawsProgress: StandardStreams.isTerminal(.error),
      coloursOutput: StandardStreams.takesColours(.output),
      coloursErrors: StandardStreams.takesColours(.error), width: StandardStreams.columns)
    let output = StandardOutput()
    return Console(
      output: { try output.add($0 + "\n") }, flush: { try output.flush() },
      errors: { StandardStreams.say($0, on: .error) }, terminal: terminal,
      now: { ContinuousClock.now - start })
  }

  /// Prints a line of the results.
  ///
  /// - Throws: `OutputFailure` if this line or an earlier one cannot be written.
  func print(_ line: String) throws { try output(line) }

  /// Runs `work`, which prints results, and then writes the results that are still buffered.
  ///
  /// - Returns: The code of `work`; `.failed` if the results could not be written. Such a failure
  ///   is reported, unless the reader of the results has closed the pipe.
  func checkingOutput(_ work: () throws -> ExitCode) -> ExitCode {
    do {
      let code = try work()
      try flush()
      return code
    } catch {
      if (error as? OutputFailure)?.isReaderGone != true { failure(error) }
      return .failed
    }
  }

  /// Text for `print`, with a style if the output is a terminal that supports colours.
  func styled(_ text: String, _ style: TextStyle) -> String {
    terminal.coloursOutput ? style.applied(to: text) : text
  }

  func error(_ line: String) { errors(line + "\n") }

  /// Reports the error with which a command ends.
  func failure(_ error: Any) {
    let label = terminal.coloursErrors ? TextStyle.red.applied(to: "error:") : "error:"
    errors("\(label) \(error)\n")
  }

  /// Shows the progress of `work` under a title until it ends.
  func withProgress<R>(
    _ title: String, isShown: Bool = true, _ work: (@escaping (UInt64, UInt64) -> Void) throws -> R
  ) rethrows -> R {
    var bar = ProgressBar(title, isTerminal: terminal.drawsProgress, width: terminal.width, start: now())
    defer { errors(bar.clear()) }
    return try withoutActuallyEscaping({ (done: UInt64, total: UInt64) in
      let fraction = total == 0 ? 1 : Double(done) / Double(total)
      if isShown, let text = bar.show(fraction, at: self.now()) { self.errors(text) }
    }) { try work($0) }
  }
}
