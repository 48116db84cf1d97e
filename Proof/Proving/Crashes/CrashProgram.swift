package import PerdureFileIO
package import PerdureTestSupport

/// A program that writes to a store, on a disk whose power will be cut.
package protocol CrashProgram: Sendable {
  associatedtype Check: CrashCheck

  /// Runs to the end, and reports acknowledgements to `marker`.
  ///
  /// - Returns: The requirements for a disk of this program.
  func run(on fileSystem: any FileSystem, _ marker: CrashMarker) async throws -> Check
}

/// Recovers a store from a disk that a power cut left, and compares it with the program's
/// operations.
package protocol CrashCheck: Sendable {
  associatedtype Recovered

  /// Opens the store. The power is cut during this too.
  func recover(_ fileSystem: SimulatedFileSystem, _ context: CrashContext) throws -> Recovered

  /// Throws for a lost, partial or wrong commit.
  func verify(_ recovered: Recovered, _ context: CrashContext) throws

  /// Whether the power failed in a recovery, and not in the check after it.
  func isDuringRecovery(_ context: CrashContext) -> Bool

  /// How many commits of the program began while another was on the way.
  var overlapCount: Int { get }
}

extension CrashCheck {
  package var overlapCount: Int { 0 }
}

/// One kind of program.
package protocol CrashSubject: Sendable {
  associatedtype Program: CrashProgram

  /// For the table.
  var name: String { get }
  /// How many bytes the disk writes as one, of one program after the other.
  var sectorLengths: [Int] { get }

  /// Whether a program makes the same calls each time: no thread but its own makes any.
  var isRepeatable: Bool { get }

  /// The program that makes these random choices.
  func program(seed: UInt64) -> Program
}

extension CrashSubject {
  package var isRepeatable: Bool { true }
}

extension CrashExplorer {
  /// Tests the purpose of `check`.
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
