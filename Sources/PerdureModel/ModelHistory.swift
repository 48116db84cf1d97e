/// The versions of the model that a store has adopted, oldest first.
///
/// Two models are the same version if their version hashes and version identifiers are equal.
///
/// Invariants:
/// 1. There is at least one version. Numbers ascend and are never reused.
/// 2. There are at most `countMax` versions. If another version is added, the oldest one is
///    dropped. Its number is not reused.
package struct ModelHistory: Sendable, Hashable {
  package struct Version: Sendable, Hashable {
    /// The ordinal of the version in its store, from 1.
    package let number: UInt32
    /// The `versionHash` of the model.
    package let hash: UInt64
    package let identifiers: Set<String>
    /// The newest commit of the store before it adopted the version; 0 if unknown.
    package let sequence: UInt64
  }

  /// The maximum number of versions. With this limit, each opening reads at most about 10 KB of
  /// history.
  static let countMax = 256

  package let versions: [Version]

  /// The caller must ensure the invariants.
  init(_ versions: [Version]) {
    precondition(!versions.isEmpty, "A history must have at least one version.")
    self.versions = versions
  }

  /// The history of a store that has had only one model.
  init(of model: ManagedObjectModel, at sequence: UInt64) {
    self.init([Version(model, number: 1, at: sequence)])
  }

  package var newest: Version { versions[versions.count - 1] }

  /// The history after a model was adopted.
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
