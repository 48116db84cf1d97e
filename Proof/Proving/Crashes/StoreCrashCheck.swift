package import PerdureFileIO
import PerdureLog
package import PerdureTestSupport

// The promises of a store after a power cut, and after further cuts during the recovery.
//
// A recovery may be followed by a commit before the next power cut. Such a commit has a special
// label, and adds one row. The store must have the content from before the first such commit, and
// the rows that these commits added.

/// Opens a store that a workload wrote, and compares it with the workload's history.
package struct StoreCrashCheck: CrashCheck {
  package let workload: CrashWorkload
  package let oracle: CrashOracle
  /// Wraps the disk for the opening of the store. Tests set it to simulate an engine with a defect.
  package var opening: @Sendable (SimulatedFileSystem) -> any FileSystem = { $0 }

  package var overlapCount: Int { workload.history.overlapCount }

  package struct Recovered {
    let store: Store
    let fileSystem: SimulatedFileSystem
    /// The commit that followed the recovery, if there was one.
    let added: UInt64?
  }

  /// The commits that a store must contain.
  struct Promise {
    /// The last commit that the store must contain.
    private(set) var least: UInt64 = 0
    /// The last commit before the commits that followed recoveries; nil if there are no such
    /// commits.
    private(set) var base: UInt64?
    private(set) var addedMax = 0

    private static let addedFlag = 1 << 40

    static func label(ofAdded sequence: UInt64) -> Int { Int(sequence) | addedFlag }

    static func isAdded(_ label: Int) -> Bool { label & addedFlag != 0 }

    init(upTo least: UInt64) { self.least = least }

    init(_ context: CrashContext) {
      least = UInt64((context.acknowledged.map { $0 & ~Self.addedFlag }).max() ?? 0)
      for label in context.begun where Self.isAdded(label) { add(UInt64(label & ~Self.addedFlag)) }
    }

    mutating func add(_ sequence: UInt64) {
      base = base ?? sequence - 1
      addedMax += 1
    }

    /// Throws if the log ends before a promised commit.
    func check(_ sequence: UInt64) throws {
      guard sequence >= least else {
        throw Violation("commit \(least) was promised, but the log ends at \(sequence)")
      }
    }

    /// Notes that this commit was acknowledged.
    mutating func require(_ sequence: UInt64) { least = max(least, sequence) }
  }

  package func recover(
    _ fileSystem: SimulatedFileSystem, _ context: CrashContext
  ) throws -> Recovered {
    let promise = Promise(context)
    if context.operation % 7 == 0, promise.least > 0 {
      try oracle.check(try workload.open(on: fileSystem, readOnly: true), promise)
    }
    let store = try workload.open(on: opening(fileSystem))
    let sequence = store.snapshot().sequence
    // Checked before the store adds a commit, so that a lost commit is reported as lost.
    try promise.check(sequence)
    // A state that a recovery has shown is promised from then on.
    if sequence > promise.least { fileSystem.marker.promise(Int(sequence)) }
    guard context.operation % 5 == 0, promise.least > 0 else {
      return Recovered(store: store, fileSystem: fileSystem, added: nil)
    }
    let added = Promise.label(ofAdded: sequence + 1)
    fileSystem.marker.begin(added)
    let rows = try store.keyspace("rows", .dense)
    let (_, written) = try store.write {
      try $0.put([1, 2, 3], id: CrashOracle.addedID(sequence + 1), in: rows)
    }
    guard written == sequence + 1 else { throw Violation("commit \(written) followed commit \(sequence)") }
    fileSystem.marker.acknowledge(added)
    return Recovered(store: store, fileSystem: fileSystem, added: written)
  }

  package func verify(_ recovered: Recovered, _ context: CrashContext) throws {
    var promise = Promise(context)
    if let added = recovered.added {
      promise.add(added)
      promise.require(added)
    }
    let content = try oracle.check(recovered.store, promise)
    let files = try files(on: recovered.fileSystem)
    try files.checkRecovered()
    try files.checkBlobs(longValues(of: content))
    // Checks that the log continues after the bytes that the crash left, and that the store remains
    // complete.
    guard recovered.added != nil, context.operation % 10 == 0 else { return }
    try recovered.store.compact()
    try recovered.store.close()
    // Some segments have become void in the meantime, and some index files are no longer used. The
    // next opening may remove both, so only the blob files are checked here.
    try self.files(on: recovered.fileSystem).checkBlobs(longValues(of: content))
    let again = try workload.open(on: recovered.fileSystem)
    try oracle.check(again, promise)
    try self.files(on: recovered.fileSystem).checkRecovered()
    try again.close()
  }

  private func files(on fileSystem: SimulatedFileSystem) throws -> StoreFiles {
    try StoreFiles(of: CrashWorkload.path, on: fileSystem)
  }

  /// The values that have their own files.
  private func longValues(of content: CrashHistory.Content) -> [[UInt8]] {
    content.values.filter { $0.count > workload.options.blobThresholdBytes }
  }

  package func isDuringRecovery(_ context: CrashContext) -> Bool {
    context.recoveries > 0 && !context.begun.contains(where: Promise.isAdded)
  }
}

extension CrashShape: CrashSubject {
  package var name: String { description }

  package var sectorLengths: [Int] { [sectorLength, 4096, 512] }

  /// False if other threads of the store may make calls. With ordered commits, a thread of the
  /// store syncs them at an unspecified time.
  package var isRepeatable: Bool {
    writers == 1 && syncAheadBytes == 0 && !checkpointsInBackground && !durabilities.contains(.ordered)
  }

  package func program(seed: UInt64) -> CrashWorkload { CrashWorkload(shape: self, seed: seed) }
}
