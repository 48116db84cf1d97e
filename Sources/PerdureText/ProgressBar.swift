/// The text that shows the progress of long-running work.
///
/// On a terminal it is a bar that overwrites itself. Elsewhere it is a line at most every two
/// seconds, so short work produces only the last line. This type does not read a clock and does not
/// write: its functions take the time and return the text to write.
package struct ProgressBar: Sendable {
  private let title: String
  /// The name of the counted items, in the plural. If it is nil, only the percentage is shown.
  private let unit: String?
  private let isTerminal: Bool
  /// The columns of the terminal.
  private let width: Int
  private let start: Duration
  private var lastPercent = -1
  private var lastTime: Duration
  /// The number of terminal columns that the last bar occupies.
  private var shownWidth = 0

  /// The time between two lines if the output is not a terminal.
  package static let lineInterval = Duration.seconds(2)
  /// The time between two bars with the same percentage.
  private static let redrawInterval = Duration.milliseconds(100)
  private static let barWidthMax = 30

  package init(
    _ title: String, unit: String? = nil, isTerminal: Bool, width: Int = 80, start: Duration
  ) {
    self.title = title
    self.unit = unit
    self.isTerminal = isTerminal
    self.width = width
    self.start = start
    lastTime = start
  }

  /// The text to write now, or nil.
  ///
  /// - Parameters:
  ///   - fraction: The completed fraction of the work. Values outside of 0 to 1 are clamped.
  ///   - count: The number of completed units.
  package mutating func show(_ fraction: Double, count: Int = 0, at time: Duration) -> String? {
    let percent = Self.percent(fraction)
    let elapsed = time - lastTime
    if isTerminal {
      guard percent != lastPercent || unit != nil && elapsed >= Self.redrawInterval else { return nil }
    } else {
      guard percent != lastPercent, elapsed >= Self.lineInterval else { return nil }
    }
    (lastPercent, lastTime) = (percent, time)
    return isTerminal ? overwriting(bar(fraction, count, time)) : line(fraction, count, time) + "\n"
  }

  /// The last line, to be written when the work is finished.
  package mutating func finish(count: Int, at time: Duration) -> String {
    (isTerminal ? overwriting(bar(1, count, time)) : line(1, count, time)) + "\n"
  }

  /// The text that removes the bar from a terminal.
  package func clear() -> String {
    shownWidth == 0 ? "" : "\r" + String(repeating: " ", count: shownWidth) + "\r"
  }

  private mutating func overwriting(_ text: String) -> String {
    let rest = max(0, shownWidth - text.count)
    shownWidth = text.count
    return "\r" + text + String(repeating: " ", count: rest)
  }

  private static func percent(_ fraction: Double) -> Int {
    fraction > 0 ? Int(min(fraction, 1) * 100) : 0
  }

  /// An example: "Importing: 41 %, 26000 packages, 8667/s, 4 s left".
  private func line(_ fraction: Double, _ count: Int, _ time: Duration) -> String {
    "\(title): \(Self.percent(fraction)) %" + figures(fraction, count, time).map { ", " + $0 }.joined()
  }

  /// The same text with a bar, less than `width` columns wide.
  private func bar(_ fraction: Double, _ count: Int, _ time: Duration) -> String {
    let percent = Self.percent(fraction)
    let figures = figures(fraction, count, time).joined(separator: ", ")
    let end = "\(percent) %" + (figures.isEmpty ? "" : " " + figures)
    let length = max(0, min(Self.barWidthMax, width - 1 - "\(title) [] \(end)".count))
    let filled = length * percent / 100
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: length - filled)
    return String("\(title) [\(bar)] \(end)".prefix(max(0, width - 1)))
  }

  private func figures(_ fraction: Double, _ count: Int, _ time: Duration) -> [String] {
    guard let unit else { return [] }
    let elapsed = (time - start) / .seconds(1)
    guard elapsed > 0 else { return ["\(count) \(unit)"] }
    return ["\(count) \(unit)", "\(Int(Double(count) / elapsed))/s", Self.timeLeft(fraction, elapsed)]
  }

  private static func timeLeft(_ fraction: Double, _ elapsed: Double) -> String {
    if fraction >= 1 { return "\(Int(elapsed.rounded(.up))) s" }
    guard fraction > 0 else { return "just begun" }
    let seconds = Int(min(1e9, elapsed * (1 - fraction) / fraction).rounded(.up))
    return seconds < 120 ? "\(seconds) s left" : "\(seconds / 60) min left"
  }
}
