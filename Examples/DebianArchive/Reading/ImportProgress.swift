import PerdureFileIO
import PerdureText

/// Shows the progress of a long import on the standard error stream.
public struct ImportProgress {
  private var bar: ProgressBar
  private let origin: ContinuousClock.Instant

  /// - Parameters:
  ///   - title: The name of the work.
  ///   - unit: The plural name of the counted objects.
  public init(_ title: String, unit: String) {
    origin = ContinuousClock.now
    bar = ProgressBar(
      title, unit: unit, isTerminal: StandardStreams.isTerminal(.error), width: StandardStreams.columns,
      start: .zero)
  }

  /// Shows the state, unless it was shown very recently.
  ///
  /// - Parameters:
  ///   - fraction: The completed fraction of the work, 0 to 1.
  ///   - count: The number of completed units.
  public mutating func update(fraction: Double, count: Int) {
    if let text = bar.show(fraction, count: count, at: elapsed) { Self.write(text) }
  }

  /// Shows the last state and ends the line.
  public mutating func finish(count: Int) { Self.write(bar.finish(count: count, at: elapsed)) }

  private var elapsed: Duration { ContinuousClock.now - origin }

  private static func write(_ text: String) { StandardStreams.say(text, on: .error) }
}
