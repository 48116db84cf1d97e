import DebianIndexReading
import Foundation

// The measured work. It is the same for every engine.
//
//   - The model: Package, Maintainer, Section, Tag (many-to-many), Dependency (kind, or-group,
//     position, relation, version, target), and Name (of packages and of virtual packages). The key
//     of a package is name + version + architecture; the first stanza of a key is used. Indexes
//     make every relationship traversable from both sides.
//   - The import: batches of stanzas. When `importBatch` returns, the batch has the durability of
//     `Durability`.
//   - The closure of a package name: the packages with that name, and all that they need. For each
//     package in the closure, it also contains every package that has or provides a name in the
//     Pre-Depends or Depends of that package. All alternatives are included. Versions are ignored.
//   - The digest: a digest of the data that the engine returns after it was closed and opened
//     again.

/// A store that can import the archive and answer queries about it.
protocol ArchiveEngine: AnyObject {
  /// The result of a traversal: the reached packages, in the engine's own form.
  associatedtype Closure: Collection

  /// The name in reports.
  static var name: String { get }
  /// The settings, for repeating the measurement.
  static func settings(_ durability: Durability) -> String
  /// The methods by which the engine can compute a closure. Each method is measured.
  static var closureMethods: [String] { get }

  /// Opens the store in the existing folder `folder`. Creates it if the folder is empty.
  ///
  /// - Parameter packageNames: The names of all packages that will be imported, for engines that
  ///   distinguish them from virtual names. Finding them is not measured.
  init(folder: URL, durability: Durability, packageNames: Set<String>) throws

  /// Imports one batch atomically. Packages that already exist are skipped.
  func importBatch(_ records: [PackageRecord]) throws
  /// Ends the import: all data is durable, and the store is closed.
  func finish() throws
  /// Opens the store again after `finish`. The process has no data of the store in memory.
  func reopen() throws

  /// The closure of `packageName`; empty if no such package exists.
  func closure(of packageName: String, method: String) throws -> Closure
  /// The digest of the keys of the packages in a closure.
  func digest(of closure: Closure) throws -> ArchiveDigest
  /// The digest of all packages with all data in the model.
  func resultDigest() throws -> ArchiveDigest
}

/// The events that a commit survives.
enum Durability: String, CaseIterable {
  /// A power cut.
  case full
  /// A crash of the process. After a power cut the store is intact but may lack the last commits.
  case normal
}
