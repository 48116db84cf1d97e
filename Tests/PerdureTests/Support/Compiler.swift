import ChildProcesses
import Foundation

/// The first swiftc in PATH, and the folder with the modules of these tests.
struct Compiler {
  let executable: String
  let modules: String

  static let found: Compiler? = {
    guard let modules, let executable else { return nil }
    return Compiler(executable: executable, modules: modules)
  }()

  private static var executable: String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/swiftc" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// The folder of modules beside the bundle that is running.
  private static var modules: String? {
    for start in [Bundle.main.bundlePath, CommandLine.arguments.first ?? ""] {
      var folder = URL(fileURLWithPath: start)
      for _ in 0..<4 {
        let modules = folder.appendingPathComponent("Modules").path
        if FileManager.default.fileExists(atPath: modules + "/Perdure.swiftmodule") { return modules }
        folder.deleteLastPathComponent()
      }
    }
    return nil
  }

  /// Compiles a source up to the stage that finds all errors, including errors of isolation.
  func compile(_ source: String) throws -> (status: Int32, output: String) {
    try run(source, ["-emit-sil", "-o", "/dev/null"])
  }

  /// Checks the types of a package manifest. Returns the messages.
  ///
  /// - Parameter version: The version in the manifest's first line, such as 6.1.
  func checkManifest(_ source: String, version: String) throws -> String {
    let tool = URL(fileURLWithPath: executable).resolvingSymlinksInPath()
    let toolchain = tool.deletingLastPathComponent().deletingLastPathComponent()
    let module = toolchain.appendingPathComponent("lib/swift/pm/ManifestAPI").path
    return try launch(source, ["-typecheck", "-I", module, "-package-description-version", version]).output
  }

  /// Checks the types of a source. Messages begin with location and kind, such as
  /// `file:line:column: error:`.
  func check(_ source: String) throws -> String {
    try run(source, ["-typecheck", "-diagnostic-style", "llvm"]).output
  }

  private func run(_ source: String, _ mode: [String]) throws -> (status: Int32, output: String) {
    try launch(
      source,
      mode + ["-parse-as-library"]
        + ["-load-plugin-executable", "\(modules)/../PerdureMacroPlugin-tool#PerdureMacroPlugin"]
        + ([modules] + Self.headers).flatMap { ["-I", $0] })
  }

  private func launch(_ source: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).swift")
    try Data(source.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let run = try ChildRun(
      URL(fileURLWithPath: executable), arguments + ["-swift-version", "6", file.path])
    return (run.status, run.output + run.errors)
  }

  /// The folders with module maps of C targets, which the modules import.
  private static let headers: [String] = {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")
    return ["CPerdureShims/include", "CLZ4"].map { sources.appendingPathComponent($0).path }
  }()
}
