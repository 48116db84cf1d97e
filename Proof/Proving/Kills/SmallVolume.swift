import PerdureFileIO
import PerdureLog

/// A volume of 24 MiB that is filled completely, if this process is allowed to mount one. It is an
/// ext4 file system in a file. It is visible only in a mount namespace, so that it ends with the
/// processes of the namespace.
enum SmallVolume {
  enum Outcome: Equatable {
    case held, skipped
    case violated(String)
  }

  /// Runs `KillChild.fill` on such a volume, in a separate process.
  static func run(_ executable: String, in directory: String, isCancelled: () -> Bool) -> Outcome {
    #if os(Linux)
      let arguments = ["-m", "sh", "-c", script, "sh", directory, executable]
      guard let shell = try? ChildProcess("unshare", arguments) else { return .skipped }
      switch shell.wait(milliseconds: 50_000, isCancelled: isCancelled).end {
      case .exit(0): return .held
      case .exit(failed): return .violated("a store on a full volume failed; its output has the reason")
      case .exit: return .skipped
      case .signal(let number): return .violated("a store on a full volume: signal \(number)")
      }
    #else
      return .skipped
    #endif
  }

  private static let failed: Int32 = 3

  /// The script unmounts the volume. If that fails, the volume and its loop device end with the
  /// namespace.
  private static let script = """
    cd "$1" || exit 77
    truncate -s 24M image && mkfs.ext4 -q -m 0 image && mkdir volume && mount -o loop image volume || exit 77
    "$2" kill-child fill "$1/volume" 0 0 || status=\(failed)
    umount volume || umount -l volume
    exit ${status:-0}
    """
}

extension KillChild {
  /// Fills a volume with rows, and the remaining space with another file. Checks that no row is
  /// lost, that rows can be removed, and that compaction frees space for other rows.
  package static func fill(_ directory: String) throws {
    let path = storePath(directory)
    var options = StoreOptions()
    options.segmentCapacityBytes = 1 << 20
    options.compactsAutomatically = false
    options.durability = .relaxed
    var store = try Store(at: path, options: options)
    var rows = try store.keyspace("rows", .dense)
    let count = try fill(store, rows, from: 1)
    guard count > 1000 else { throw Violation("only \(count) rows fill the volume") }
    try takeTheRest(of: directory)
    try store.close()

    store = try Store(at: path, options: options)
    rows = try store.keyspace("rows", .dense)
    try check(store, rows, 1...count) { _ in true }
    for id in 1...count where id % 2 == 0 { try remove(id, store, rows) }
    try takeTheRest(of: directory)
    try store.compact()
    try check(store, rows, 1...count) { $0 % 2 == 1 }
    let more = try fill(store, rows, from: count + 1)
    guard more > count + 500 else { throw Violation("compaction freed space for only \(more - count) rows") }
    guard try store.verify().isClean else { throw Violation("\(try store.verify().findings)") }
    try store.close()
  }

  private static func value(_ id: UInt64) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: id &* 7), count: 4000)
  }

  /// Puts rows until the volume is full. Returns the id of the last row.
  private static func fill(_ store: Store, _ rows: Keyspace, from first: UInt64) throws -> UInt64 {
    for id in first... {
      do { try store.write { try $0.put(value(id), id: id, in: rows) } } catch let error as StoreError {
        guard error.code == .diskFull else { throw error }
        return id - 1
      }
    }
    return first
  }

  /// Removes a row. The reserve has space for many removals. When it is used up, a compaction frees
  /// space for more removals.
  private static func remove(_ id: UInt64, _ store: Store, _ rows: Keyspace) throws {
    do { try store.write { try $0.remove(id: id, in: rows) } } catch let error as StoreError {
      guard error.code == .diskFull else { throw error }
      try store.compact()
      try store.write { try $0.remove(id: id, in: rows) }
    }
  }

  private static func check(
    _ store: Store, _ rows: Keyspace, _ ids: ClosedRange<UInt64>, isThere: (UInt64) -> Bool
  ) throws {
    let snapshot = store.snapshot()
    for id in ids {
      guard try snapshot.value(id: id, in: rows) == (isThere(id) ? value(id) : nil) else {
        throw Violation("row \(id) has a wrong value")
      }
    }
  }

  /// Fills all remaining space with another file.
  private static func takeTheRest(of directory: String) throws {
    let (path, fileSystem) = (directory + "/others", POSIXFileSystem())
    let file = try fileSystem.open(path, try fileSystem.kind(of: path) == nil ? .create : .readWrite)
    var end = try file.size()
    for length in [1 << 20, 1 << 12, 1] {
      let piece = [UInt8](repeating: 1, count: length)
      do {
        while true {
          try file.write(piece, at: end)
          end += UInt64(length)
        }
      } catch {
        guard error.code == .noSpace else { throw error }
      }
    }
    try file.close()
  }
}
