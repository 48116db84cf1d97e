import PerdureFileIO

/// Lets a workload say how far it has come, so that a check knows what must have survived.
///
/// Each step has a label of its own. Steps may overlap, and be acknowledged in another order than they began, as those of
/// several writers are. A label that begins or is acknowledged twice, or is acknowledged and never began, is a
/// mistake of the suite, which `CrashReport.check` throws.
public struct CrashMarker: Sendable {
  let fileSystem: SimulatedFileSystem

  /// Says that step `label` is about to begin: from now on, its effects may be on the disk.
  public func begin(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.begun, label) }
  }

  /// Says that step `label`, which has begun, was acknowledged as durable: from now on, its effects must be on the disk.
  public func acknowledge(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.acknowledged, label) }
  }

  /// As `acknowledge`, of what has no beginning: for programs that learn only now what they may promise, such as the
  /// number of a commit. May be said again.
  public func promise(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.promised, label) }
  }
}

extension SimulatedFileSystem {
  /// For marking steps in this file system's journal.
  public var marker: CrashMarker { CrashMarker(fileSystem: self) }
}

/// What a check is told about the crash it looks at.
public struct CrashContext: Sendable {
  /// The operation after which the power went; 0 is before the first. If it went during a recovery, an operation
  /// of that.
  public let operation: Int
  /// What kind of operation that was; nil before the first.
  public let operationKind: FileOperation?
  /// The labels of the steps that had begun, in order: of the workload, then of the recoveries that were cut.
  public let begun: [Int]
  /// The labels of the steps that had been acknowledged or promised, in order, likewise.
  public let acknowledged: [Int]
  /// What was lost.
  public let losses: Set<CrashLoss>
  /// How many recoveries had been cut: 0 if the power went during the workload, 1 if it went again
  /// during the recovery from that, and so on.
  public let recoveries: Int
  /// The same for disks that are the same, another for others, but for one chance in 2^64; within one process.
  package let fingerprint: Int

  /// Describes a crash by hand, for running a check on a disk that was kept.
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
