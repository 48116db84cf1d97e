import ArgumentParser
import ChildProcesses
import Foundation
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Suite("Version, help, completions and documentation page of the commands")
struct CommandTreeTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The text of a command line that ends with a message, such as the version; otherwise empty.
  private func printed(_ arguments: String...) throws -> String {
    do {
      var command = try PerdureCommand.command(for: arguments)
      try command.run()
    } catch {
      return PerdureCommand.fullMessage(for: error)
    }
    return ""
  }

  @Test("--version prints the newest version of the changelog, or a development version before a release")
  func version() throws {
    #expect(try printed("--version") == PerdureVersion.number)
    let changelog = try String(contentsOf: Self.root.appending(path: "CHANGELOG.md"), encoding: .utf8)
    let newest = changelog.split(separator: "\n").first { $0.hasPrefix("## ") }
    if newest == "## Unreleased" {
      #expect(PerdureVersion.number.hasSuffix("-dev"))
    } else {
      #expect(newest?.split(separator: " ").dropFirst().first.map(String.init) == PerdureVersion.number)
    }
  }

  @Test("The documentation page equals the help texts (update: `make command-line-page`)")
  func page() throws {
    let page = try String(contentsOf: Self.root.appending(path: HelpPage.path), encoding: .utf8)
    #expect(page == HelpPage.text)
    for name in ["verify", "query", "model show", "backup"] {
      #expect(page.contains("\n### perdure \(name)\n"))
    }
    #expect(!page.contains("help-page"))
  }

  @Test("Completion scripts contain the names of commands and values", arguments: ["bash", "zsh", "fish"])
  func completions(shell: String) throws {
    let script = try printed("--generate-completion-script", shell)
    for name in ["verify", "query", "model", "show", "format", "markdown"] {
      #expect(script.contains(name), "\(name)")
    }
  }

  @Test(
    "bash accepts the completion script for bash",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/bash")))
  func bash() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("completions")
    try printed("--generate-completion-script", "bash").write(toFile: file, atomically: true, encoding: .utf8)
    let run = try ChildRun(URL(fileURLWithPath: "/bin/bash"), ["-n", file])
    #expect(run.status == 0 && run.errors == "")
  }

  @Test("Every command has a lowercase name and a short abstract")
  func help() {
    func check(_ command: any ParsableCommand.Type) {
      let configuration = command.configuration
      let name = configuration.commandName ?? ""
      #expect(!name.isEmpty && name == name.lowercased())
      #expect(configuration.abstract.hasSuffix(".") && configuration.abstract.count <= 80, "\(name)")
      for next in configuration.subcommands { check(next) }
    }
    check(PerdureCommand.self)
  }

  @Test("The error for an unknown nested subcommand suggests the nearest name")
  func wrongName() throws {
    let error = #expect(throws: (any Error).self) { try Outcome("model", "shw", "x") }
    let message = PerdureCommand.message(for: try #require(error))
    #expect(
      message
        == "There is no subcommand \"shw\". Did you mean show? The subcommands are show, diagram, generate.")
  }
}
