/// What a command says, and to whom: results go to the output, everything else beside it, so that a script
/// reads results only.
final class Console {
  private let output: (String) -> Void
  private let errors: (String) -> Void
  private let isTerminal: Bool
  private let now: () -> Duration

  /// - Parameter output: Takes a line without its end.
  /// - Parameter errors: Takes text as it is.
  /// - Parameter isTerminal: Whether `errors` can be drawn over.
  /// - Parameter now: The time since some moment.
  init(
    output: @escaping (String) -> Void, errors: @escaping (String) -> Void, isTerminal: Bool,
    now: @escaping () -> Duration
  ) {
    self.output = output
    self.errors = errors
    self.isTerminal = isTerminal
    self.now = now
  }

  /// The streams of the process.
  static func standard() -> Console {
    let start = ContinuousClock.now
    return Console(
      output: { Swift.print($0) }, errors: StandardStreams.writeError,
      isTerminal: StandardStreams.errorIsTerminal, now: { ContinuousClock.now - start })
  }

  func print(_ line: String) { output(line) }

  func error(_ line: String) { errors(line + "\n") }

  /// Shows how far `title` is, until the work is done.
  func withProgress<R>(_ title: String, _ work: (@escaping (UInt64, UInt64) -> Void) throws -> R) rethrows
    -> R
  {
    var display = ProgressDisplay(title, isTerminal: isTerminal, start: now())
    defer { errors(display.end()) }
    return try withoutActuallyEscaping({ (done: UInt64, total: UInt64) in
      if let text = display.show(done, of: total, at: self.now()) { self.errors(text) }
    }) { try work($0) }
  }
}

/// What is written to show how far work is: on a terminal a bar that is drawn over itself, elsewhere a line
/// now and then, and none for work that is short.
struct ProgressDisplay {
  private let title: String
  private let isTerminal: Bool
  private var lastPercent = -1
  private var lastTime: Duration

  /// Time between lines where nobody draws over them.
  static let lineInterval = Duration.seconds(2)
  private static let barWidth = 30

  init(_ title: String, isTerminal: Bool, start: Duration) {
    self.title = title
    self.isTerminal = isTerminal
    lastTime = start
  }

  /// What to write now, if anything.
  mutating func show(_ done: UInt64, of total: UInt64, at time: Duration) -> String? {
    let percent = total == 0 ? 100 : Int(Double(min(done, total)) / Double(total) * 100)
    guard percent != lastPercent else { return nil }
    if isTerminal {
      lastPercent = percent
      let filled = Self.barWidth * percent / 100
      let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.barWidth - filled)
      return "\r\(title) [\(bar)] \(percent) %"
    }
    guard time - lastTime >= Self.lineInterval else { return nil }
    lastPercent = percent
    lastTime = time
    return "\(title): \(percent) %\n"
  }

  /// What to write when the work is over: a bar is wiped away.
  func end() -> String {
    guard isTerminal, lastPercent >= 0 else { return "" }
    return "\r" + String(repeating: " ", count: title.count + Self.barWidth + 9) + "\r"
  }
}
