import ChildProcesses
import Foundation
import Perdure
import PerdureLog
import PerdureTestSupport
import Testing

/// Runs the example as a separate process that sends itself SIGKILL during a change of its files.
/// The process ends at a random file call of an import. The calls are counted, so the machine's
/// speed does not matter. The next process continues with the same store, until the import is
/// complete. The test starts dozens of processes, and takes some seconds of processor time.
@Suite("A killed import")
struct KilledImportTests {
  private static let batch = 5
  private static let stanzaCount = 60
  private static let kills = LongRun.count(20, long: 50)

  private enum Phase: CaseIterable {
    case creating
    case reopening
    case importing
    case closing
  }

  @Test("The store has every acknowledged batch and at most one more, and the import resumes")
  func killed() throws {
    let folder = try TemporaryDirectory()
    let (archive, store) = (folder.file("Packages"), folder.file("store.perdure"))
    try Self.makeArchive().write(toFile: archive, atomically: true, encoding: .utf8)
    let whole = try ImportRun(archive, store, batch: Self.batch, killAt: 0)
    #expect(!whole.wasKilled)
    let (opened, closed) = (try #require(whole.changes("opened")), try #require(whole.changes("closed")))
    #expect(opened > 0 && closed > opened + Self.stanzaCount / Self.batch)
    var random = SeededGenerator.forTest("killed import")
    var state = (there: Self.stanzaCount, hasOpened: true)
    var struck: [Phase: Int] = [:]
    for _ in 0..<400 where Self.isWanting(struck) {
      // The import is complete. In half of the cases, the next import starts without a store.
      if state.there == Self.stanzaCount, random.chance(50) {
        try FileManager.default.removeItem(atPath: store)
        state = (0, false)
      }
      let moment = Int.random(in: 1...(random.chance(50) ? opened : closed), using: &random)
      let run = try ImportRun(archive, store, batch: Self.batch, killAt: moment)
      if run.wasKilled { struck[Self.phase(of: run, hadOpened: state.hasOpened), default: 0] += 1 }
      state.hasOpened = state.hasOpened || run.changes("opened") != nil
      // Packages that an earlier check found in the store count as acknowledged.
      state.there = try check(store, acknowledged: max(state.there, run.lastSaved), state.hasOpened)
    }
    #expect(!Self.isWanting(struck), "\(struck)")
    #expect(try !ImportRun(archive, store, batch: Self.batch, killAt: 0).wasKilled)
    #expect(try check(store, acknowledged: Self.stanzaCount, true) == Self.stanzaCount)
  }

  /// Whether fewer than `kills` processes were killed, or a phase had no kill yet.
  private static func isWanting(_ struck: [Phase: Int]) -> Bool {
    struck.values.reduce(0, +) < kills || struck.count < Phase.allCases.count
  }

  private static func phase(of run: ImportRun, hadOpened: Bool) -> Phase {
    if run.changes("imported") != nil { return .closing }
    if run.changes("opened") != nil { return .importing }
    return hadOpened ? .reopening : .creating
  }

  /// Checks the store with the command `perdure verify`.
  private func verify(_ path: String) throws {
    let run = try ChildRun(built: "perdure", ["verify", path])
    #expect(run.status == 0 && !run.wasKilled, "\(run.output)\(run.errors)")
    #expect(run.output.contains("graph: ") && run.output.hasSuffix(": clean\n"), "\(run.output)")
  }

  /// Checks that the store is intact and has only whole batches: all acknowledged batches and at
  /// most one more. Returns the number of packages.
  private func check(_ path: String, acknowledged: Int, _ hasOpened: Bool) throws -> Int {
    let inspection: StoreInspection
    do {
      inspection = try StoreInspection(at: path)
    } catch {
      // The process was killed before it stored the model, so no graph exists yet.
      #expect(acknowledged == 0 && !hasOpened, "\(error)")
      return 0
    }
    try verify(path)
    let counts = Dictionary(uniqueKeysWithValues: inspection.objectCounts.map { ($0.entity, $0.count) })
    let packages = counts["Package"] ?? 0
    #expect(packages >= acknowledged)
    #expect(packages <= acknowledged + Self.batch)
    #expect(packages % Self.batch == 0)
    #expect(counts["Dependency"] == (0..<packages).reduce(0) { $0 + Self.dependencyCount(of: $1) })
    return packages
  }

  private static func dependencyCount(of package: Int) -> Int { package % 4 }

  private static func makeArchive() -> String {
    (0..<stanzaCount).map { number in
      let targets = (0..<dependencyCount(of: number)).map {
        "package-\((number * 7 + $0 * 13) % stanzaCount)"
      }
      let depends = targets.isEmpty ? "" : "Depends: \(targets.joined(separator: ", "))\n"
      return """
        Package: package-\(number)
        Version: 1.\(number)
        Architecture: all
        Maintainer: Keeper \(number % 17) <keeper\(number % 17)@example.org>
        Section: section-\(number % 5)
        \(depends)Tag: role::\(number % 3), use::test
        Description: the package with the number \(number)

        """
    }.joined(separator: "\n")
  }
}

/// One run of the example's import, until its end or until the change at which it kills itself.
private struct ImportRun {
  private let lines: [Substring]
  let wasKilled: Bool

  init(_ archive: String, _ store: String, batch: Int, killAt moment: Int) throws {
    let run = try ChildRun(
      built: "DebianArchive", [archive, "--store", store, "--batch", "\(batch)", "--import-only"],
      environment: ["PERDURE_DEMO_KILL_AT": "\(moment)"])
    lines = run.output.split(separator: "\n")
    wasKilled = run.wasKilled
    #expect(run.status == (wasKilled ? SIGKILL : 0), "\(run.output)\(run.errors)")
  }

  /// The number of acknowledged stanzas.
  var lastSaved: Int { numbers("saved").max() ?? 0 }

  /// The number of file changes when the program reached a state; nil if it did not.
  func changes(_ what: String) -> Int? { numbers(what).first }

  private func numbers(_ what: String) -> [Int] {
    lines.compactMap { $0.hasPrefix(what + " ") ? Int($0.dropFirst(what.count + 1)) : nil }
  }
}
