import PerdureFileIO
import PerdureTestSupport
import Testing

/// A number in a file. A rename replaces the file. Opening completes an interrupted replacement if
/// the copy is complete. A copy is complete if its second byte is the complement of the first.
private struct TinyCell {
  let number: Int?

  static func set(_ number: UInt8, on fileSystem: SimulatedFileSystem, syncs: Bool = true) throws {
    let copy = try fileSystem.open("/copy", .create)
    try copy.write([number, ~number], at: 0)
    if syncs { try copy.sync(.full) }
    try fileSystem.rename("/copy", to: "/cell")
    try fileSystem.syncDirectory("/")
  }

  /// - Parameter syncs: Whether the recovery syncs the cell before it removes the copy.
  init(recovering fileSystem: SimulatedFileSystem, syncs: Bool = true) throws {
    if try fileSystem.kind(of: "/copy") != nil {
      let copy = try fileSystem.open("/copy", .readWrite)
      if let number = try Self.number(in: copy) {
        // Overwrites the cell instead of renaming the copy. An overwrite requires a sync.
        let cell = try fileSystem.open(
          "/cell", try fileSystem.kind(of: "/cell") == nil ? .create : .readWrite)
        try cell.write([UInt8(number), ~UInt8(number)], at: 0)
        if syncs { try cell.sync(.full) }
        if syncs { try fileSystem.syncDirectory("/") }
      }
      try fileSystem.remove("/copy")
      try fileSystem.syncDirectory("/")
    }
    number = try fileSystem.kind(of: "/cell") == nil ? nil : Self.number(in: fileSystem.open("/cell", .read))
  }

  private static func number(in file: any File) throws -> Int? {
    let bytes = try file.read(Int(try file.size()), at: 0)
    return bytes.count == 2 && bytes[0] == ~bytes[1] ? Int(bytes[0]) : nil
  }
}

private struct Lost: Error {}

@Suite("Crashes during recovery")
struct RecoveryExplorationTests {
  private func run(
    depth: Int, oneIn: Int = 1, syncs: Bool, only: CrashPlace? = nil
  ) throws -> CrashReport {
    var explorer = CrashExplorer(seed: 3)
    explorer.only = only
    explorer.recoveryDepth = depth
    explorer.recoveriesOneIn = oneIn
    return try explorer.explore { fileSystem, marker in
      for number in 1...4 {
        try TinyCell.set(UInt8(number), on: fileSystem)
        marker.promise(number)
      }
    } recover: { fileSystem, _ in
      let cell = try TinyCell(recovering: fileSystem, syncs: syncs)
      if let number = cell.number { fileSystem.marker.promise(number) }
      return cell
    } verify: { cell, context in
      guard cell.number ?? 0 >= context.acknowledged.max() ?? 0 else { throw Lost() }
    }
  }

  @Test("A missing sync in a recovery is found only by crashes during the recovery")
  func unsyncedRecovery() throws {
    #expect(try run(depth: 0, syncs: false).violation == nil)
    let violation = try #require(try run(depth: 1, syncs: false).violation)
    #expect(violation.recoveries == 1)
    #expect(violation.description.contains("of recovery 1"))
    #expect(violation.trace.contains { $0.contains("recovery 1 begins") })
    #expect(violation.trace.first?.contains("create /copy") == true)
  }

  @Test("The place of a crash during recovery repeats only this crash and the crash before it")
  func only() throws {
    let violation = try #require(try run(depth: 1, syncs: false).violation)
    #expect(violation.description.contains("explorer.seed = 3; explorer.only = \"\(violation.place)\""))
    let report = try run(depth: 1, syncs: false, only: violation.place)
    let again = try #require(report.violation)
    #expect(
      again.place == violation.place && again.reason == violation.reason && again.trace == violation.trace)
    #expect(again.image == violation.image && report.checkedCount == 2)
    try run(depth: 1, syncs: true, only: violation.place).check()
  }

  @Test("Distinct disks are counted by the number of interrupted recoveries")
  func depths() throws {
    var before = try run(depth: 0, syncs: true)
    #expect(before.recoveryCount == 0)
    for depth in 1...2 {
      let report = try run(depth: depth, syncs: true)
      try report.check()
      #expect(report.distinctImageCounts.count == depth + 1)
      #expect(report.distinctImageCount > before.distinctImageCount)
      #expect(report.recoveryCount > before.recoveryCount)
      before = report
    }
  }

  @Test("On request, only a sample of the recoveries is interrupted")
  func sampling() throws {
    let few = try run(depth: 0, oneIn: 1, syncs: true)
    #expect(few.recoveryCount == 0)
    var explorer = CrashExplorer(seed: 1)
    explorer.recoveryDepth = 1
    explorer.imagesPerOperationMax = 16
    func recoveries(oneIn: Int) throws -> Int {
      explorer.recoveriesOneIn = oneIn
      return try explorer.explore { fileSystem, _ in
        for number in 0..<20 { try fileSystem.createDirectory("/\(number)") }
      } recover: { _, _ in
      } verify: { _, _ in
      }.recoveryCount
    }
    let (all, some) = (try recoveries(oneIn: 1), try recoveries(oneIn: 10))
    #expect(some > all / 20 && some < all / 5, "\(some) of \(all)")
  }

  @Test("The number of disks per recovery is limited, and the disks cover the whole recovery")
  func longRecoveries() throws {
    var explorer = CrashExplorer(seed: 2)
    explorer.recoveryDepth = 1
    explorer.imagesPerRecoveryMax = 40
    var cut: [Int] = []
    let report = try explorer.explore { fileSystem, _ in
      try fileSystem.createDirectory("/a")
    } recover: { fileSystem, _ in
      for number in 0..<100 where try fileSystem.kind(of: "/\(number)") == nil {
        try fileSystem.createDirectory("/\(number)")
        try fileSystem.syncDirectory("/")
      }
    } verify: { _, context in
      if context.recoveries == 1 { cut.append(context.operation) }
    }
    try report.check(allowing: [.noAcknowledgement])
    // There are two recoveries: from the disk with the directory, and from the disk without it.
    #expect(report.recoveryCount == 2)
    #expect(cut.count > 4 && cut.count <= 120, "\(cut.count)")
    #expect(cut.max() ?? 0 > 120 && cut.min() ?? 200 < 80, "\(cut)")
  }

  @Test("The report counts the operations of which all disks were tried, and those with a sample")
  func exhaustion() throws {
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 16
    let report = try explorer.explore { fileSystem, _ in
      for number in 0..<10 { try fileSystem.createDirectory("/\(number)") }
    } verify: { _, _ in
    }
    // Four unsynced names yield 16 disks. Before the first operation, there is one disk.
    #expect(report.exhaustedOperationCount == 5)
    #expect(report.sampledOperationCount == 6)
  }

  @Test("A table counts the distinct disks by operation and loss")
  func matrix() throws {
    let report = try CrashExplorer(seed: 1).explore { fileSystem, _ in
      try fileSystem.createDirectory("/a")
      try fileSystem.syncDirectory("/")
    } verify: { _, _ in
    }
    #expect(report.matrix[nil, .nothing] == 1)
    #expect(report.matrix[.createDirectory, .nothing] == 1)
    #expect(report.matrix[.syncDirectory, .nothing] == 0, "the disk is equal to an earlier one")
    #expect(report.matrix.operations == [.createDirectory])
    #expect(report.matrix.lines.count == 3)
  }
}
