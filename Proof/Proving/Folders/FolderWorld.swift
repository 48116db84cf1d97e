import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// A folder with a store, and its expected contents.
final class StoreFolder {
  /// The path of the folder; nil if it was removed or its files were replaced.
  var path: String?
  /// The round of the last acknowledged commit that wrote each row.
  var rows: [UInt64: UInt8]
  /// Other rounds that rows may have, because a commit failed; nil means that the row is absent.
  var doubts: [UInt64: Set<UInt8?>] = [:]
  /// Whether the store has a commit.
  var hasSegments: Bool
  /// False after SUPERBLOCK was removed.
  var hasSuperblock = true

  init(_ path: String, _ rows: [UInt64: UInt8] = [:], hasSegments: Bool = false) {
    (self.path, self.rows, self.hasSegments) = (path, rows, hasSegments)
  }

  /// Checks the rows of a store. From now on, exactly these rows are expected.
  ///
  /// - Throws: `Violation` if a row is not as expected.
  func adopt(_ store: Store, _ keyspace: Keyspace) throws {
    let found = try FolderWorld.rows(of: store, keyspace)
    for id in Set(rows.keys).union(found.keys) where found[id] != rows[id] {
      guard doubts[id]?.contains(found[id]) == true else {
        throw Violation(
          "row \(id) of \(path ?? "a removed folder") is of round \(found[id].map { "\($0)" } ?? "none"), "
            + "but round \(rows[id].map { "\($0)" } ?? "none") was acknowledged")
      }
    }
    (rows, doubts) = (found, [:])
  }
}

/// A store that is open for writing.
final class FolderWriter {
  let store: Store
  let keyspace: Keyspace
  let folder: StoreFolder
  /// Whether its LOCK and SUPERBLOCK still have their names in its folder.
  var ownsFolder = true
  /// The bytes of the commits that were acknowledged after LOCK or SUPERBLOCK lost its name.
  var bytesSinceLoss = 0
  /// Whether a call has thrown because LOCK or SUPERBLOCK lost its name.
  var isRefused = false
  /// Snapshots, which prevent the removal of garbage.
  var held: [Snapshot] = []

  init(_ store: Store, _ folder: StoreFolder) throws {
    self.store = store
    self.folder = folder
    keyspace = try store.keyspace("rows", .dense)
    folder.hasSegments = true
  }

  /// Waits until the store's threads have no work, so that its files do not change.
  func waitForThreads() {
    while store.hasBackgroundWork { SystemLink.waitBriefly() }
  }
}

/// The options, rows and files of histories of folders.
enum FolderWorld {
  static let segmentCapacity = 4096

  /// - Parameter usesThreads: Whether threads of the store compact, write checkpoints and create
  ///   the files of segments. The limits are so low that these threads work after most commits.
  static func options(
    _ fileSystem: any FileSystem, checksFolder: Bool, usesThreads: Bool
  ) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = segmentCapacity
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    options.compactsAutomatically = usesThreads
    options.reserveBytes = 0
    options.checksFolder = checksFolder
    if usesThreads {
      options.compactionGarbageBytesMin = 4096
      options.checkpoints.tailBytes = 4096
      // No thread wakes between the calls of a history.
      options.checkpoints.idleSeconds = 3600
      options.syncAheadBytes = 1024
    }
    return options
  }

  /// The value of a row. The values of every fifth row have their own files.
  static func value(_ id: UInt64, _ round: UInt8) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: id % 5 == 4 ? 1400 : 250) + [round]
  }

  static func rows(of store: Store, _ keyspace: Keyspace) throws -> [UInt64: UInt8] {
    let snapshot = store.snapshot()
    var rows: [UInt64: UInt8] = [:]
    try snapshot.visitIDs(keyspace, from: 0) { id in
      rows[id] = 0
      return true
    }
    for id in rows.keys {
      let value = try snapshot.value(id: id, in: keyspace) ?? []
      guard let round = value.last, value == Self.value(id, round) else {
        throw Violation("row \(id) differs from the written row")
      }
      rows[id] = round
    }
    return rows
  }

  static func files(in path: String, _ fileSystem: any FileSystem) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try fileSystem.contents(of: path) {
      let file = try fileSystem.open(path + "/" + name, .read)
      files[name] = try file.read(Int(file.size()), at: 0)
      try file.close()
    }
    return files
  }

  static func write(_ files: [String: [UInt8]], into path: String, _ fileSystem: any FileSystem) throws {
    for (name, bytes) in files {
      let file = try fileSystem.open(path + "/" + name, .create)
      try file.write(bytes, at: 0)
      try file.close()
    }
  }
}
