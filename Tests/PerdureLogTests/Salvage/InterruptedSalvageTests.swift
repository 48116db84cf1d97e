import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("A salvage that is interrupted or refused")
struct InterruptedSalvageTests {
  private let source = SalvagedStore.path
  private let target = SalvagedStore.target

  private func options(_ disk: any FileSystem) -> StoreOptions {
    var options = SalvagedStore.options(disk, 4096)
    options.compactsAutomatically = false
    options.checkpoints = .manual
    options.reserveBytes = 0
    return options
  }

  /// The disk with a closed store of two segments and a blob file.
  private func disk() throws -> CrashImage {
    let disk = SimulatedFileSystem()
    let store = try Store(at: source, options: options(disk))
    let rows = try store.keyspace("rows", .dense)
    for id in 1...9 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 1, count: id == 4 ? 2000 : 700), id: id, in: rows) }
    }
    try store.close()
    return disk.currentImage
  }

  private func salvage(_ disk: any FileSystem) throws -> SalvageReport {
    try Store.salvage(from: source, to: target, options: options(disk))
  }

  private func survey(_ disk: any FileSystem) throws -> SalvageReport {
    try Store.survey(at: source, options: options(disk))
  }

  private struct Wrong: Error { let what: String }

  @Test("After a power cut at any step, the target is absent or complete, and the next salvage succeeds")
  func everyCrash() throws {
    let image = try disk()
    let content = try SalvagedStore.content(of: source, image.fileSystem())
    let disk = image.fileSystem()
    disk.marker.begin(1)
    #expect(try salvage(disk).isClean)
    disk.marker.acknowledge(1)
    var random = SeededGenerator.forTest("power cuts during a salvage")
    var explorer = CrashExplorer(seed: random.next())
    explorer.imagesPerOperationMax = 12
    explorer.makesStaleBytes = true
    var absences = 0
    let report = explorer.examine(disk.journal) { image, context in
      let left = image.fileSystem()
      if try left.kind(of: target) == nil {
        absences += 1
        guard context.acknowledged.isEmpty else { throw Wrong(what: "the target is absent") }
        guard try salvage(left).isClean else { throw Wrong(what: "the next salvage found damage") }
      }
      guard try SalvagedStore.content(of: target, left) == content else {
        throw Wrong(what: "the target is not complete")
      }
    }
    #expect(report.violation == nil, "\(report)")
    #expect(absences > 100 && report.distinctImageCount > absences, "\(report.summary)")
  }

  @Test("If any one call fails, no draft stays, and the next salvage succeeds")
  func everyCall() throws {
    let image = try disk()
    let content = try SalvagedStore.content(of: source, image.fileSystem())
    var nth = 1
    while true {
      let disk = image.fileSystem()
      disk.inject(InjectedFailure(of: nil, nth: nth, code: .noSpace, pathContains: target))
      do { _ = try salvage(disk) } catch let error as StoreError {
        #expect([.diskFull, .io].contains(error.code), "call \(nth): \(error)")
      }
      let isStruck = disk.injectedFailureCount > 0
      disk.removeInjectedFailures()
      #expect(try disk.kind(of: target + ".copy") == nil, "call \(nth)")
      if try disk.kind(of: target) == nil { _ = try salvage(disk) }
      #expect(try SalvagedStore.content(of: target, disk) == content, "call \(nth)")
      if !isStruck { break }
      nth += 1
    }
    #expect(nth > 40)
  }

  @Test(
    "A store that a writer has open is refused as locked, even if LOCK was removed", arguments: [false, true])
  func openStore(losesLock: Bool) throws {
    let disk = try disk().fileSystem()
    let store = try Store(at: source, options: options(disk))
    if losesLock { try disk.remove(source + "/LOCK") }
    for call in [{ _ = try salvage(disk) }, { _ = try survey(disk) }] as [() throws -> Void] {
      let error = #expect(throws: StoreError.self, performing: call)
      #expect(error?.code == .locked)
    }
    #expect(try disk.kind(of: target) == nil && disk.kind(of: target + ".copy") == nil)
    if !losesLock {
      try store.close()
      for report in try [salvage(disk), survey(disk)] {
        #expect(report.isClean && report.lockFailure == nil)
      }
    }
  }

  @Test("During a survey a writer's opening is refused as locked, and a reader can open the store")
  func openingDuringSurvey() throws {
    let disk = try disk().fileSystem()
    var reading = options(disk)
    reading.isReadOnly = true
    var callCount = 0
    let report = try Store.survey(at: source, options: options(disk)) { _, _ in
      callCount += 1
      let error = #expect(throws: StoreError.self) { try Store(at: source, options: options(disk)) }
      #expect(error?.code == .locked)
      try Store(at: source, options: reading).close()
    }
    #expect(report.isClean && callCount >= 3)
    try Store(at: source, options: options(disk)).close()
  }

  @Test("A salvage creates no LOCK in the damaged store, and releases the locks that it acquired")
  func locks() throws {
    let disk = try disk().fileSystem()
    _ = try salvage(disk)
    try Store(at: source, options: options(disk)).close()
    try Store.destroy(at: target, options: options(disk))
    try disk.remove(source + "/LOCK")
    #expect(try salvage(disk).lockFailure == nil)
    #expect(try disk.kind(of: source + "/LOCK") == nil)
  }

  @Test(
    "If LOCK or the newest segment cannot be locked, the report states this, except on a read-only volume",
    arguments: ["/LOCK", ".segment"], [FileIOError.Code.permissionDenied, .mediaError, .readOnly])
  func lockFailure(_ suffix: String, _ code: FileIOError.Code) throws {
    let disk = try disk().fileSystem()
    // The last path with the suffix is that of LOCK, or of the newest segment.
    let paths = try disk.contents(of: source).map { source + "/" + $0 }.sorted()
    let path = try #require(paths.last { $0.hasSuffix(suffix) })
    disk.inject(InjectedFailure(of: .lock, repeats: true, code: code, pathContains: path))
    let report = try salvage(disk)
    #expect(disk.injectedFailureCount > 0)
    #expect(report.isClean && report.keys == 9)
    if code == .readOnly {
      #expect(report.lockFailure == nil)
    } else {
      #expect(report.lockFailure?.contains(path) == true, "\(report.lockFailure ?? "nil")")
    }
  }
}
