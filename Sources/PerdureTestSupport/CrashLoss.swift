/// A kind of simulated loss. A single crash may cause several kinds.
public enum CrashLoss: String, Sendable, Hashable, CaseIterable {
  /// Every pending change reached the disk.
  case nothing
  /// No pending change survived.
  case everything
  /// A write was lost completely.
  case write
  /// Some sectors of a write reached the disk and others did not.
  case tornWrite
  /// A write was lost or torn although a later write to the same file reached the disk.
  case reorderedWrite
  /// Missing bytes of a write read as zeros. Zeros are possible only after the old end of the file,
  /// or in sectors that the write replaces completely.
  case zeros
  /// Missing bytes of a write read as noise. The possible offsets are those of `zeros`.
  case garbage
  /// Missing bytes of a write read as bytes of a removed file. The possible offsets are those of
  /// `zeros`.
  case stale
  /// A new name was lost.
  case creation
  /// A rename was lost.
  case rename
  /// A removal was lost: the name exists again.
  case removal
  /// A change of a name was lost although a later change of a name reached the disk.
  case reorderedNames
}

extension CrashLoss {
  /// The losses that `fates` cause to the `pending` changes. If both are empty, the result is
  /// `nothing`. Zeros, garbage and stale bytes are not included: `DiskCutter` finds them when it
  /// builds the bytes.
  static func kinds(_ pending: [PendingChange], _ fates: [Fate]) -> Set<CrashLoss> {
    var found: Set<CrashLoss> = []
    if fates.allSatisfy({ $0 == .kept }) { found.insert(.nothing) }
    if !fates.isEmpty && fates.allSatisfy({ $0 == .lost }) { found.insert(.everything) }
    var hasDamage: Set<UInt64> = []
    var hasLostName = false
    for (change, fate) in zip(pending, fates) {
      switch change.body {
      case .write(let write):
        if fate != .lost && hasDamage.contains(write.file) { found.insert(.reorderedWrite) }
        if fate != .kept { hasDamage.insert(write.file) }
        found.formUnion(kinds(ofWrite: fate))
      case .entries(let entries):
        if fate == .kept && hasLostName { found.insert(.reorderedNames) }
        if fate == .lost { hasLostName = true }
        if fate == .lost { found.insert(kind(of: entries)) }
      }
    }
    return found
  }

  private static func kinds(ofWrite fate: Fate) -> Set<CrashLoss> {
    switch fate {
    case .kept: []
    case .lost: [.write]
    case .torn(let sectors, _): [sectors.contains(true) ? .tornWrite : .write]
    }
  }

  private static func kind(of entries: [PendingChange.Entry]) -> CrashLoss {
    guard entries.count == 1, let entry = entries.first else { return .rename }
    return entry.node == nil ? .removal : .creation
  }
}
