import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A file system with a folder in which tests create, move and remove stores.
struct Ground {
  let fileSystem: any FileSystem
  private let root: String
  private let keep: (any Sendable)?

  enum Kind: CaseIterable {
    case memory, simulation, disk
  }

  init(_ kind: Kind) throws {
    let directory = kind == .disk ? try TemporaryDirectory() : nil
    switch kind {
    case .memory: fileSystem = InMemoryFileSystem()
    case .simulation: fileSystem = SimulatedFileSystem()
    case .disk: fileSystem = POSIXFileSystem()
    }
    root = directory?.path ?? ""
    keep = directory
  }

  func path(_ name: String) -> String { root + "/" + name }

  /// Options with short segments and without background work.
  func options() -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    return options
  }

  func open(_ name: String, isReadOnly: Bool = false) throws -> FilledStore {
    var options = options()
    options.isReadOnly = isReadOnly
    return try FilledStore(Store(at: path(name), options: options))
  }

  func files(_ name: String) throws -> [String: [UInt8]] { try fileSystem.files(in: path(name)) }

  func copy(_ source: String, _ target: String) throws {
    try fileSystem.createDirectory(path(target))
    for (name, bytes) in try files(source) {
      let file = try fileSystem.open(path(target) + "/" + name, .create)
      try file.write(bytes, at: 0)
      try file.close()
    }
  }
}

/// A store whose values depend on the row's id and on a round.
struct FilledStore {
  let store: Store
  let rows: Keyspace

  init(_ store: Store) throws {
    self.store = store
    rows = try store.keyspace("rows", .dense)
  }

  private static func value(_ id: UInt64, _ round: UInt8) -> [UInt8] {
    // Every eighth value is in a blob file.
    [UInt8](repeating: round, count: id % 8 == 7 ? 1500 : 300) + [UInt8(truncatingIfNeeded: id)]
  }

  func put(_ ids: Range<UInt64>, round: UInt8) throws {
    for id in ids { try store.write { try $0.put(Self.value(id, round), id: id, in: rows) } }
  }

  /// Whether the store has exactly these rows, with values of this round.
  func holds(_ ids: Range<UInt64>, round: UInt8) throws -> Bool {
    let snapshot = store.snapshot()
    guard snapshot.count(in: rows) == ids.count else { return false }
    return try ids.allSatisfy { try snapshot.value(id: $0, in: rows) == Self.value($0, round) }
  }

  var findings: [String] {
    get throws { try store.verify().findings.map(\.description) }
  }
}

/// Expects the error for a removed or replaced folder.
func expectReplaced(
  _ what: String = "", sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
  let error = #expect(throws: StoreError.self, "\(what)", sourceLocation: sourceLocation, performing: body)
  #expect(error?.code == .poisoned, "\(what)", sourceLocation: sourceLocation)
  #expect(error?.message.contains("removed or replaced") == true, "\(what)", sourceLocation: sourceLocation)
}

extension FileSystem {
  /// Marks a store as a complete draft that replaces another store.
  func markAsReplacement(_ path: String) throws {
    for mark in ["COPY.tmp", CopyDraft.replacementMark.string] {
      try open(path + "/" + mark, .create).close()
    }
  }
}
