#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// Dates as text for people.
package enum DateText {
  /// The date to the millisecond, without a fraction if that is zero. Dates outside the calendar's
  /// range, and NaN, are shown as seconds.
  package static func text(of date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    let first = Date.distantPast.timeIntervalSinceReferenceDate
    let last = Date.distantFuture.timeIntervalSinceReferenceDate
    guard (first...last).contains(seconds) else { return "\(seconds) s" }
    let hasFraction = (seconds * 1000).rounded() != seconds.rounded(.down) * 1000
    return date.ISO8601Format(Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction))
  }
}
