import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store that records its commits and computes the expected contents of its backups.
///
/// Each commit writes its number to the row of its writer, so the states after any two commits
/// differ. It also writes a value made from that number to one of sixty other rows. Some commits
/// also remove a row or put a long value.
final class BackedUpStore: Sendable {
  private struct State {
    /// The changes of each commit, by sequence number.
    var puts: [UInt64: [UInt64: [UInt8]]] = [:]
    var removals: [UInt64: UInt64] = [:]
    /// The contents after the commit `sequence`.
    var content: [UInt64: [UInt8]] = [:]
    var sequence: UInt64 = 0
  }

  let store: Store
  let rows: Keyspace
  /// The sequence number of the commit before the first recorded commit.
  private let start: UInt64
  private let state: Guarded<State>

  init(at path: String = "/store", _ options: StoreOptions) throws {
    store = try Store(at: path, options: options)
    rows = try store.keyspace("rows", .dense)
    start = store.snapshot().sequence
    state = Guarded(State())
  }

  static func options(_ fileSystem: any FileSystem, segmentCapacityBytes: Int = 16 << 10) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = segmentCapacityBytes
    options.blobThresholdBytes = 4096
    options.reserveBytes = 0
    options.durability = .relaxed
    return options
  }

  /// Options without a speed limit.
  static var unpaced: BackupOptions {
    var options = BackupOptions()
    options.bytesPerSecond = nil
    return options
  }

  /// Makes the writer's commit with this number.
  func commit(_ number: UInt64, of writer: UInt64 = 0, length: Int = 150) throws {
    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length + Int(number % 40))
    var puts = [writer: Self.bytes(number), 1000 * (writer + 1) + number % 60: value]
    if number % 25 == 24 {
      puts[100 + writer] = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 5000)
    }
    let removed = number % 7 == 6 ? 1000 * (writer + 1) + (number + 30) % 60 : nil
    let (_, sequence) = try store.write { transaction in
      for (id, value) in puts { try transaction.put(value, id: id, in: rows) }
      if let removed { try transaction.remove(id: removed, in: rows) }
    }
    state.withLock { state in
      state.puts[sequence] = puts
      state.removals[sequence] = removed
    }
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  /// The contents after a commit; nil means after the last commit.
  func content(at sequence: UInt64? = nil) -> [UInt64: [UInt8]] {
    let sequence = sequence ?? store.snapshot().sequence
    state.withLock { state in
      if state.sequence > sequence || state.sequence < start {
        (state.content, state.sequence) = ([:], start)
      }
    }
    while state.withLock({ $0.sequence < sequence }) { fold() }
    return state.withLock { $0.content }
  }

  /// Applies the next commit if the commit's writer has recorded it.
  private func fold() {
    state.withLock { state in
      let next = state.sequence + 1
      guard let puts = state.puts[next] else { return }
      state.content.merge(puts) { $1 }
      if let removed = state.removals[next] { state.content[removed] = nil }
      state.sequence = next
    }
  }

  /// Opens a backup, verifies it, and compares it with the store's contents at the backup's commit.
  @discardableResult
  func check(_ path: String, _ options: StoreOptions, _ report: BackupReport? = nil) throws -> UInt64 {
    var options = options
    options.isReadOnly = true
    options.registersAsReader = false
    options.createsIfMissing = false
    let backup = try Store(at: path, options: options)
    defer { try? backup.close() }
    #expect(try backup.verify().isClean)
    #expect(backup.identifier == store.identifier)
    let snapshot = backup.snapshot()
    if let report { #expect(snapshot.sequence == report.sequence) }
    #expect(try content(of: backup) == content(at: snapshot.sequence))
    return snapshot.sequence
  }

  func content(of store: Store) throws -> [UInt64: [UInt8]] {
    var content: [UInt64: [UInt8]] = [:]
    try store.snapshot().forEach(in: store.keyspace("rows", .dense)) { (id: UInt64, value: RawSpan) in
      content[id] = value.withUnsafeBytes { Array($0) }
      return true
    }
    return content
  }
}

/// A file system that counts the bytes written to each file.
final class CountingFolder: ForwardingFileSystem {
  let behind: any FileSystem
  private let bytes = Guarded<[String: UInt64]>([:])

  init(_ behind: any FileSystem) { self.behind = behind }

  /// The bytes written to all files whose path contains `part`, except `.tmp` files.
  func written(to part: String) -> UInt64 {
    bytes.withLock {
      $0.filter { $0.key.contains(part) && !$0.key.hasSuffix(".tmp") }.values.reduce(0, +)
    }
  }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    CountedFile(try behind.open(path, mode)) { [bytes] count in
      bytes.withLock { $0[path, default: 0] += UInt64(count) }
    }
  }
}

private final class CountedFile: ForwardingFile {
  let behind: any File
  private let didWrite: @Sendable (Int) -> Void

  init(_ behind: any File, _ didWrite: @escaping @Sendable (Int) -> Void) {
    (self.behind, self.didWrite) = (behind, didWrite)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try behind.write(bytes, at: offset)
    didWrite(bytes.count)
  }
}
