/// The versions of the model that a store has adopted, oldest first.
///
/// Two models are one version if their version hashes and version identifiers are equal.
///
/// Invariants:
/// 1. There is at least one version. Numbers ascend; a number is used once.
/// 2. There are at most `countMax` versions: a further one drops the oldest. Numbers continue.
package struct ModelHistory: Sendable, Hashable {
  package struct Version: Sendable, Hashable {
    /// Counts the versions of one store, from 1.
    package let number: UInt32
    /// The `versionHash` of the model.
    package let hash: UInt64
    package let identifiers: Set<String>
    /// The newest commit of the store before it adopted the version; 0 if it is unknown.
    package let sequence: UInt64
  }

  /// Bounds what each opening reads: some 10 KB.
  static let countMax = 256

  package let versions: [Version]

  /// The caller vouches for the invariants.
  init(_ versions: [Version]) {
    precondition(!versions.isEmpty, "invariant 1")
    self.versions = versions
  }

  /// The history of a store that has had one model.
  init(of model: ManagedObjectModel, at sequence: UInt64) {
    self.init([Version(model, number: 1, at: sequence)])
  }

  package var newest: Version { versions[versions.count - 1] }

  /// The history behind the adoption of a model.
  ///
  /// - Throws: `ModelError` `numbersExhausted`.
  func adopting(_ model: ManagedObjectModel, at sequence: UInt64) throws(ModelError) -> ModelHistory {
    if newest.hash == model.versionHash, newest.identifiers == model.versionIdentifiers { return self }
    guard newest.number < .max else { throw .exhausted }
    let next = Version(model, number: newest.number + 1, at: sequence)
    return ModelHistory(versions.suffix(Self.countMax - 1) + [next])
  }
}

extension ModelHistory.Version {
  fileprivate init(_ model: ManagedObjectModel, number: UInt32, at sequence: UInt64) {
    self.init(
      number: number, hash: model.versionHash, identifiers: model.versionIdentifiers, sequence: sequence)
  }
}
