import PerdureFileIO
import PerdureFormat

// One writer, and any number of processes that read at the same time. The writer never waits for a
// reader, and a reader never waits for the writer. A killed process leaves nothing that needs
// manual cleanup.
//
// Most of the files that a reader reads do not change: bytes of frames are never overwritten, and a
// replaced or removed file stays readable for a process that has it open. Two things change: units
// of the index file, which are used again, and blob files, which a reader opens only when it reads
// the value. For these a reader registers: it holds the lock on a slot of the file READERS, and the
// slot contains its needs. The system ends the lock with the process. FORMAT.md, "Reading beside a
// writer", has the rules for other programs.
//
// Invariants
//  RT1  A reader locks its slot, writes into it that it may need everything, and only then reads
//       the superblock, the directory and the log. The writer reads the slots after it has written
//       the data it relies on (superblock, log). Each step is a system call, so the steps are
//       ordered. If the writer does not find a reader's lock, it wrote before that reader reads,
//       and the reader finds the written data.
//  RT2  Between the lock and the first write into it a slot may say what its last holder needed. A
//       writer that reads the old content wrote its data before the reader reads (RT1): no harm.
//  RT3  While its lock is held, a slot's content only becomes less demanding: from everything, to
//       the needs of the opened state, then to those of later states of the same checkpoint. A new
//       checkpoint means a new slot.
//  RT4  Units of an index file are written over only when no reader may need everything or names a
//       checkpoint of that file that reaches them: from the first that does on, and before the
//       first that does not. A blob file is removed only when no reader may need everything or a
//       state that names it.
//  RT5  Undecodable content (a slot that is just being written, an unreadable file) counts as a
//       reader that may need everything.
//
// A reader cannot register if the medium or the directory is read-only, or has no such locks. It
// reads the index into private memory, which no other process changes, and checks it there:
// K1 and K2 of FORMAT.md ensure that an intact index there is a checkpoint. A blob file may go
// away under it, which it reports as such.

/// The needs of the live readers.
struct ReaderNeeds: Equatable {
  /// Whether a reader may need everything.
  var everything = false
  var holds: [ReaderSlot.Hold] = []

  /// Whether a reader may walk units of an index file that these checkpoints reach. RT4
  func mayReach(_ checkpoints: Range<UInt64>, inIndexFile number: UInt64) -> Bool {
    everything || holds.contains { $0.indexFile == number && checkpoints.contains($0.checkpoint) }
  }

  /// Whether a reader may read one of these states. RT4
  ///
  /// - Parameter states: By sequence number; not before the first commit.
  func mayRead(_ states: Range<UInt64>) -> Bool {
    everything
      || holds.contains { hold in
        hold.sequence < states.upperBound
          && (hold.lastSequence == 0 || hold.lastSequence >= states.lowerBound)
      }
  }

  /// The oldest commit whose state a reader may read; nil if there is no reader.
  var oldestSequence: UInt64? { everything ? 0 : holds.map(\.sequence).min() }
}

/// The file in which readers register, as the writer sees it.
struct ReaderTable: Sendable {
  let directory: any Directory
  private let failure = Guarded<FileIOError?>(nil)

  init(directory: any Directory) { self.directory = directory }

  /// The error of the last call of `needs`; nil if it could read the file.
  var lastFailure: FileIOError? { failure.withLock { $0 } }

  fileprivate static let name = StoreFileName.readers.string

  /// A live reader; nil: the slot's content cannot be decoded.
  typealias Entry = ReaderSlot?

  /// All registered readers. Must be read after the writes that make files removable (RT1).
  ///
  /// - Complexity: for n slots that were ever used, O(n), with a system call each.
  func entries() throws(FileIOError) -> [Entry] {
    guard try directory.kind(of: Self.name) != nil else { return [] }
    let file: any File
    do throws(FileIOError) { file = try directory.open(Self.name, .read) } catch {
      if error.code == .notFound { return [] }
      throw error
    }
    defer { try? file.close() }
    let slotCount = min(Int(try file.size()) / ReaderSlot.length, ReaderSlot.countMax)
    var entries: [Entry] = []
    for slot in 0..<slotCount where try isTaken(slot, in: file) {
      let bytes = try file.read(ReaderSlot.length, at: Self.range(slot).lowerBound)
      entries.append(bytes.withUnsafeBytes { try? ReaderSlot(reading: $0) })
    }
    return entries
  }

  private func isTaken(_ slot: Int, in file: any File) throws(FileIOError) -> Bool {
    do throws(FileIOError) { return try file.isLocked(Self.range(slot)) } catch {
      // Without such locks no reader can have registered.
      if error.code == .notSupported { return false }
      throw error
    }
  }

  /// The needs of all of them. RT5
  func needs() -> ReaderNeeds {
    let entries: [Entry]
    do {
      entries = try self.entries()
      failure.withLock { $0 = nil }
    } catch {
      failure.withLock { $0 = error }
      return ReaderNeeds(everything: true)
    }
    var needs = ReaderNeeds()
    for entry in entries {
      if let hold = entry?.hold { needs.holds.append(hold) } else { needs.everything = true }
    }
    return needs
  }

  fileprivate static func range(_ slot: Int) -> Range<UInt64> {
    let start = UInt64(slot * ReaderSlot.length)
    return start..<(start + UInt64(ReaderSlot.length))
  }
}

/// A reader's slot in the table, held as long as the object lives.
final class ReaderRegistration: Sendable {
  private let file: any File
  private let range: Range<UInt64>
  private let since: UInt64
  private let mark = ProcessMark.currentIfAny()

  private init(_ file: any File, _ range: Range<UInt64>, since: UInt64) {
    self.file = file
    self.range = range
    self.since = since
  }

  deinit {
    // Closing alone releases the lock only if no child before its `exec` shares the open file.
    // Errors are ignored: the lock ends with the process. A forked child shares the lock with its
    // parent, and only closes its own descriptor.
    if mark?.isOwn ?? true { try? file.unlock(range) }
    try? file.close()
  }

  /// Registers a reader that may need everything; nil if that fails.
  static func take(in table: ReaderTable) -> ReaderRegistration? {
    guard let file = try? openFile(table) else { return nil }
    for slot in 0..<ReaderSlot.countMax {
      let range = ReaderTable.range(slot)
      guard let isTaken = try? file.tryLock(range) else { break }
      guard isTaken else { continue }
      // From here on the object's deinit releases the lock.
      let registration = ReaderRegistration(file, range, since: Environment.secondsSince1970)
      do { try registration.write(nil) } catch { return nil }
      return registration
    }
    try? file.close()
    return nil
  }

  private static func openFile(_ table: ReaderTable) throws(FileIOError) -> any File {
    do { return try table.directory.open(ReaderTable.name, .readWrite) } catch {
      guard error.code == .notFound else { throw error }
    }
    do { return try table.directory.open(ReaderTable.name, .create) } catch {
      guard error.code == .alreadyExists else { throw error }
    }
    return try table.directory.open(ReaderTable.name, .readWrite)
  }

  /// Writes the present needs; never more than before. RT3
  func narrow(to hold: ReaderSlot.Hold) throws(FileIOError) { try write(hold) }

  private func write(_ hold: ReaderSlot.Hold?) throws(FileIOError) {
    let slot = ReaderSlot(processID: UInt32(Environment.processID), since: since, hold: hold)
    var bytes = [UInt8](repeating: 0, count: ReaderSlot.length)
    bytes.withUnsafeMutableBytes { slot.write(to: $0) }
    try file.write(bytes, at: range.lowerBound)
  }
}
