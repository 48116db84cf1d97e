import PerdureFileIO

/// Marks the steps of a workload, so that a check knows which ones must have survived.
///
/// Each step has its own label. Steps of several writers may overlap, and may be acknowledged in
/// any order. `CrashReport.check` refuses a label that begins twice, is acknowledged twice, or is
/// acknowledged without a beginning.
public struct CrashMarker: Sendable {
  let fileSystem: SimulatedFileSystem

  /// Begins the step `label`: from now on, its effects may be on the disk.
  public func begin(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.begun, label) }
  }

  /// Acknowledges the step `label` as durable: from now on, its effects must be on the disk.
  public func acknowledge(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.acknowledged, label) }
  }

  /// As `acknowledge`, for a label without a beginning, such as the number of a commit that is
  /// known only now. May be repeated.
  public func promise(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.promised, label) }
  }
}

extension SimulatedFileSystem {
  /// Marks steps in the journal of this file system.
  public var marker: CrashMarker { CrashMarker(fileSystem: self) }
}

/// The crash that a check looks at.
public struct CrashContext: Sendable {
  /// The operation before the power cut; 0: the cut is before the first. For a cut during a
  /// recovery, an operation of that recovery.
  public let operation: Int
  /// The kind of that operation; nil before the first.
  public let operationKind: FileOperation?
  /// The labels of the steps that had begun, in order: of the workload, then of the recoveries that
  /// were cut.
  public let begun: [Int]
  /// The labels of the steps that had been acknowledged or promised, in order, likewise.
  public let acknowledged: [Int]
  /// The kinds of loss on this disk.
  public let losses: Set<CrashLoss>
  /// The number of recoveries that were cut: 0 for a cut during the workload, 1 for one more during
  /// the recovery from it, and so on.
  public let recoveries: Int
  /// Equal for equal disks, and different for others, except for one chance in 2^64; within one
  /// process.
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
