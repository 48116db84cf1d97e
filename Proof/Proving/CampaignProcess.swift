import PerdureFileIO
import PerdureTestSupport

// Runs a campaign in a separate process, and watches that process.
//
// If the process fails by a trap, a signal, a hang or an error, the failure is a violation. The
// violation contains the campaign's last steps and a command that repeats them. Later campaigns
// still run. Before the process ends, it writes its result to a file, not to a pipe. It also writes
// its current step to a mapped file, which this process reads (`ProofDesk`).

/// A campaign that runs in a separate process.
package struct CampaignProcess: Sendable {
  /// The folder for the result of the process, its current step (`ProofDesk`), and its temporary
  /// files.
  package struct Folder: Sendable {
    package let path: String

    package init(_ path: String) { self.path = path }

    package var desk: String { path + "/desk" }
    var result: String { path + "/result" }

    /// Writes the result of a campaign, first under another name, so that no process reads an
    /// incomplete file.
    package func write(_ result: CampaignResult) throws {
      let fileSystem = POSIXFileSystem()
      let file = try fileSystem.open(self.result + ".new", .create)
      try file.write(Array(result.text.utf8), at: 0)
      try file.close()
      try fileSystem.rename(self.result + ".new", to: self.result)
    }

    /// The result; nil if no complete result was written.
    func read() throws -> CampaignResult? {
      guard try POSIXFileSystem().kind(of: result) == .file else { return nil }
      let file = try POSIXFileSystem().open(result, .read)
      return CampaignResult(text: String(decoding: try file.read(Int(file.size()), at: 0), as: UTF8.self))
    }
  }

  /// The path of the program to run.
  package var executable: String
  /// Returns the arguments of the program for a folder. The program writes its result and its
  /// current step into the folder.
  package var arguments: @Sendable (Folder) -> [String]
  /// The number of checks without progress after which the process is killed.
  package var looksMax: Int
  /// The time between two checks of the process.
  package var pause: Duration

  package init(
    _ executable: String, looksMax: Int, pause: Duration = .milliseconds(100),
    arguments: @escaping @Sendable (Folder) -> [String]
  ) {
    precondition(looksMax > 0, "looksMax must be positive.")
    (self.executable, self.arguments) = (executable, arguments)
    (self.looksMax, self.pause) = (looksMax, pause)
  }

  /// Runs the campaign until its process ends in any way.
  ///
  /// - Returns: The result, and the maximum resident memory of the process in bytes. If the process
  ///   fails, the result is one violation.
  /// - Throws: `NoSuchPart` if the campaign does not have the part of the plan. Errors of starting
  ///   or watching the process are thrown unchanged.
  package func run(
    _ campaign: some Campaign, _ plan: ProofPlan
  ) async throws -> (result: CampaignResult, peakBytes: Int) {
    let directory = try TemporaryDirectory()
    let folder = Folder(directory.path)
    try ProofDesk.make(folder.desk)
    // A killed or trapped process does not remove its files. They are removed with this folder,
    // which exists until the process has ended.
    let child = try ChildProcess(executable, arguments(folder), environment: ["TMPDIR": folder.path])
    defer { withExtendedLifetime(directory) {} }
    let (end, peakBytes) = try await wait(for: child, folder)
    let notes = try ProofDesk.Look(folder.desk).notes
    if end == .exit(0), let result = try folder.read() { return (result, peakBytes) }
    if end == .exit(NoSuchPart.exitCode), plan.part != nil {
      throw NoSuchPart("The campaign \(campaign.name) has no such part.")
    }
    var result = CampaignResult()
    let at = notes.isEmpty ? "" : ", at \(notes.count == 1 ? "" : "one of ")" + notes.joined(separator: "; ")
    var commands = notes.map { plan.command(for: campaign, part: $0) }
    if commands.isEmpty { commands = [plan.command(for: campaign)] }
    result.violations = [
      ProofViolation("the process \(describe(end))\(at)", command: commands.joined(separator: "\n  or: "))
    ]
    return (result, peakBytes)
  }

  /// How a process ended.
  private enum End: Equatable {
    case exit(Int32)
    case signal(Int32)
    case silence
  }

  private func wait(for child: ChildProcess, _ folder: Folder) async throws -> (End, Int) {
    var (beats, looks) = (UInt64(0), 0)
    while true {
      if let (end, peakBytes) = child.look(waits: false) { return (Self.end(end), peakBytes) }
      let seen = try ProofDesk.Look(folder.desk).beats
      (beats, looks) = (seen, seen == beats ? looks + 1 : 0)
      // If this task is cancelled, the pause ends early, and the process is killed.
      let isCancelled = await !wait()
      guard looks >= looksMax || isCancelled else { continue }
      child.sendKill()
      guard let (end, peakBytes) = child.look(waits: true) else { throw Violation("a process is gone") }
      // The process may have ended since the last check.
      return (end == ChildProcess.killed ? .silence : Self.end(end), peakBytes)
    }
  }

  private func wait() async -> Bool {
    do { try await Task.sleep(for: pause) } catch { return false }
    return true
  }

  private static func end(_ end: ChildProcess.End) -> End {
    switch end {
    case .exit(let code): .exit(code)
    case .signal(let number): .signal(number)
    }
  }

  private func describe(_ end: End) -> String {
    switch end {
    case .exit(0): "ended without a result"
    case .exit(let code): "ended with the code \(code)"
    case .signal(let number): "was ended by signal \(number)"
    case .silence: "made no progress for \(pause * looksMax), and was killed"
    }
  }
}
