/// Damage to stores that were written through a layer on top of PerdureLog, such as graphs. The
/// campaign `rot` tries these cases after its damage to bits, sectors and tails, and before its
/// salvages.
package protocol RotSubject: Sendable {
  /// The number of cases of damage to each kind of store in a full proof.
  var fullCount: Int { get }

  /// Damages stores, and checks the data that is read from them. Ends early after
  /// `RotCampaign.violationsMax` violations.
  ///
  /// - Parameters:
  ///   - count: The number of cases of damage to each kind of store.
  ///   - only: The number of the only damage to try; nil: all.
  ///   - seed: The seed of the stores and of the damage.
  ///   - prefix: The words before the number of a case in `RotFinding.part`.
  func run(
    _ count: Int, only: Int?, seed: UInt64, prefix: String, _ progress: ProofProgress
  ) throws -> RotResult
}
