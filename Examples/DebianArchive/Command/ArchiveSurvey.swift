import DebianIndexReading
import Foundation

/// Reads all indexes once: counts their stanzas, and collects the names of packages.
struct ArchiveSurvey {
  struct Index {
    var file: IndexFile
    /// Stanzas with and without a name.
    var stanzaCount: Int
  }

  private(set) var indexes: [Index] = []
  private(set) var packageNames: Set<String> = []
  /// The number of errors in indexes. All of them were reported on standard error.
  private(set) var problemCount = 0

  var stanzaCount: Int { indexes.reduce(0) { $0 + $1.stanzaCount } }

  init(_ files: [IndexFile]) throws {
    var bar = ImportProgress("Scanning", unit: "stanzas")
    let total = files.reduce(0) { $0 + $1.byteCount }
    var done = 0
    for file in files {
      let before = stanzaCount
      try scan(file) { read, count in
        bar.update(fraction: Double(done + read) / Double(max(total, 1)), count: before + count)
      }
      done += file.byteCount
    }
    bar.finish(count: stanzaCount)
  }

  /// Reads one index. Damage ends the reading, and the stanzas before the damage are counted.
  private mutating func scan(_ file: IndexFile, _ progress: (Int, Int) -> Void) throws {
    let problems = ProblemLog()
    var reader = try PackageReader(file: file) { problems.report($0) }
    do {
      while let record = try reader.next() {
        packageNames.insert(record.name)
        progress(reader.storedBytesRead, reader.stanzaCount)
      }
    } catch {
      problems.report(error)
    }
    indexes.append(Index(file: file, stanzaCount: reader.stanzaCount))
    problemCount += problems.count
  }
}

/// Reports problems as they occur, and counts them.
final class ProblemLog {
  private(set) var count = 0

  func report(_ problem: some CustomStringConvertible) {
    count += 1
    FileHandle.standardError.write(Data("\n\(problem)\n".utf8))
  }
}
