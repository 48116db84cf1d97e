package import Perdure
import PerdureFileIO
import PerdureLog
import PerdureProving

// A store must have exactly the files and indexes that its rows and its model require.

/// Compares files and indexes with the rows and the model.
package enum GraphFiles {
  /// Checks that every long value has a file after an opening, and that no unreferenced file
  /// exists.
  ///
  /// - Parameters:
  ///   - threshold: The length above which values have files.
  ///   - superseded: The number of values that the opening has replaced. The next commit removes
  ///     their files.
  static func check(
    _ store: LogPersistentStore, on fileSystem: any FileSystem, threshold: Int, superseded: Int
  ) throws {
    let files = try fileSystem.contents(of: GraphCrashProgram.path).count { $0.hasSuffix(".blob") }
    let values = try CrashOracle.content(of: store.store).values.count { $0.count > threshold }
    guard (values...values + superseded).contains(files) else {
      throw Violation("\(values) values are longer than \(threshold), but the store has \(files) blob files")
    }
  }

  /// Checks that the indexes are exactly those of the model.
  package static func checkIndexes(_ store: LogPersistentStore) throws {
    let wanted = store.schema.indexes.filter { index in
      switch index.kind {
      case .links, .orders: false
      default: true
      }
    }.map(\.name)
    let found = try store.store.indexes.map(\.index.name)
    guard Set(wanted) == Set(found), wanted.count == found.count else {
      throw Violation(
        "the store has the indexes \(found.sorted()), but the model requires \(wanted.sorted())")
    }
  }

  /// The stored form of the store's model; nil if the store has none.
  static func storedModel(_ store: LogPersistentStore) throws -> [UInt8]? {
    guard let meta = try store.store.keyspaces.first(where: { $0.name == "meta" }) else { return nil }
    return try store.store.snapshot().value(key: Array("model".utf8), in: meta)
  }
}
