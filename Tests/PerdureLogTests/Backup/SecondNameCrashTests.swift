import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Power cuts in a store whose files have second names")
struct SecondNameCrashTests {
  private static func options(_ disk: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = disk
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 1024
    options.reserveBytes = 0
    options.compactsAutomatically = false
    options.checkpoints = .manual
    return options
  }

  /// Two folders with names for the same files. Their store was closed, or abandoned as after a
  /// kill.
  private func linkedStores(isKilled: Bool) throws -> CrashImage {
    let disk = SimulatedFileSystem()
    let store = try Store(at: "/original", options: Self.options(disk))
    let rows = try store.keyspace("rows", .dense)
    for id in 0..<30 as Range<UInt64> { try store.write { try $0.put([UInt8(id), 0], id: id, in: rows) } }
    try store.checkpoint()
    for id in 0..<4 as Range<UInt64> { try store.write { try $0.put([UInt8(id), 1], id: id, in: rows) } }
    if isKilled { store.engine.abandon() } else { try store.close() }
    try disk.createDirectory("/copy")
    for name in try disk.contents(of: "/original") {
      try disk.link("/original/" + name, to: "/copy/" + name)
    }
    return disk.currentImage
  }

  private func content(_ path: String, _ disk: any FileSystem) throws -> [UInt64: [UInt8]] {
    let store = try Store(at: path, options: Self.options(disk))
    defer { try? store.close() }
    #expect(try store.verify().isClean)
    var content: [UInt64: [UInt8]] = [:]
    try store.snapshot().forEach(in: store.keyspace("rows", .dense)) { (id: UInt64, value: RawSpan) in
      content[id] = value.withUnsafeBytes { Array($0) }
      return true
    }
    return content
  }

  private func original(_ disk: any FileSystem) throws -> [String: [UInt8]] {
    try disk.files(in: "/original").filter { $0.key != "LOCK" }
  }

  @Test(
    "After any power cut in the copy, the original is unchanged, and no durable commit is lost",
    arguments: [false, true])
  func everyCrash(isKilled: Bool) throws {
    let image = try linkedStores(isKilled: isKilled)
    let (before, start) = try (original(image.fileSystem()), content("/copy", image.fileSystem()))
    let disk = image.fileSystem()
    // The contents after each commit of the copy.
    var contents = [start]
    let store = try Store(at: "/copy", options: Self.options(disk))
    let rows = try store.keyspace("rows", .dense)
    for step in 1...6 as ClosedRange<UInt8> {
      var next = contents[contents.count - 1]
      next[UInt64(step)] = [step, 2]
      contents.append(next)
      disk.marker.begin(Int(step))
      try store.write(durability: .powerLoss) { try $0.put([step, 2], id: UInt64(step), in: rows) }
      disk.marker.acknowledge(Int(step))
      if step == 3 { try store.checkpoint() }
      if step == 4 { try store.compact() }
    }
    try store.close()
    var random = SeededGenerator.forTest("second names and power cuts")
    var explorer = CrashExplorer(seed: random.next())
    explorer.imagesPerOperationMax = 24
    explorer.makesStaleBytes = true
    let report = explorer.examine(disk.journal) { image, context in
      let left = image.fileSystem()
      guard try original(left) == before else { throw Changed(what: "the original") }
      let found = try content("/copy", left)
      let least = context.acknowledged.max() ?? 0
      guard contents[least...].contains(found) else { throw Changed(what: "the copy after commit \(least)") }
      guard try original(left) == before, try content("/original", left) == start else {
        throw Changed(what: "the original, by the recovery of the copy")
      }
    }
    #expect(report.violation == nil, "\(report)")
    #expect(report.isComplete && report.distinctImageCount > 100, "\(report.summary)")
  }

  private struct Changed: Error { let what: String }
}
