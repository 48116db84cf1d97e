import PerdureFileIO
import PerdureText

/// The output of a command. Results go to one stream and everything else to another one, so that a
/// script reads only results.
final class Console {
  /// Which streams a terminal shows, and the abilities of the terminal.
  struct Terminal {
    /// Whether the stream of errors and progress can be overwritten.
    var drawsProgress = false
    /// Whether the results may have colours.
    var coloursOutput = false
    /// Whether errors may have colours.
    var coloursErrors = false
    /// The columns of the terminal.
    var width = 80
  }

  private let output: (String) -> Void
  private let errors: (String) -> Void
  private let terminal: Terminal
  private let now: () -> Duration

  /// - Parameter output: Takes a line without its end.
  /// - Parameter errors: Takes text as it is.
  /// - Parameter now: The time since some moment.
  init(
    output: @escaping (String) -> Void, errors: @escaping (String) -> Void, terminal: Terminal,
    now: @escaping () -> Duration
  ) {
    self.output = output
    self.errors = errors
    self.terminal = terminal
    self.now = now
  }

  /// The streams of the process.
  static func standard() -> Console {
    let start = ContinuousClock.now
    let terminal = Terminal(
      drawsProgress: StandardStreams.isTerminal(.error),
      coloursOutput: StandardStreams.takesColours(.output),
      coloursErrors: StandardStreams.takesColours(.error), width: StandardStreams.columns)
    return Console(
      output: { Swift.print($0) }, errors: { StandardStreams.say($0, on: .error) }, terminal: terminal,
      now: { ContinuousClock.now - start })
  }

  func print(_ line: String) { output(line) }

  /// Text for `print`, with a style if a terminal shows it.
  func styled(_ text: String, _ style: TextStyle) -> String {
    terminal.coloursOutput ? style.applied(to: text) : text
  }

  func error(_ line: String) { errors(line + "\n") }

  /// Reports the error that ends a command.
  func failure(_ error: Any) {
    let label = terminal.coloursErrors ? TextStyle.red.applied(to: "error:") : "error:"
    errors("\(label) \(error)\n")
  }

  /// Shows the progress of `work` under a title, until it ends.
  func withProgress<R>(_ title: String, _ work: (@escaping (UInt64, UInt64) -> Void) throws -> R) rethrows
    -> R
  {
    var bar = ProgressBar(title, isTerminal: terminal.drawsProgress, width: terminal.width, start: now())
    defer { errors(bar.clear()) }
    return try withoutActuallyEscaping({ (done: UInt64, total: UInt64) in
      let fraction = total == 0 ? 1 : Double(done) / Double(total)
      if let text = bar.show(fraction, at: self.now()) { self.errors(text) }
    }) { try work($0) }
  }
}
