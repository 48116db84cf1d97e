#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// Dates as text for people.
package enum DateText {
  /// The date in UTC to the millisecond, without the fraction if it is zero. A date before
  /// `distantPast` or after `distantFuture`, or NaN, is shown as seconds since 2001-01-01.
  package static func text(of date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    let first = Date.distantPast.timeIntervalSinceReferenceDate
    let last = Date.distantFuture.timeIntervalSinceReferenceDate
    guard (first...last).contains(seconds) else { return "\(seconds) s" }
    let hasFraction = (seconds * 1000).rounded() != seconds.rounded(.down) * 1000
    return date.ISO8601Format(Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction))
  }
}
