import PerdureFileIO

/// The text that a writer stores in the lock file. Errors of other openings show it.
enum LockHolderText {
  /// One line with the process, its program, its host and its start time.
  static var current: String {
    var text = "process \(Environment.processID)"
    if let program = Environment.programName { text += " (\(program))" }
    if let host = Environment.hostName { text += " on \(host)" }
    return text + " since " + utc(Environment.secondsSince1970)
  }

  /// Formats a time as `2026-01-31 23:59:59 UTC`.
  static func utc(_ secondsSince1970: UInt64) -> String {
    let (date, time) = (civil(day: secondsSince1970 / 86_400), secondsSince1970 % 86_400)
    let parts = [time / 3600, time / 60 % 60, time % 60]
    return "\(date.year)-\(padded(date.month))-\(padded(date.day)) "
      + parts.map(padded).joined(separator: ":") + " UTC"
  }

  private static func padded(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// The date of a day, counted from the beginning of 1970.
  private static func civil(day: UInt64) -> (year: UInt64, month: UInt64, day: UInt64) {
    func isLeap(_ year: UInt64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
    // Each period of 400 years has 146,097 days.
    var year = 1970 + day / 146_097 * 400
    var rest = day % 146_097
    while rest >= (isLeap(year) ? 366 : 365) {
      rest -= isLeap(year) ? 366 : 365
      year += 1
    }
    let lengths: [UInt64] = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var month = 0
    while rest >= lengths[month] {
      rest -= lengths[month]
      month += 1
    }
    return (year, UInt64(month) + 1, rest + 1)
  }
}
