import PerdureFileIO
import PerdureFormat

// One writer, and any number of processes that read at the same time. The writer never waits for a
// reader, and a reader never waits for the writer. A killed process leaves nothing that needs
// manual cleanup.
//
// Most of the files that a reader reads do not change. Bytes of frames are never overwritten, and a
// replaced or removed file stays readable for a process that has it open. There are two exceptions.
// Units of the index file are reused, and a blob file may be removed before a reader opens it to
// read a value. Because of these two, readers register. A reader holds the lock on a slot of the
// file READERS, and the slot contains the reader's needs. The system releases the lock when the
// process ends. FORMAT.md, "Reading while a program writes", has the rules for other programs.
//
// Invariants
//  RT1  A reader first locks its slot. It then writes into the slot that it may need everything.
//       After that, it reads the superblock, the directory and the log. The writer reads the slots
//       after it has written its own data (superblock, log). Each step is a system call, so the
//       steps are ordered. If the writer does not find a reader's lock, that reader reads after the
//       writer has written, and finds the written data.
//  RT2  Between the lock and the first write, a slot may still contain the needs of its last
//       holder. A writer that reads this old content wrote its data before the new reader reads
//       (RT1). So this is harmless.
//  RT3  While its lock is held, a slot's content only becomes less demanding. At first the reader
//       may need everything, then the opened state, and then later states of the same checkpoint. A
//       new checkpoint requires a new slot.
//  RT4  Units of an index file are overwritten only under two conditions. No reader may need
//       everything, and no reader's slot contains a checkpoint of that file that reaches these
//       units. These checkpoints are consecutive: from the first one that reaches the units to the
//       last one. A blob file is removed only if no reader may need everything, and no reader may
//       need a state that references the file.
//  RT5  Undecodable content (a slot that is just being written, an unreadable file) counts as a
//       reader that may need everything.
//
// A reader cannot register if the medium or the directory is read-only, or has no such locks. Then
// it reads the index into private memory, which no other process changes, and checks it there. K1
// and K2 of FORMAT.md ensure that an intact index in memory is a checkpoint. A blob file may be
// removed before such a reader opens it; the reader reports that.

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
  /// - Parameter states: Sequence numbers, all at least 1.
  func mayRead(_ states: Range<UInt64>) -> Bool {
    everything
      || holds.contains { hold in
        hold.sequence < states.upperBound
          && (hold.lastSequence == 0 || hold.lastSequence >= states.lowerBound)
      }
  }

  /// The oldest commit whose state a reader may read: 0 if a reader may need everything; nil if
  /// there is no reader.
  var oldestSequence: UInt64? { everything ? 0 : holds.map(\.sequence).min() }
}

/// The file in which readers register, as seen by the writer.
struct ReaderTable: Sendable {
  let directory: any Directory
  private let failure = Guarded<FileIOError?>(nil)

  init(directory: any Directory) { self.directory = directory }

  /// The error of the last call of `needs`; nil if it could read the file.
  var lastFailure: FileIOError? { failure.withLock { $0 } }

  fileprivate static let name = StoreFileName.readers.string

  /// A live reader; nil if the slot's content cannot be decoded.
  typealias Entry = ReaderSlot?

  /// All registered readers. They must be read after the writes that make files removable (RT1).
  ///
  /// - Complexity: O(n) for n slots that were ever used, with one system call for each, and another
  ///   for each reader.
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

  /// The needs of all registered readers. RT5
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

extension Engine {
  /// The error if `READERS` cannot be read; nil if it can be read. A store that is opened for
  /// reading has not read the file yet, so this property reads it now.
  var readersFailure: FileIOError? {
    guard options.isReadOnly else { return readers.lastFailure }
    do throws(FileIOError) { _ = try readers.entries() } catch { return error }
    return nil
  }
}

/// A reader's slot in the table, locked while the object exists.
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
    // Closing the file releases the lock only if no other process shares the open file. A child
    // before its `exec` may share it, so the lock is released first. Errors are ignored, because
    // the lock ends with the process. A forked child shares the lock with its parent, so it only
    // closes its own descriptor.
    if mark?.isOwn ?? true { try? file.unlock(range) }
    try? file.close()
  }

  /// Registers a reader that may need everything; returns nil if that fails.
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

  /// Writes the current needs, which are never greater than before. RT3
  func narrow(to hold: ReaderSlot.Hold) throws(FileIOError) { try write(hold) }

  private func write(_ hold: ReaderSlot.Hold?) throws(FileIOError) {
    let slot = ReaderSlot(processID: UInt32(Environment.processID), since: since, hold: hold)
    var bytes = [UInt8](repeating: 0, count: ReaderSlot.length)
    bytes.withUnsafeMutableBytes { slot.write(to: $0) }
    try file.write(bytes, at: range.lowerBound)
  }
}
