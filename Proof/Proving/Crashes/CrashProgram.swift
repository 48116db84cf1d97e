package import PerdureFileIO
package import PerdureTestSupport

/// A program that writes to a store, on a disk whose power will be cut.
package protocol CrashProgram: Sendable {
  associatedtype Check: CrashCheck

  /// Runs to the end, and reports acknowledgements to `marker`.
  ///
  /// - Returns: The check for the disks that this program may leave.
  func run(on fileSystem: any FileSystem, _ marker: CrashMarker) async throws -> Check
}

/// Recovers a store from the disk that a power cut left, and compares it with the program's
/// operations.
package protocol CrashCheck: Sendable {
  associatedtype Recovered

  /// Opens the store. The power may be cut during this call too.
  func recover(_ fileSystem: SimulatedFileSystem, _ context: CrashContext) throws -> Recovered

  /// Throws for a lost, partial or wrong commit.
  func verify(_ recovered: Recovered, _ context: CrashContext) throws

  /// Whether the power was cut during a recovery, and not during the check after it.
  func isDuringRecovery(_ context: CrashContext) -> Bool

  /// The number of the program's commits that began during another commit.
  var overlapCount: Int { get }

  /// The number of bytes that backups have shared with earlier backups.
  var sharedBytes: SharedBytes { get }
}

/// The number of bytes that backups have shared with earlier backups.
package struct SharedBytes: Sendable {
  /// The number of bytes shared while the program ran.
  package var inPrograms: UInt64 = 0
  /// The number of bytes shared by backups after power cuts. Such a backup shares files with the
  /// backups that the cut left.
  package var afterCuts: UInt64 = 0

  static func += (sum: inout SharedBytes, other: SharedBytes) {
    sum.inPrograms += other.inPrograms
    sum.afterCuts += other.afterCuts
  }
}

extension CrashCheck {
  package var overlapCount: Int { 0 }
  package var sharedBytes: SharedBytes { SharedBytes() }
}

/// One kind of program.
package protocol CrashSubject: Sendable {
  associatedtype Program: CrashProgram

  /// The name in the table.
  var name: String { get }
  /// The sector lengths of the disks: the numbers of bytes that a disk writes as one unit.
  /// Successive programs use them in turn.
  var sectorLengths: [Int] { get }

  /// Whether a program makes the same calls each time, because only its own thread makes calls.
  var isRepeatable: Bool { get }

  /// Makes the program with these random choices.
  func program(seed: UInt64) -> Program
}

extension CrashSubject {
  package var isRepeatable: Bool { true }
}

extension CrashExplorer {
  /// Examines the disks of a program, and calls `count` for each disk that passes its check.
  package func examine(
    _ journal: CrashJournal, _ check: some CrashCheck,
    counting count: (CrashContext, Bool) -> Void = { _, _ in }
  ) -> CrashReport {
    examine(journal, recover: check.recover) { recovered, context in
      try check.verify(recovered, context)
      count(context, check.isDuringRecovery(context))
    }
  }
}
