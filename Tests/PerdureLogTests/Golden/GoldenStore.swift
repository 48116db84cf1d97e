import PerdureFileIO
import PerdureProving
import PerdureTestSupport

@testable import PerdureLog

// Golden stores are files that one version of Perdure wrote. Every later version must be able to
// read them. They are in the directory of this file, in Stores/v<version>/<kind>, and are never
// written again.

/// A golden store in the repository.
struct GoldenStore: Hashable, CustomStringConvertible {
  enum Kind: String, CaseIterable {
    /// Closed, without a checkpoint.
    case closed
    /// Closed, with an index file, and commits after the checkpoint.
    case checkpoint
    /// With segments that compaction has rewritten, or removed.
    case rewritten
    /// With grouped segments.
    case grouped
    /// In a state after a power cut: not closed, and with half of a commit at the end.
    case cutOff = "cut-off"
    /// With compressed values: some without a dictionary, and some with each of two dictionaries.
    case packed
    /// Like `checkpoint`, with sums of groups and their order, and an index that was removed.
    case sums
    /// A backup in a folder, as it is before a writer opens it.
    case backup
    /// Restored from a backup, and then written to, so that it has a branch id.
    case restored
  }

  var version: Int
  var kind: Kind

  /// All golden stores.
  static let all =
    [.closed, .checkpoint, .rewritten, .cutOff].map { GoldenStore(version: 1, kind: $0) }
    + [.packed, .checkpoint].map { GoldenStore(version: 2, kind: $0) }
    + [
      GoldenStore(version: 3, kind: .grouped), GoldenStore(version: 4, kind: .checkpoint),
      GoldenStore(version: 5, kind: .sums),
    ]
    // Records are bound to their addresses.
    + [.checkpoint, .rewritten, .grouped, .packed, .cutOff].map { GoldenStore(version: 6, kind: $0) }
    // Stores of the same format: copies, and two kinds whose records were not bound in earlier
    // versions.
    + [.backup, .restored, .closed, .sums].map { GoldenStore(version: 7, kind: $0) }
  /// The version that the generator writes. It writes the stores of `all` with this version.
  static let newestVersion = 7

  /// Whether an opening uses the index file. Index files of older versions are not used (FORMAT.md,
  /// section 20).
  var hasUsableCheckpoint: Bool { hasIndexFile && version > 3 }

  var hasIndexFile: Bool { kind == .checkpoint || kind == .sums }

  var description: String { "v\(version)/\(kind.rawValue)" }

  /// The path of the store.
  var path: String { Self.folder + "/v\(version)/\(kind.rawValue)" }

  static let folder =
    #filePath.split(separator: "/", omittingEmptySubsequences: false)
    .dropLast().joined(separator: "/") + "/Stores"

  /// The store's files, by name without the folder.
  func files() throws -> [String: [UInt8]] { try POSIXFileSystem().files(in: path) }

  /// Writes files to a new folder.
  static func write(_ files: [String: [UInt8]], to folder: String) throws {
    let fileSystem = POSIXFileSystem()
    var path = ""
    for part in folder.split(separator: "/") {
      path += "/" + part
      if try fileSystem.kind(of: path) == nil { try fileSystem.createDirectory(path) }
    }
    for (name, bytes) in files {
      guard try fileSystem.kind(of: folder + "/" + name) == nil else { throw Violation("\(folder) exists") }
      try fileSystem.open(folder + "/" + name, .create).write(bytes, at: 0)
    }
  }
}

/// Makes stores in the format of this version.
struct GoldenGenerator {
  private static let path = "/golden"
  private let fileSystem = SimulatedFileSystem()
  private let history = GoldenHistory()

  /// The files of a new store.
  static func files(of kind: GoldenStore.Kind) throws -> [String: [UInt8]] { try Self().make(kind) }

