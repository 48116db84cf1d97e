import ArgumentParser
import Perdure
import PerdureFileIO
import PerdureLog
import PerdureText

/// Backs up a store, even while another process writes to it.
struct BackupCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copies a store, even while another process writes it.",
    discussion: """
      The backup has all commits that were made before it began. Its bytes are verified while they are copied. \
      It is a folder, or with - one sequence of bytes on the standard output, for example:

        perdure backup Staff.perdure - | zstd > staff.backup

      With --since, files that have not changed since an earlier backup in a folder are shared with it, as hard \
      links if the file system supports them. Each backup stays complete if the other is removed. Do not write \
      to a backup: `perdure restore` makes a store from it.

      Exit codes: 0 done; 2 the store could not be opened or copied, or is damaged. Then there is no backup.
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var path: String

  @Argument(
    help: "The backup's directory, absent or empty; - for the standard output.", completion: .directory)
  var target: String

  @Option(help: "An earlier backup of the store, in a folder.", completion: .directory)
  var since: String?

  @Option(help: "The maximum number of bytes to read per second while the store is written; 0: no limit.")
  var bytesPerSecond = 32 << 20

  @Flag(help: "One JSON object, on the standard error stream if the backup goes to the standard output.")
  var json = false

  private var isStream: Bool { target == "-" }

  func validate() throws {
    if isStream, since != nil {
      throw ValidationError("A backup on the standard output is always complete: --since needs a folder.")
    }
  }

  func perform(on console: Console) throws -> ExitCode {
    let store = try open()
    var options = BackupOptions()
    options.bytesPerSecond = bytesPerSecond == 0 ? nil : bytesPerSecond
    // The report of a stream is written to standard error. Progress must not be mixed with its
    // JSON.
    let report = try console.withProgress("backing up", isShown: !isStream || !json) { show in
      if isStream {
        return try store.backup(options: options, progress: { show($0.bytesDone, $0.bytesTotal) }) { bytes in
          try bytes.withUnsafeBytes { try StandardOutput.write($0) }
        }
      }
      return try store.backup(to: target, since: since, options: options) {
        show($0.bytesDone, $0.bytesTotal)
      }
    }
    try store.close()
    let text = json ? report.json(from: path, to: target).text : report.text("backed up")
    if isStream { console.error(text) } else { try console.print(text) }
    return .success
  }

  /// Opens the store without its graph, because the command reads no indexes, and the store may
  /// contain no graph.
  private func open() throws -> Store {
    var options = StoreOptions()
    options.isReadOnly = true
    options.createsIfMissing = false
    return try Store(at: path, options: options)
  }
}

/// Makes a store from a backup.
struct RestoreCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Makes a store from a backup.",
    discussion: """
      The new store is complete or does not exist. All bytes are verified while they are copied. The backup is \
      not changed. A store that is not a backup is copied too, if it is not open for writing.

      Exit codes: 0 done; 2 the backup could not be read, is damaged, or the store could not be written. Then there is no new store.
      """)

  @Argument(
    help: "The backup's directory, a file with a backup, or - for the standard input.", completion: .file())
  var path: String

  @Argument(help: "The new store's directory: absent or empty.", completion: .directory)
  var target: String

  @Flag(help: "One JSON object.")
  var json = false

  func perform(on console: Console) throws -> ExitCode {
    let report = try console.withProgress("restoring") { show in
      if path == "-" {
        return try Store.restore(to: target) {
          show($0.bytesDone, $0.bytesTotal)
        } read: {
          try StandardStreams.read($0)
        }
      }
      return try Store.restore(from: path, to: target) { show($0.bytesDone, $0.bytesTotal) }
    }
    try console.print(json ? report.json(from: path, to: target).text : report.text("restored"))
    return .success
  }
}

extension BackupReport {
  fileprivate func text(_ what: String) -> String {
    let values = blobs == 0 ? "" : " and \(counted(blobs, "long value"))"
    let shared = bytesShared == 0 ? "" : ", \(bytesShared) bytes shared with the earlier backup"
    return "\(counted(segments, "segment"))\(values) \(what), up to commit \(sequence): "
      + "\(bytesCopied) bytes copied\(shared)"
  }

  fileprivate func json(from path: String, to target: String) -> JSONText {
    .object([
      ("path", .string(path)), ("target", .string(target)), ("sequence", .integer(sequence)),
      ("segments", .integer(segments)), ("values", .integer(blobs)), ("bytesCopied", .integer(bytesCopied)),
      ("bytesShared", .integer(bytesShared)),
    ])
  }
}
