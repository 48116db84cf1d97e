import DebianArchiveGraph
import DebianIndexReading
import Foundation
import Perdure

/// Imports one index after the other, with one save for each batch. It continues where an earlier
/// run stopped.
struct ArchiveImport {
  var container: PersistentContainer
  var survey: ArchiveSurvey
  var batchSize: Int
  /// Whether to print "saved <stanzas>" after each save, for programs that monitor the import.
  var printsBatches: Bool

  func run() throws {
    let importer = try ArchiveImporter(container, packageNames: survey.packageNames)
    var bar = ImportProgress("Importing", unit: "stanzas")
    var done = 0
    for index in survey.indexes {
      try run(index, importer) { count in
        // Unbuffered, so that a reader of the output gets the report of a save at once.
        guard !printsBatches else {
          return FileHandle.standardOutput.write(Data("saved \(done + count)\n".utf8))
        }
        bar.update(fraction: Double(done + count) / Double(max(survey.stanzaCount, 1)), count: done + count)
      }
      done += index.stanzaCount
    }
    if !printsBatches { bar.finish(count: done) }
  }

  private func run(_ index: ArchiveSurvey.Index, _ importer: ArchiveImporter, _ progress: (Int) -> Void)
    throws
  {
    let state = try importer.progress(ofIndex: index.file.label)
    if state.byteCount != Int64(index.file.byteCount) {
      state.byteCount = Int64(index.file.byteCount)
      state.stanzaCount = 0
      state.isComplete = false
    }
    if state.isComplete { return progress(index.stanzaCount) }
    // The survey has already reported problems.
    var reader = try PackageReader(file: index.file) { _ in }
    var batch: [PackageRecord] = []
    let start = Int(state.stanzaCount)
    while reader.stanzaCount < index.stanzaCount, let record = try reader.nextBeforeDamage() {
      guard reader.stanzaCount > start else { continue }
      batch.append(record)
      guard batch.count == batchSize else { continue }
      try importer.importBatch(batch) { state.stanzaCount = Int64(reader.stanzaCount) }
      batch.removeAll(keepingCapacity: true)
      progress(reader.stanzaCount)
    }
    try importer.importBatch(batch) {
      state.stanzaCount = Int64(index.stanzaCount)
      state.isComplete = true
    }
    progress(index.stanzaCount)
  }
}

extension PackageReader {
  /// Like `next`, but returns nil at damage. The survey has already reported the damage.
  fileprivate mutating func nextBeforeDamage() throws(ArchiveReadError) -> PackageRecord? {
    do {
      return try next()
    } catch {
      if error.code == .damaged || error.code == .truncated { return nil }
      throw error
    }
  }
}