  /// A backup of a new store as a stream.
  static func backupStream() throws -> [UInt8] {
    let generator = Self()
    let (store, last) = try generator.makeStore(.rewritten)
    try generator.history.write(last..<generator.history.commits.count, to: store)
    var stream: [UInt8] = []
    try store.backup { part in part.withUnsafeBytes { stream += $0 } }
    return stream
  }

  private func make(_ kind: GoldenStore.Kind) throws -> [String: [UInt8]] {
    var (store, last) = try makeStore(kind)
    if kind == .restored {
      try store.backup(to: "/backup")
      try Store.restore(from: "/backup", to: "/restored", options: options(kind))
      store = try Store(at: "/restored", options: options(kind))
    }
    try history.write(last..<history.commits.count, to: store)
    switch kind {
    case .cutOff: return try cutOff(store)
    case .backup: try store.backup(to: "/backup")
    default: break
    }
    try store.close()
    return files(in: [.backup: "/backup", .restored: "/restored"][kind] ?? Self.path)
  }

  private func options(_ kind: GoldenStore.Kind) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = GoldenHistory.segmentCapacityBytes
    options.blobThresholdBytes = GoldenHistory.blobThresholdBytes
    options.checkpoints = .manual
    options.compactsAutomatically = false
    if kind == .packed { options.compression = Self.compression }
    if kind == .grouped {
      options.compression.groupsColdRecords = true
      options.compression.groupLengthTarget = 1024
    }
    return options
  }

  /// Makes a store without its last commits.
  ///
  /// - Returns: The store, and the number of commits in it.
  private func makeStore(_ kind: GoldenStore.Kind) throws -> (Store, Int) {
    let store = try Store(at: Self.path, options: options(kind))
    try history.write(0..<5, to: store)
    try GoldenHistory.defineIndexes(in: store)
    if kind == .sums { try GoldenHistory.defineSums(in: store) }
    // Some commits follow the checkpoint, so that an opening reads the log after it.
    let last = history.commits.count - 3
    if kind == .packed { try Self.train(store) }
    try history.write(5..<last, to: store)
    if kind == .packed { try Self.train(store) }
    if kind == .checkpoint || kind == .sums { try store.checkpoint() }
    if kind == .rewritten || kind == .grouped { _ = try store.compact() }
    return (store, last)
  }

  private func cutOff(_ store: Store) throws -> [String: [UInt8]] {
    let files = files(in: Self.path)
    try store.write { [rows = try store.keyspace("rows", .dense)] transaction in
      try transaction.put([UInt8](repeating: 9, count: 200), id: 999, in: rows)
    }
    let cut = Self.cut(files, self.files(in: Self.path))
    try store.close()
    return cut
  }

  private static var compression: CompressionOptions {
    var options = CompressionOptions()
    options.mode = .dictionary
    options.trainsAutomatically = false
    options.dictionaryBytes = 1024
    options.valueBytesMin = 16
    return options
  }

  private static func train(_ store: Store) throws {
    guard try store.trainDictionary(for: store.keyspace("rows", .dense)) != nil else {
      throw Violation("training made no dictionary")
    }
  }

  private func files(in folder: String) -> [String: [UInt8]] {
    let image = fileSystem.currentImage
    var files: [String: [UInt8]] = [:]
    for path in image.paths where path.hasPrefix(folder + "/") && !path.hasSuffix("/LOCK") {
      files[String(path.dropFirst(folder.count + 1))] = image.bytes(at: path)
    }
    return files
  }

  /// The files with only the first half of the last commit's bytes.
  private static func cut(_ before: [String: [UInt8]], _ after: [String: [UInt8]]) -> [String: [UInt8]] {
    var files = before
    for (name, bytes) in after where name.hasSuffix(".segment") && bytes != before[name] {
      let old = before[name] ?? []
      let changed = bytes.indices.filter { $0 >= old.count ? bytes[$0] != 0 : bytes[$0] != old[$0] }
      guard let first = changed.first, let last = changed.last else { continue }
      let middle = (first + last) / 2
      files[name] = Array(bytes[..<middle]) + old.dropFirst(middle)
    }
    return files
  }
}
