import PerdureFileIO

/// Marks the steps of a workload, so that a check knows which steps must have survived.
///
/// Each step has its own label. Steps of several writers may overlap, and may be acknowledged in
/// any order. `CrashReport.check` refuses a label that begins twice, is acknowledged twice, or is
/// acknowledged without a beginning.
public struct CrashMarker: Sendable {
  let fileSystem: SimulatedFileSystem

  /// Begins the step `label`: after this call, its effects may be on the disk.
  public func begin(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.begun, label) }
  }

  /// Acknowledges the step `label` as durable: after this call, its effects must be on the disk.
  public func acknowledge(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.acknowledged, label) }
  }

  /// Promises the label like `acknowledge`, but needs no `begin`. Use it for labels such as the
  /// number of a commit, which is known only after the commit. A label may be promised several
  /// times.
  public func promise(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.promised, label) }
  }
}

extension SimulatedFileSystem {
  /// Marks steps in the journal of this file system.
  public var marker: CrashMarker { CrashMarker(fileSystem: self) }
}

/// The crash after which a check runs.
public struct CrashContext: Sendable {
  /// The number of the operation before the power cut. 0 means that the cut is before the first
  /// operation. For a cut during a recovery, it is an operation of that recovery.
  public let operation: Int
  /// The kind of that operation; nil if the cut is before the first operation.
  public let operationKind: FileOperation?
  /// The labels of the steps that had begun, in order: first those of the workload, then those of
  /// the recoveries that were cut.
  public let begun: [Int]
  /// The labels of the steps that had been acknowledged or promised, in the same order.
  public let acknowledged: [Int]
  /// The kinds of loss on this disk.
  public let losses: Set<CrashLoss>
  /// The number of recoveries that were cut. It is 0 for a cut during the workload, 1 for a second
  /// cut during the recovery after it, and so on.
  public let recoveries: Int
  /// A hash of the disk. Equal disks have equal hashes; different disks have the same hash with a
  /// probability of 2^-64. The hash is valid only within one process.
  package let fingerprint: Int

  /// Describes a crash, to run a check by hand on an image that was saved.
  public init(
    operation: Int, begun: [Int], acknowledged: [Int], losses: Set<CrashLoss>,
    operationKind: FileOperation? = nil, recoveries: Int = 0
  ) {
    self.init(
      operation: operation, begun: begun, acknowledged: acknowledged, losses: losses,
      operationKind: operationKind, recoveries: recoveries, fingerprint: 0)
  }

  init(
    operation: Int, begun: [Int], acknowledged: [Int], losses: Set<CrashLoss>,
    operationKind: FileOperation?, recoveries: Int, fingerprint: Int
  ) {
    self.operation = operation
    self.operationKind = operationKind
    self.begun = begun
    self.acknowledged = acknowledged
    self.losses = losses
    self.recoveries = recoveries
    self.fingerprint = fingerprint
  }
}
