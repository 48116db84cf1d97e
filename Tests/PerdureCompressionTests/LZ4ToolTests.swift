import ChildProcesses
import Foundation
import PerdureCompression
import PerdureTestSupport
import Testing

private let tool = ["/usr/bin/lz4", "/usr/local/bin/lz4", "/opt/homebrew/bin/lz4"]
  .first { FileManager.default.isExecutableFile(atPath: $0) }

@Suite("Frames of the lz4 tool", .enabled(if: tool != nil, "the lz4 tool is not installed"))
struct LZ4ToolTests {
  @Test(
    "open to what went in",
    arguments: [
      ["-1"], ["-9"], ["-BD"], ["-BD", "-B4"], ["-BD", "-B5", "-9"], ["-B4", "-BX"],
      ["-B7", "--content-size"],
      ["-B6", "--no-frame-crc"],
    ])
  func opens(options: [String]) throws {
    let seed = SeededGenerator.seedFromEnvironment()
    var random = SeededGenerator(seed: seed)
    let bytes = sample(700_000, using: &random)
    let folder = FileManager.default.temporaryDirectory.appending(path: "perdure-lz4-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let plain = folder.appending(path: "plain")
    let packed = folder.appending(path: "packed.lz4")
    try Data(bytes).write(to: plain)
    let run = try ChildRun(
      URL(filePath: try #require(tool)), ["-q", "-f"] + options + [plain.path, packed.path])
    #expect(run.status == 0, "\(run.errors)")
    let stream = Array(try Data(contentsOf: packed))
    #expect(try content(of: stream, pieceSize: 10_007) == bytes, "seed \(seed)")
    #expect(try content(of: stream, decoder: LZ4BlockDecoder.self) == bytes, "seed \(seed)")
  }
}
