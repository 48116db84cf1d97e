import Foundation
import PerdureTestSupport
import Testing

/// The tested program. It is next to the test program if the whole package was built.
private let program = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
  .deletingLastPathComponent().appendingPathComponent("perdure-prove").path

@Suite("The command `perdure-prove`", .enabled(if: FileManager.default.isExecutableFile(atPath: program)))
struct ProveCommandTests {
  /// Runs the program to its end.
  private func run(_ arguments: [String]) throws -> (status: Int32, lines: [String]) {
    let directory = try TemporaryDirectory()
    let path = directory.file("output")
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    let text = try String(contentsOf: URL(fileURLWithPath: path), encoding: .utf8)
    return (process.terminationStatus, text.split(separator: "\n").map(String.init))
  }

  @Test(
    "Campaigns run one after the other, each prints its memory, and the last line is one JSON object")
  func campaigns() throws {
    let (status, lines) = try run([
      "--only", "failures", "hostile", "--scale", "0.0001", "--seed", "1",
    ])
    #expect(status == 0)
    #expect(lines.first == "PERDURE_SEED=1, scale 0.0001")
    #expect(lines.filter { $0.contains(" MiB of memory") }.count == 2)
    let counts = try #require(
      JSONSerialization.jsonObject(with: Data((lines.last ?? "").utf8)) as? [String: Int])
    // The names that a proof promises to readers of its last line.
    #expect(
      Set(counts.keys) == [
        "crash_states", "recovery_crashes", "io_failures", "bit_flips", "mutations", "model_operations",
        "kills",
        "violations",
      ])
    #expect(
      counts["violations"] == 0 && (counts["io_failures"] ?? 0) > 0 && (counts["mutations"] ?? 0) > 1000)
  }

  @Test(
    "A part is tried alone; an unknown part is an error of the command, not a finding",
    arguments: [("hostile", "record|none"), ("failures", "put, powerLoss|EIO|30000|once"), ("models", "one")])
  func part(_ campaign: String, _ none: String) throws {
    let arguments = ["--scale", "0.0001", "--seed", "1"]
    let part = "a little of everything|EIO|5|once"
    let (status, lines) = try run(["--only", "failures", "--part", part] + arguments)
    #expect(status == 0)
    #expect(lines.contains("  a little of everything: tried"), "\(lines)")
    let (failed, others) = try run(["--only", campaign, "--part", none] + arguments)
    #expect(failed == 64)
    #expect(!others.contains { $0.contains("VIOLATION") || $0.contains("violations") }, "\(others)")
  }
}
