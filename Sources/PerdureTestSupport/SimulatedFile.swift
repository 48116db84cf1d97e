import PerdureFileIO
import Synchronization

/// An open file of a `SimulatedFileSystem`.
final class SimulatedFile: File {
  let path: String
  private let node: UInt64
  private let content: MemoryContent
  private let isWritable: Bool
  private let isClosed = Atomic<Bool>(false)
  private let state: Guarded<SimulatedFileSystem.State>
  private let locks: RangeLockTable.Holder

  init(
    path: String, node: UInt64, content: MemoryContent, isWritable: Bool,
    state: Guarded<SimulatedFileSystem.State>
  ) {
    self.path = path
    self.node = node
    self.content = content
    self.isWritable = isWritable
    self.state = state
    locks = RangeLockTable.Holder(content.locks)
  }

  deinit { locks.releaseAll() }

  func size() throws(FileIOError) -> UInt64 {
    try check(.size)
    return UInt64(content.count)
  }

  func linkCount() throws(FileIOError) -> Int {
    try check(.size, reported: .linkCount)
    return state.withLock { $0.tree.linkCount(of: node) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    try checkOpen(.read)
    let start = Int(clamping: offset)
    let all = min(buffer.count, content.count - min(start, content.count))
    let failure = state.withLock { $0.failures.strike(.read, path: path, isEmpty: all == 0) }
    guard let failure else { return try readAll(into: buffer, at: offset) }
    guard case .partialRead(let count) = failure.effect else { throw failure.error(.read, path: path) }
    return try readAll(into: .init(rebasing: buffer.prefix(min(count, all - 1))), at: offset)
  }

  private func readAll(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(FileIOError) -> Int {
    try FileRange.check(buffer.count, at: offset, operation: .read, path: path)
    return content.read(into: buffer, at: offset)
  }

  func map(_ length: Int) throws(FileIOError) -> FileMapping {
    precondition(length > 0, "A mapping must have at least one byte")
    try check(.map)
    guard let mapping = content.map(length) else {
      throw FileIOError(.outOfMemory, operation: .map, path: path)
    }
    return mapping
  }

  func close() throws(FileIOError) {
    guard !isClosed.exchange(true, ordering: .relaxed) else { return }
    locks.releaseAll()
    if let failure = state.withLock({ $0.failures.strike(.close, path: path) }) {
      throw failure.error(.close, path: path)
    }
  }

  /// - Parameter reported: The operation in the error; nil for that of `operation`.
  private func check(
    _ operation: FileOperation, reported: FileIOError.Operation? = nil
  ) throws(FileIOError) {
    let reported = reported ?? operation.reported
    try checkOpen(reported)
    if let failure = state.withLock({ $0.failures.strike(operation, path: path) }) {
      throw failure.error(reported, path: path)
    }
  }

  private func checkOpen(_ operation: FileIOError.Operation) throws(FileIOError) {
    guard !isClosed.load(ordering: .relaxed) else {
      throw FileIOError(.closed, operation: operation, path: path)
    }
  }
}

// Locks. Failures are injected for `.lock`. If the injected error has the code `.locked`, `tryLock`
// does not throw. It reports that another holder has the range.
extension SimulatedFile {
  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    do { try check(.lock, reported: .tryLock) } catch {
      if error.code == .locked { return false }
      throw error
    }
    guard isWritable else { throw FileIOError(.permissionDenied, operation: .tryLock, path: path) }
    return locks.take(range)
  }

  func unlock(_ range: Range<UInt64>) throws(FileIOError) {
    try check(.lock, reported: .unlock)
    locks.release(range)
  }

  func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    try check(.lock, reported: .isLocked)
    return locks.isTakenByOther(range)
  }
}

// Writes and syncs, which the journal records.
extension SimulatedFile {
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try checkOpen(.write)
    guard isWritable else {
      throw FileIOError(.permissionDenied, operation: .write, path: path, offset: offset)
    }
    try FileRange.check(bytes.count, at: offset, operation: .write, path: path)
    try state.withLock { state throws(FileIOError) in
      if let failure = state.failures.strike(.write, path: path) {
        if case .partialWrite(let count) = failure.effect {
          try store(bytes.prefix(count), at: offset, &state)
        }
        throw failure.error(.write, path: path, offset: offset)
      }
      let room = roomFor(bytes.count, at: offset, state)
      try store(bytes.prefix(room), at: offset, &state)
      guard room == bytes.count else {
        throw FileIOError(.noSpace, operation: .write, path: path, offset: offset + UInt64(room))
      }
    }
  }

  func sync(_ mode: SyncMode) throws(FileIOError) {
    try checkOpen(.sync)
    try state.withLock { state throws(FileIOError) in
      if let failure = state.failures.strike(.sync, path: path) {
        let forgets = failure.effect == .forgetsWrites
        state.journal.record(.sync, "\(path) failed", forgets ? .forget(file: node) : .ignored)
        if state.hidesFailedSyncs { return }
        throw failure.error(.sync, path: path)
      }
      let event = state.ignoresSync ? DiskEvent.ignored : .sync(file: node, mode)
      state.journal.record(.sync, "\(path) \(mode)", event)
    }
  }

  /// The number of these bytes that fit on the volume. Overwriting needs no space.
  private func roomFor(_ count: Int, at offset: UInt64, _ state: SimulatedFileSystem.State) -> Int {
    let (limit, overflow) = UInt64(content.count).addingReportingOverflow(state.availableBytes)
    guard !overflow else { return count }
    return limit > offset ? Int(min(UInt64(count), limit - offset)) : 0
  }

  private func store(
    _ bytes: Slice<UnsafeRawBufferPointer>, at offset: UInt64, _ state: inout SimulatedFileSystem.State
  )
    throws(FileIOError)
  {
    guard !bytes.isEmpty else { return }
    let before = content.count
    guard content.write(UnsafeRawBufferPointer(rebasing: bytes), at: offset) else {
      throw FileIOError(.noSpace, operation: .write, path: path, offset: offset)
    }
    if state.contents[node] != nil { state.usedBytes += UInt64(content.count - before) }
    let write = PendingChange.Write(file: node, offset: Int(offset), bytes: Array(bytes))
    state.journal.record(.write, "\(path) \(bytes.count) bytes at \(offset)", .write(write))
  }
}
