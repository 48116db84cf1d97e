import PerdureFileIO

/// A quantity that is measured repeatedly while a store is used, and the line through its values.
struct SoakSeries {
  let name: String
  /// The times of the measurements in minutes since the beginning, and the values.
  private(set) var points: [(minutes: Double, value: Double)] = []

  init(_ name: String) { self.name = name }

  mutating func add(_ value: Double?, at minutes: Double) {
    if let value { points.append((minutes, value)) }
  }

  /// The growth per minute, by least squares.
  private static func slope(_ points: ArraySlice<(minutes: Double, value: Double)>) -> Double {
    let count = Double(points.count)
    let (x, y) = points.reduce((0, 0)) { ($0.0 + $1.minutes / count, $0.1 + $1.value / count) }
    let spread = points.reduce(0) { $0 + ($1.minutes - x) * ($1.minutes - x) }
    let common = points.reduce(0) { $0 + ($1.minutes - x) * ($1.value - y) }
    return spread > 0 ? common / spread : 0
  }

  /// The growth per minute and in total after the first third, in which caches fill.
  var growth: (inAMinute: Double, inAll: Double) {
    let later = points[(points.count / 3)...]
    guard let first = later.first, let last = later.last else { return (0, 0) }
    let slope = Self.slope(later)
    return (slope, slope * (last.minutes - first.minutes))
  }

  /// The duration of the measurement, and the growth per minute in its second half.
  var lateGrowth: (minutes: Double, inAMinute: Double) {
    (points.last?.minutes ?? 0, Self.slope(points[(points.count / 2)...]))
  }

  /// The means of the second and the last third. The first third is ignored, because its growth may
  /// be a cache that fills.
  var laterMeans: (second: Double, last: Double)? {
    let third = points.count / 3
    guard third > 0 else { return nil }
    func mean(_ part: ArraySlice<(minutes: Double, value: Double)>) -> Double {
      part.reduce(0) { $0 + $1.value } / Double(part.count)
    }
    return (mean(points[third..<2 * third]), mean(points[(2 * third)...]))
  }

  var line: String {
    guard let first = points.first, let last = points.last else { return "\(name): not measured here" }
    func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
    let grown = "\(text(growth.inAMinute)) a minute after the first third"
    return "\(name): first \(text(first.value)), last \(text(last.value)), \(grown)"
  }
}

/// Data of the operating system about this process.
package enum ProcessMeter {
  /// The process's own memory in MiB, without mapped files; nil if it is unknown.
  static var ownMebibytes: Double? { ProofLimits.ownBytes().map { Double($0) / 1_048_576 } }

  /// The open files below a directory, with one path for each opening; nil if they are unknown.
  static func openFiles(below directory: String) -> [String]? {
    guard let names = try? POSIXFileSystem().contents(of: "/proc/self/fd") else { return nil }
    let files = names.compactMap { SystemLink.target(of: "/proc/self/fd/\($0)") }
    return files.filter { $0.hasPrefix(directory) }
  }

  /// The number of open files. One opening of each existing segment is not counted, because the
  /// store needs it. Openings of removed segments are counted; the system adds a mark to their
  /// names.
  package static func countWithoutSegments(_ openFiles: [String]) -> Int {
    openFiles.count - Set(openFiles.filter { $0.hasSuffix(".segment") }).count
  }

  /// The open files below a directory. Waits first until delayed threads have closed their files.
  ///
  /// - Parameter looks: The maximum time of the wait, in milliseconds.
  static func openFilesInTheEnd(below directory: String, looks: Int) -> [String]? {
    for _ in 0..<looks {
      guard let files = openFiles(below: directory), !files.isEmpty else { break }
      SystemLink.waitAMillisecond()
    }
    return openFiles(below: directory)
  }
}
