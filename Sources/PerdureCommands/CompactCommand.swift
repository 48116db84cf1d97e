import ArgumentParser
import Perdure
import PerdureLog
import PerdureText

/// Removes dead records from the log of a store.
struct CompactCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact", abstract: "Removes dead records from the log, and frees their space.",
    discussion: """
      The store is opened for writing, so no other process may have it open for writing. If the command is \
      interrupted, segments that it has compacted remain compacted. Exit codes: 0 done; 2 the store could not be \
      opened or compacted.
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var path: String

  @Flag(help: "One JSON object.")
  var json = false

  func perform(on console: Console) throws -> ExitCode {
    let store = try OpenedStore(forWritingAt: path, on: console).engine
    let report = try console.withProgress("compacting") { show in
      try store.compact { progress in
        show(UInt64(progress.segmentsDone), UInt64(progress.segmentsTotal))
        return true
      }
    }
    try store.close()
    if json {
      try console.print(
        JSONText.object([
          ("path", .string(path)), ("segmentsExamined", .integer(report.segmentsExamined)),
          ("segmentsRewritten", .integer(report.segmentsRewritten)),
          ("segmentsRemoved", .integer(report.segmentsRemoved)),
          ("bytesBefore", .integer(report.bytesBefore)),
          ("bytesAfter", .integer(report.bytesAfter)), ("recordsDropped", .integer(report.recordsDropped)),
          ("tombstonesDropped", .integer(report.tombstonesDropped)),
          ("bytesLeft", .integer(report.bytesLeft)),
        ]).text)
    } else {
      try console.print(
        "\(report.segmentsRewritten) of \(counted(report.segmentsExamined, "segment")) rewritten, "
          + "\(report.segmentsRemoved) removed: \(report.bytesBefore) bytes before, \(report.bytesAfter) after"
          + (report.bytesLeft == 0 ? "" : "; \(report.bytesLeft) bytes of garbage left in the last segment")
      )
    }
    return .success
  }
}
