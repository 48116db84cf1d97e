import Foundation
import Measuring

/// Runs a scenario in a separate process under callgrind.
struct Callgrind {
  /// A folder in memory for all files.
  private let folder: URL
  /// A closed store with the graph. Each scenario gets a copy.
  private let base: URL
  private let program: URL

  /// Makes the graph and a copy of this program in an existing folder.
  init(in folder: URL) throws {
    self.folder = folder
    base = folder.appendingPathComponent("graph.perdure")
    program = folder.appendingPathComponent("program")
    try BaseGraph.make(at: base.path)
    try Self.copyProgram(to: program)
  }

  /// The number of instructions of one operation of a scenario.
  ///
  /// - Throws: `CountingError` if valgrind is missing, if the scenario failed, or if its profile is
  ///   incomplete. Errors of the file system are thrown unchanged.
  func instructions(of scenario: Scenario) throws -> Double {
    // The position among all scenarios. So a scenario's folder has the same name in every run, even
    // if only some scenarios run.
    let place = Scenario.all.firstIndex { $0.title == scenario.title } ?? 0
    let own = folder.appendingPathComponent(String(format: "%04d", place))
    try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: own) }
    let store = own.appendingPathComponent("graph.perdure")
    try FileManager.default.copyItem(at: base, to: store)
    let profile = own.appendingPathComponent("profile")
    try run(scenario, store: store, profile: profile)
    let parts = try Self.parts(profile)
    return try PartCounts(parts, of: scenario.title).perOperation(scenario.repetitions)
  }

  private func run(_ scenario: Scenario, store: URL, profile: URL) throws {
    let arguments =
      [
        "valgrind", "--quiet", "--tool=callgrind", "--toggle-collect=\(CountedSymbols.counted)",
        "--dump-after=\(CountedSymbols.endOfPart)", "--callgrind-out-file=\(profile.path)", program.path,
      ] + ["count", scenario.title, "--store", store.path]
    try Self.run(arguments, for: scenario.title)
  }

  /// Copies this program without its debug information. Old versions of valgrind cannot read this
  /// information. The symbols of functions stay.
  private static func copyProgram(to copy: URL) throws {
    let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    try run(["strip", "--strip-debug", "-o", copy.path, program.path], for: "strip")
  }

  private static func run(_ arguments: [String], for purpose: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.environment = environment
    try process.run()
    process.waitUntilExit()
    if process.terminationReason == .exit, process.terminationStatus == 0 { return }
    let hint = process.terminationStatus == 127 ? " Install \(arguments[0])." : ""
    throw CountingError("\(purpose) ended with status \(process.terminationStatus).\(hint)")
  }

  /// The environment of each started process. It has few variables, because the environment affects
  /// the memory layout of the process. Only the two search paths are copied from this process.
  /// `SWIFT_DETERMINISTIC_HASHING` makes hashes equal in every run.
  private static var environment: [String: String] {
    let own = ProcessInfo.processInfo.environment
    var variables = own.filter { ["PATH", "LD_LIBRARY_PATH"].contains($0.key) }
    variables["SWIFT_DETERMINISTIC_HASHING"] = "1"
    return variables
  }

  /// The instruction counts of all parts, in the order in which the parts ended.
  private static func parts(_ profile: URL) throws -> [Int] {
    var counts: [Int] = []
    while true {
      let file = profile.path + ".\(counts.count + 1)"
      guard FileManager.default.fileExists(atPath: file) else { return counts }
      let text = try String(contentsOfFile: file, encoding: .utf8)
      counts.append(try CallgrindProfile(text, named: file).instructions)
    }
  }
}
