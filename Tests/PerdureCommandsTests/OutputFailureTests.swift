import ArgumentParser
import ChildProcesses
import Foundation
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

@testable import PerdureCommands

/// Runs commands whose results cannot be written.
@Suite("Results that cannot be written")
struct OutputFailureTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("store")
    let store = try Store(at: path)
    let rows = try store.keyspace("rows", .dense)
    // A JSON dump is longer than the pipe's buffer and the command's output buffer together.
    for id in 1...3 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 0x61, count: 200_000), id: id, in: rows) }
    }
    try store.close()
  }

  /// A failed write to the standard output.
  private func failure(_ errno: Int32) -> OutputFailure {
    OutputFailure(cause: FileIOError(errno: errno, operation: .write, path: "the standard output"))
  }

  /// Runs a shell command line in the test's directory, in which `perdure` is the built program.
  private func run(_ line: String) throws -> ChildRun {
    let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
    return try ChildRun(
      URL(fileURLWithPath: "/bin/sh"),
      [
        "-c", "cd \"$0\" && programs=$1 && perdure() { \"$programs/perdure\" \"$@\"; } && \(line)",
        directory.file("."), tests.path,
      ])
  }

  @Test(
    "If a line cannot be written, the command exits with 2, and prints one message unless the pipe is broken")
  func firstLine() throws {
    for errno in [ErrorNumber.noSpace, ErrorNumber.brokenPipe] {
      var (lines, errors) = (0, "")
      let console = Console(
        output: { _ in
          lines += 1
          throw failure(errno)
        }, errors: { errors += $0 }, terminal: .init(), now: { .zero })
      for arguments in [
        ["dump", path], ["dump", path, "--json"], ["verify", path], ["stats", path, "--json"],
      ] {
        (lines, errors) = (0, "")
        let command = try #require(try PerdureCommand.command(for: arguments) as? any ConsoleCommand)
        #expect(command.report(on: console) == .failed)
        #expect(lines == 1)
        let isQuiet = errno == ErrorNumber.brokenPipe
        #expect(errors.isEmpty == isQuiet, "\(errors)")
        if !isQuiet { #expect(errors.hasPrefix("error: The results are incomplete. "), "\(errors)") }
      }
    }
  }

  @Test("A failure of the last write ends the command with exit code 2")
  func lastWrite() throws {
    var errors = ""
    let console = Console(
      output: { _ in }, flush: { throw failure(ErrorNumber.noSpace) }, errors: { errors += $0 },
      terminal: .init(), now: { .zero })
    let command = try #require(try PerdureCommand.command(for: ["verify", path]) as? any ConsoleCommand)
    #expect(command.report(on: console) == .failed)
    #expect(errors.contains("the standard output"), "\(errors)")
  }

  @Test(
    "A full device or a closed standard output ends the command with exit code 2",
    arguments: [
      "verify store", "verify store --json", "stats store", "stats none --json", "dump store",
      "dump store --json", "compact store --json", "backup store copy", "backup store -",
      "salvage store salvaged", "restore store restored", "--help", "dump --help", "--version", "help-page",
      "--generate-completion-script bash",
    ])
  func refused(_ command: String) throws {
    for output in ["/dev/full", "&-"] {
      let run = try run("perdure \(command) >\(output)")
      #expect(run.status == 2 && !run.wasKilled, "\(command) >\(output)")
      #expect(run.errors.contains("the standard output"), "\(run.errors)")
      for name in ["copy", "salvaged", "restored"] { try Store.destroy(at: directory.file(name)) }
    }
    // The command did not write its output into a file of the store.
    #expect(try Outcome("verify", path).code == .success)
  }

  @Test(
    "A reader that closes the pipe ends the command without a message",
    arguments: ["dump store --json", "backup store -"])
  func reader(_ command: String) throws {
    let ignored = try run(
      "{ ( trap '' PIPE; perdure \(command); echo \"exit $?\" >&2 ) ; } | head -c 10 >part")
    #expect(ignored.errors == "exit 2\n", "\(ignored.errors)")
    let killed = try run("{ perdure \(command); echo \"exit $?\" >&2 ; } | head -c 10 >part")
    #expect(killed.errors.hasPrefix("exit "), "\(killed.errors)")
    #expect(killed.errors != "exit 0\n" && killed.errors.count <= 9, "\(killed.errors)")
  }

  @Test("Restoring from a closed standard input fails with an error that names it, and leaves no files")
  func closedInput() throws {
    let run = try run("perdure restore - restored <&-")
    #expect(run.status == 2 && !run.wasKilled)
    #expect(run.errors.contains("the standard input"), "\(run.errors)")
    #expect(try POSIXFileSystem().contents(of: directory.file("")) == ["store"])
  }

  @Test("All results are written to a file, in order")
  func whole() throws {
    let run = try run("perdure dump store --json >lines && perdure dump store --json | cat >piped")
    #expect(run.status == 0 && run.errors == "", "\(run.errors)")
    let lines = try Outcome("dump", path, "--json").lines
    for name in ["lines", "piped"] {
      let text = try String(contentsOfFile: directory.file(name), encoding: .utf8)
      #expect(text == lines.map { $0 + "\n" }.joined())
    }
  }
}
