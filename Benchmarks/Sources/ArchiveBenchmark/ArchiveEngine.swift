import DebianIndexReading
import Foundation

// The measured work, the same for every engine.
//
//  - The model: Package (name + version + architecture is its key; the first stanza of a key
//    counts), Maintainer, Section, Tag (many-to-many), Dependency (kind, or-group, position,
//    relation, version, target), Name (of packages, of virtual packages). Every relationship can be
//    walked from both sides by an index.
//  - The import: batches of stanzas; when `importBatch` returns, the batch is as durable as
//    `Durability` says.
//  - The closure of a package name: the packages of that name; then, of each package reached, for
//    each alternative of Pre-Depends and Depends, every package of that name and every package that
//    provides it. Versions play no part.
//  - The digest: over the data that the engine returns after it was closed and opened again.

/// A store that can take the archive and answer questions about it.
protocol ArchiveEngine: AnyObject {
  /// The result of a traversal: the packages reached, in the engine's own terms.
  associatedtype Closure: Collection

  /// The name in reports.
  static var name: String { get }
  /// Its settings, for repeating the measurement.
  static func settings(_ durability: Durability) -> String
  /// The ways it can compute a closure; each is measured.
  static var closureMethods: [String] { get }

  /// Opens the store in `folder`, which exists; creates it when the folder is empty.
  ///
  /// - Parameter packageNames: The names of all packages that will come, for engines that
  ///   distinguish them from virtual names; finding them is not measured.
  init(folder: URL, durability: Durability, packageNames: Set<String>) throws

  /// Imports one batch, all or nothing. Packages that are there already are passed over.
  func importBatch(_ records: [PackageRecord]) throws
  /// Ends the import: everything durable, everything closed.
  func finish() throws
  /// Opens the store again after `finish`, with nothing of it in the process.
  func reopen() throws

  /// The closure of `packageName`; empty when there is no such package.
  func closure(of packageName: String, method: String) throws -> Closure
  /// The digest of the keys of the packages in a closure.
  func digest(of closure: Closure) throws -> ArchiveDigest
  /// The digest of all packages with everything the model says about them.
  func resultDigest() throws -> ArchiveDigest
}

/// The durability of a commit.
enum Durability: String, CaseIterable {
  /// A power cut.
  case full
  /// A crash of the process; after a power cut the store is whole but may lack the last commits.
  case normal
}
