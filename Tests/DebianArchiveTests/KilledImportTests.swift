import DebianArchiveGraph
import Foundation
import Perdure
import PerdureLog
import PerdureTestSupport
import Testing

/// Runs the example as a process of its own and kills it, again and again, until the import is through.
@Suite("A killed import")
struct KilledImportTests {
  private static let batch = 10
  private static let stanzaCount = 1_200
  private static let kills = 50

  @Test("Holds every acknowledged batch and at most the one in flight, whole, and goes on from there")
  func killed() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "perdure-kill-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let archive = folder.appendingPathComponent("Packages")
    try Self.makeArchive().write(to: archive, atomically: true, encoding: .utf8)
    let store = folder.appendingPathComponent("store.perdure").path
    var random = SeededGenerator.forTest("killed import")
    var there = 0
    var killed = 0
    for attempt in 0..<(8 * Self.kills) where killed < Self.kills {
      if there == Self.stanzaCount {
        // On a fast machine the import is through before it was killed often enough: once more.
        try FileManager.default.removeItem(atPath: store)
        there = 0
      }
      let run = try KilledRun(archive: archive.path, store: store, batch: Self.batch)
      // Early, late, and in the middle of saves: a number of saves to wait for, and then a moment more.
      let saves = attempt % 3 == 0 ? 0 : Int.random(in: 0...2, using: &random)
      let seen = try run.kill(afterSaves: saves, microseconds: .random(in: 0...4_000, using: &random))
      killed += run.wasKilled ? 1 : 0
      guard FileManager.default.fileExists(atPath: store) else { continue }
      // What a look into the store has found is as good as acknowledged.
      there = try check(store, acknowledged: max(there, seen))
    }
    #expect(killed == Self.kills)
    try KilledRun(archive: archive.path, store: store, batch: Self.batch).finish()
    _ = try check(store, acknowledged: Self.stanzaCount)
  }

  /// Runs the command `perdure verify`, as somebody would who asks whether a store is well.
  private func verify(_ path: String) throws {
    let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    let process = Process()
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("perdure")
    process.arguments = ["verify", path]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
    #expect(text.contains("graph: ") && text.hasSuffix(": clean\n"), "\(text)")
  }

  /// The store is well, and holds a whole number of batches with all that was acknowledged, and at most one
  /// more. Gives how many packages there are.
  private func check(_ path: String, acknowledged: Int) throws -> Int {
    let inspection: StoreInspection
    do {
      inspection = try StoreInspection(at: path)
    } catch {
      // Killed before the model was stored: there is nothing yet.
      #expect(acknowledged == 0, "\(error)")
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

/// One run of the example's import.
private final class KilledRun {
  private let process = Process()
  private let output = Pipe()
  private(set) var wasKilled = false

  init(archive: String, store: String, batch: Int) throws {
    let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("DebianArchive")
    process.arguments = [archive, "--store", store, "--batch", "\(batch)", "--import-only"]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  /// Waits for some saves and a moment more, then kills. Gives the last stanza that was acknowledged.
  func kill(afterSaves saves: Int, microseconds: UInt32) throws -> Int {
    var text = ""
    while text.count(where: { $0 == "\n" }) < saves {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { break }
      text += String(decoding: data, as: UTF8.self)
    }
    usleep(microseconds)
    wasKilled = process.isRunning
    if wasKilled { Foundation.kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    text += String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return Self.lastSaved(in: text)
  }

  func finish() throws {
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
  }

  private static func lastSaved(in text: String) -> Int {
    text.split(separator: "\n").compactMap { $0.hasPrefix("saved ") ? Int($0.dropFirst(6)) : nil }.max() ?? 0
  }
}
