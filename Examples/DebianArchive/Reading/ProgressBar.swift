import Foundation

/// Shows how far a long task has come: a bar that redraws itself on a terminal, a plain line every few seconds
/// anywhere else.
public struct ProgressBar {
  /// What is shown: the parts of a line, as values.
  struct Line: Equatable {
    var title: String
    var fraction: Double
    var count: Int
    var unit: String
    /// Since the start, in seconds.
    var elapsed: Double
  }

  private static let redrawInterval = 0.1
  private static let lineInterval = 5.0
  private let title: String
  private let unit: String
  private let isTerminal: Bool
  private let width: Int
  private let write: (String) -> Void
  private let now: () -> Double
  private let start: Double
  private var lastShown: Double

  /// A bar on standard error.
  ///
  /// - Parameters:
  ///   - title: What is being done.
  ///   - unit: What is counted, in the plural.
  public init(_ title: String, unit: String) {
    let clock = ContinuousClock()
    let origin = clock.now
    self.init(
      title, unit: unit, isTerminal: isatty(STDERR_FILENO) == 1, width: Self.terminalWidth,
      write: { text in FileHandle.standardError.write(Data(text.utf8)) },
      now: { (clock.now - origin) / .seconds(1) })
  }

  init(
    _ title: String, unit: String, isTerminal: Bool, width: Int, write: @escaping (String) -> Void,
    now: @escaping () -> Double
  ) {
    self.title = title
    self.unit = unit
    self.isTerminal = isTerminal
    self.width = width
    self.write = write
    self.now = now
    start = now()
    lastShown = start
  }

  /// Shows the state if the last time is long enough ago. Cheap when it is not.
  ///
  /// - Parameters:
  ///   - fraction: 0...1 of the work.
  ///   - count: How many units are done.
  public mutating func update(fraction: Double, count: Int) {
    let time = now()
    guard time - lastShown >= (isTerminal ? Self.redrawInterval : Self.lineInterval) else { return }
    lastShown = time
    show(line(fraction, count, time), end: isTerminal ? "" : "\n")
  }

  /// Shows the state a last time and ends the line.
  public mutating func finish(count: Int) {
    show(line(1, count, now()), end: "\n")
  }

  private func line(_ fraction: Double, _ count: Int, _ time: Double) -> Line {
    Line(
      title: title, fraction: fraction > 0 ? min(fraction, 1) : 0, count: count, unit: unit,
      elapsed: time - start)
  }

  private func show(_ line: Line, end: String) {
    write((isTerminal ? "\r\u{1B}[K" + line.bar(width: width) : line.text) + end)
  }

  private static var terminalWidth: Int {
    ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) } ?? 80
  }
}

extension ProgressBar.Line {
  /// "Importing: 41 %, 26000 stanzas, 8667/s, 4 s left"
  var text: String { "\(title): \(percent), \(figures)" }

  /// The same with a bar, at most `width` columns wide.
  func bar(width: Int) -> String {
    let frame = "\(title) [] \(percent) \(figures)"
    let length = max(0, min(40, width - 1 - frame.count))
    let filled = Int((fraction * Double(length)).rounded(.down))
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: length - filled)
    return String("\(title) [\(bar)] \(percent) \(figures)".prefix(max(0, width - 1)))
  }

  private var percent: String { "\(Int(fraction * 100)) %" }

  private var figures: String {
    guard elapsed > 0 else { return "\(count) \(unit)" }
    let rate = Int(Double(count) / elapsed)
    return "\(count) \(unit), \(rate)/s, \(timeLeft)"
  }

  private var timeLeft: String {
    if fraction >= 1 { return "\(Int(elapsed.rounded(.up))) s" }
    guard fraction > 0 else { return "just begun" }
    let seconds = Int((elapsed * (1 - fraction) / fraction).rounded(.up))
    return seconds < 120 ? "\(seconds) s left" : "\(seconds / 60) min left"
  }
}
