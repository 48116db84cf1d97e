import ArgumentParser
import Perdure
import PerdureLog
import PerdureText

/// Makes a new store from the readable records of a damaged one.
struct SalvageCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage", abstract: "Makes a new store from the readable records of a damaged one.",
    discussion: """
      The damaged store is not changed. No process may have it open for writing. Exit codes: 0 no damage was \
      found; 1 there is damage, and the new store has the readable records; 2 nothing was done.
      """)

  @Argument(help: "The damaged store's directory.", completion: .directory)
  var path: String

  @Argument(help: "The new store's directory: absent or empty.", completion: .directory)
  var target: String

  @Flag(help: "Also recover records of commits that may be incomplete.")
  var keepUnfinished = false

  @Flag(help: "One JSON object.")
  var json = false

  func perform(on console: Console) throws -> ExitCode {
    let report = try console.withProgress("salvaging") { progress in
      try Store.salvage(from: path, to: target, keepsUnfinishedCommits: keepUnfinished, progress: progress)
    }
    if json { try console.print(text(report).text) } else { try show(report, on: console) }
    return report.isClean ? .success : .findings
  }

  private static let keysShownMax = 100

  private func show(_ report: SalvageReport, on console: Console) throws {
    if let failure = report.lockFailure {
      try console.print("the store could not be locked, so it may be open for writing: \(failure)")
    }
    for damage in report.damages { try console.print("\(damage)") }
    if report.damageCount > report.damages.count {
      try console.print("and \(counted(report.damageCount - report.damages.count, "damaged place")) more")
    }
    for contents in report.contents {
      let older =
        contents.keysMaybeOlder == 0 ? "" : "; \(contents.keysMaybeOlder) of them may have an older value"
      let name = contents.isNameLost ? " (its name is lost)" : ""
      try console.print("keyspace \(contents.keyspace)\(name): \(counted(contents.keys, "key"))\(older)")
    }
    for older in report.olderKeys.prefix(Self.keysShownMax) {
      let key = older.id.map { "id \($0)" } ?? "key \(older.key)"
      let how = older.isCertain ? "an older value: the newest is lost" : "perhaps an older value"
      try console.print("keyspace \(older.keyspace), \(key): \(how)")
    }
    if report.keysMaybeOlder > Self.keysShownMax {
      try console.print("and \(counted(report.keysMaybeOlder - Self.keysShownMax, "key")) more")
    }
    if !report.commitsIncomplete.isEmpty {
      try console.print("\(counted(report.commitsIncomplete.count, "commit")) partly restored")
    }
    for lost in report.commitsLost {
      let numbers =
        lost.count == 1 ? "commit \(lost.lowerBound)" : "commits \(lost.lowerBound) to \(lost.upperBound)"
      try console.print("\(numbers): no record is known to be restored")
    }
    if report.recordsUnfinished > 0 {
      let records = counted(report.recordsUnfinished, "record")
      try console.print("\(records) left out because their commits were never finished")
    }
    if report.bytesUnfinished > 0 {
      let bytes = counted(Int(report.bytesUnfinished), "damaged byte")
      try console.print("\(bytes) left out because their commits may be unfinished")
    }
    try console.print(
      "\(counted(report.keys, "key")) from \(counted(report.records, "record")) in "
        + "\(counted(report.segments, "segment")): "
        + (report.isClean ? "no damage" : counted(report.damageCount, "damaged place")))
  }

  private func text(_ older: SalvageReport.OlderKey) -> JSONText {
    .object([
      ("keyspace", .string(older.keyspace)),
      ("key", .array(older.key.map { JSONText.integer($0) })),
      ("certain", .bool(older.isCertain)),
    ])
  }

  private func text(_ report: SalvageReport) -> JSONText {
    .object([
      ("path", .string(path)), ("target", .string(target)), ("clean", .bool(report.isClean)),
      ("keys", .integer(report.keys)), ("keysMaybeOlder", .integer(report.keysMaybeOlder)),
      ("damageCount", .integer(report.damageCount)),
      ("lockFailure", report.lockFailure.map { .string($0) } ?? .null),
      (
        "damages",
        .array(
          report.damages.map { damage in
            .object([
              ("file", .string(damage.file)), ("offset", .integer(damage.offset)),
              ("length", .integer(damage.length)), ("reason", .string(damage.reason.rawValue)),
            ])
          })
      ),
      (
        "keyspaces",
        .array(
          report.contents.map { contents in
            .object([
              ("name", .string(contents.keyspace)), ("nameLost", .bool(contents.isNameLost)),
              ("keys", .integer(contents.keys)), ("keysMaybeOlder", .integer(contents.keysMaybeOlder)),
            ])
          })
      ),
      ("olderKeys", .array(report.olderKeys.map(text))),
      ("records", .integer(report.records)), ("recordsUnanchored", .integer(report.recordsUnanchored)),
      ("recordsUnfinished", .integer(report.recordsUnfinished)),
      ("bytesUnfinished", .integer(report.bytesUnfinished)), ("indexes", .integer(report.indexes)),
      ("commitsIncomplete", .array(report.commitsIncomplete.map { .integer($0) })),
      (
        "commitsLost",
        .array(report.commitsLost.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })
      ),
      ("lastSequence", .integer(report.lastSequence)),
    ])
  }
}
