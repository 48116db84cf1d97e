import Measuring
import Testing

// Imports single types only, because Foundation also declares a `Measurement`.
import struct Foundation.Data
import class Foundation.FileManager
import class Foundation.Thread
import struct Foundation.UUID

@testable import LogBenchmark

@Suite("Report of the engine's benchmark")
struct ReportTests {
  private func measurement(
    _ engine: String, _ workload: Workload, ns: Double, n: Int = 1000, p9999: UInt64 = 0,
    details: [String: Double] = [:]
  ) -> Measurement {
    Measurement(
      engine: engine, workload: workload.rawValue, shape: Shape.hashed100.rawValue, n: n, valueBytes: 100,
      operations: 1, nsPerOp: ns, cpuNsPerOp: 2 * ns, p50: 1, p99: 2, p999: 3, p9999: p9999, maxNs: 5,
      diskBytes: 100, memoryBytes: 50, details: details)
  }

  @Test("New results replace only results of the same engine, workload and number of records")
  func merging() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = ResultFiles(folder: folder)
    try files.merge([measurement("Perdure", .readRandom, ns: 1), measurement("LMDB", .readRandom, ns: 2)])
    try files.merge([
      measurement("Perdure", .readRandom, ns: 3), measurement("Perdure", .readRandom, ns: 4, n: 2000),
    ])
    #expect(Set(try files.measurements().map(\.nsPerOp)) == [2, 3, 4])
    #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("log-hashed-100.svg").path))
  }

  @Test("A row compares Perdure with the best peer and the floor, and wins are bold")
  func ratios() throws {
    let all = [
      measurement("floor", .readRandom, ns: 10), measurement("Perdure", .readRandom, ns: 20),
      measurement("LMDB", .readRandom, ns: 40), measurement("SQLite", .readRandom, ns: 80),
    ]
    let table = try #require(ResultTable.all(all, .elapsed).first)
    #expect(table.text.contains("| read random | 10 ns | 20 ns | 40 ns | 80 ns | **0.50** | 2.00 | 1 |"))
    let processor = try #require(ResultTable.all(all, .processor).first)
    #expect(processor.text.contains("| read random | 20 ns | 40 ns |"))
  }

  @Test(
    "The summary omits the floor, and counts the rows in which Perdure is at least as good as the best peer")
  func summary() {
    let all = [
      measurement("floor", .readRandom, ns: 1), measurement("Perdure", .readRandom, ns: 20),
      measurement("LMDB", .readRandom, ns: 40), measurement("Perdure", .getMany64, ns: 30),
      measurement("LMDB", .getMany64, ns: 20), measurement("Perdure", .ycsbB, ns: 5),
    ]
    #expect(
      ResultTable.summary(all, .elapsed) == """
        | 1000 records | Perdure | LMDB |
        | --- | ---: | ---: |
        | read random | 20 ns | 40 ns |

        Perdure is at least as good as the best of them in 1 of 2 rows, by elapsed time.
        """)
  }

  @Test("The table shows whether each goal is met, is not met, or was not measured")
  func goals() {
    let all = [
      measurement("Perdure", .readRandom, ns: 900), measurement("Perdure", .readMissing, ns: 299),
      measurement("LMDB", .readRandom, ns: 700),
    ]
    let table = Goal.table(ResultSet(all, .elapsed), [])
    #expect(table.contains("| read random, hashed-100 | – | 700 ns (LMDB) | 850 ns | 900 ns | **not met** |"))
    #expect(table.contains("| read missing, hashed-100 | – | – | 300 ns | 299 ns | met |"))
    #expect(table.contains("| scan, per entry, hashed-100 | – | – | 60 ns | – | not measured |"))
  }

  @Test("Write amplification divides written by given bytes, except for memory-mapped writes")
  func writeAmplification() {
    let details = ["written_bytes": 300.0, "given_bytes": 100.0]
    #expect(measurement("LMDB", .scan, ns: 1, details: details).writeAmplification("given_bytes") == 3)
    #expect(
      measurement("LMDB WRITEMAP", .scan, ns: 1, details: details).writeAmplification("given_bytes") == nil)
    #expect(measurement("LMDB", .scan, ns: 1, details: details).writeAmplification("record_bytes") == nil)
  }

  @Test("Only the block between the marks of a document is replaced, and a missing mark is an error")
  func blocks() throws {
    let text = "a\n<!-- log -->\nold\n<!-- /log -->\nb\n"
    let new = try MarkedBlock("log").replaced(in: text, with: "new\nrows")
    #expect(new == "a\n<!-- log -->\nnew\nrows\n<!-- /log -->\nb\n")
    #expect(try MarkedBlock("log").replaced(in: new, with: "new\nrows") == new)
    #expect(MarkedBlock("log").begins(in: text) && !MarkedBlock("goals").begins(in: text))
    for text in ["", "<!-- log -->\n", "<!-- /log -->\n<!-- log -->\n"] {
      #expect(throws: MarkedBlock.MissingMark.self) {
        try MarkedBlock("log").replaced(in: text, with: "")
      }
    }
  }

  @Test("The table of objects has a row for each figure in the file of results")
  func objects() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = ResultFiles(folder: folder)
    #expect(try files.objectReport() == nil)
    let report = ObjectReport(
      settings: ["one"],
      figures: [
        ObjectFigure(name: "get", unit: "ns", plain: 8.84, perdure: 11.3, limit: 13.84),
        ObjectFigure(name: "substitute", unit: "ns", plain: 0, perdure: 1291.15, limit: 5000),
        ObjectFigure(name: "row", unit: "bytes", plain: 0, perdure: 112),
      ])
    try report.json().write(to: folder.appendingPathComponent("objects.json"))
    #expect(
      try files.objectReport()?.table == """
        | | unit | plain class | Perdure | at most |
        |---|---|--:|--:|--:|
        | get | ns | 8.8 | 11.3 | 13.8 |
        | substitute | ns | – | 1291.2 | 5000.0 |
        | row | bytes | – | 112.0 | – |
        """)
  }

  @Test("Files of reserved space are counted separately")
  func reserve() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let bytes = Data(repeating: 7, count: 65_536)
    try bytes.write(to: folder.appendingPathComponent("1.segment"))
    try bytes.write(to: folder.appendingPathComponent("1.reserve"))
    try bytes.write(to: folder.appendingPathComponent("2.reserve"))
    // Both sizes count blocks, whose size and time of allocation depend on the file system. Two
    // equal files take twice the blocks of one file.
    let (disk, reserved) = (
      Resources.diskBytes(of: folder.path), Resources.reservedBytes(of: folder.path)
    )
    #expect(reserved == 2 * disk)
  }

  @Test("Skipped operations count neither as latencies nor as elapsed time")
  func skipping() {
    var recorder = LatencyRecorder()
    recorder.lap()
    let before = recorder.elapsed.nanoseconds
    recorder.skip { Thread.sleep(forTimeInterval: 0.02) }
    let after = recorder.elapsed.nanoseconds
    #expect(after == before)
    #expect(recorder.histogram.count == 1)
  }
}
