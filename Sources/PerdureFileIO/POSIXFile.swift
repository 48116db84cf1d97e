import Synchronization

// An open file of the operating system.
//
// The system may reuse a descriptor's number as soon as the descriptor is closed. So a write that
// runs concurrently with a close could go to the wrong file. The gate prevents this. The gate is
// one word. It contains the number of running calls and two bits. `closedBit` is set when the file
// is closed. After that, the descriptor is closed as soon as no call is running. `surrenderedBit`
// ensures that it is closed only once.

final class POSIXFile: File {
  let path: String
  private let descriptor: Int32
  /// False if the file was opened only for reading.
  let isWritable: Bool
  private let gate = Atomic<UInt64>(0)
  private let mark = ProcessMark.currentIfAny()
  /// Writes that end at or before this offset do not check the file size limit of the process.
  private let allowedEnd = Atomic<UInt64>(0)

  /// The bits of `gate` above the number of running calls. `closedBit` means that the file is
  /// closed. `surrenderedBit` means that a call has closed the descriptor or is closing it.
  private static let closedBit: UInt64 = 1 << 63
  private static let surrenderedBit: UInt64 = 1 << 62

  /// Takes ownership of an open descriptor.
  init(path: String, descriptor: Int32, isWritable: Bool) {
    self.path = path
    self.descriptor = descriptor
    self.isWritable = isWritable
  }

  deinit {
    // A late write error is ignored: no caller is left to receive it.
    if gate.load(ordering: .relaxed) & Self.closedBit == 0 { _ = SystemCall.close(descriptor) }
  }

  func size() throws(FileIOError) -> UInt64 {
    let result = try withDescriptor(.size) { descriptor in SystemCall.size(descriptor) }
    guard result.errno == 0 else { throw failure(result.errno, .size) }
    return UInt64(result.value)
  }

  func linkCount() throws(FileIOError) -> Int {
    let result = try withDescriptor(.linkCount) { descriptor in SystemCall.linkCount(descriptor) }
    guard result.errno == 0 else { throw failure(result.errno, .linkCount) }
    return result.value
  }

  func nextData(from offset: UInt64) throws(FileIOError) -> UInt64? {
    try FileRange.check(0, at: offset, operation: .nextData, path: path)
    let result = try withDescriptor(.nextData) { descriptor in
      SystemCall.nextData(descriptor, from: Int64(offset))
    }
    if KnownErrno.isEndOfData(result.errno) { return nil }
    if KnownErrno.isHoleReportUnsupported(result.errno) {
      // The whole file counts as written.
      return offset < (try size()) ? offset : nil
    }
    guard result.errno == 0 else { throw failure(result.errno, .nextData) }
    return UInt64(result.value)
  }

  func sync(_ mode: SyncMode) throws(FileIOError) {
    let number = try withDescriptor(.sync) { descriptor in SystemCall.sync(descriptor, mode) }
    guard number == 0 else { throw failure(number, .sync) }
  }

  func map(_ length: Int) throws(FileIOError) -> FileMapping {
    precondition(length > 0, "A mapping must have at least one byte")
    let result = try withDescriptor(.map) { descriptor in SystemCall.map(descriptor, length: length) }
    guard result.errno == 0, let base = UnsafeRawPointer(bitPattern: result.value) else {
      throw failure(result.errno, .map)
    }
    return FileMapping(base: base, length: length) { SystemCall.unmap(result.value, length: length) }
  }
}

// The file lock.
extension POSIXFile {
  /// Acquires the file's advisory lock without waiting. Returns 0 or the error number.
  func lock(_ kind: LockKind) throws(FileIOError) -> Int32 {
    try withDescriptor(.lock) { descriptor in SystemCall.lock(descriptor, kind) }
  }

  /// Releases the lock. Returns 0 or the error number.
  func unlock() throws(FileIOError) -> Int32 {
    try withDescriptor(.lock) { descriptor in SystemCall.unlock(descriptor) }
  }

  func truncate(to length: Int64) throws(FileIOError) {
    try checkLimit(UInt64(length), .lock)
    let result = try withDescriptor(.lock) { descriptor in SystemCall.truncate(descriptor, to: length) }
    guard result.errno == 0 else { throw failure(result.errno, .lock) }
  }
}

// Reading and writing.
extension POSIXFile {
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    try FileRange.check(buffer.count, at: offset, operation: .read, path: path)
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let start = Int64(offset) + Int64(done)
      let result = try withDescriptor(.read) { descriptor in SystemCall.read(descriptor, rest, at: start) }
      guard result.errno == 0 else { throw failure(result.errno, .read, at: UInt64(start)) }
      guard result.value > 0 else { break }
      done += result.value
    }
    return done
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    guard isWritable else {
      throw FileIOError(.permissionDenied, operation: .write, path: path, offset: offset)
    }
    try FileRange.check(bytes.count, at: offset, operation: .write, path: path)
    let end = offset + UInt64(bytes.count)
    if end > allowedEnd.load(ordering: .relaxed) { try checkLimit(end, .write) }
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let start = Int64(offset) + Int64(done)
      let result = try withDescriptor(.write) { descriptor in SystemCall.write(descriptor, rest, at: start) }
      guard result.errno == 0 else { throw failure(result.errno, .write, at: UInt64(start)) }
      guard result.value > 0 else { throw failure(KnownErrno.mediaFailure, .write, at: UInt64(start)) }
      done += result.value
    }
  }
}

// File length and allocation.
extension POSIXFile {
  /// After an allowed write, the limit is not checked again for this number of bytes.
  private static let limitStep: UInt64 = 1 << 20

  /// Throws if `end` exceeds the file size limit of the process (RLIMIT_FSIZE). Without this check,
  /// the system sends SIGXFSZ, which ends a process that has no handler.
  ///
  /// The limit is checked once per mebibyte, because the check costs as much as a small write. A
  /// lowered limit takes effect at the next check.
  private func checkLimit(_ end: UInt64, _ operation: FileIOError.Operation) throws(FileIOError) {
    let limit = SystemCall.fileLengthLimit()
    guard end <= limit else { throw failure(KnownErrno.fileTooLarge, operation, at: end) }
    allowedEnd.store(min(limit, end + Self.limitStep), ordering: .relaxed)
  }

  func allocate(_ length: UInt64) throws(FileIOError) {
    guard isWritable else { throw FileIOError(.permissionDenied, operation: .allocate, path: path) }
    try FileRange.check(0, at: length, operation: .allocate, path: path)
    try checkLimit(length, .allocate)
    let number = try withDescriptor(.allocate) { descriptor in
      SystemCall.allocate(descriptor, length: Int64(length))
    }
    if KnownErrno.isAllocationUnsupported(number) { return try allocateByWriting(length) }
    guard number == 0 else { throw failure(number, .allocate) }
  }
}

// The gate.
extension POSIXFile {
  func close() throws(FileIOError) {
    let before = gate.bitwiseOr(Self.closedBit, ordering: .acquiringAndReleasing).oldValue
    guard before & Self.closedBit == 0 else { return }
    // In a forked child, the running calls belong to threads that exist only in the parent.
    let number = mark?.isOwn ?? true ? closeIfIdle() : closeNow()
    guard number == 0 else { throw failure(number, .close) }
  }

  /// Runs one system call on the descriptor. The descriptor is not closed during the call.
  func withDescriptor<Value>(_ operation: FileIOError.Operation, _ call: (Int32) -> Value) throws(FileIOError)
    -> Value
  {
    let before = gate.add(1, ordering: .acquiring).oldValue
    defer { leave() }
    guard before & Self.closedBit == 0 else {
      throw FileIOError(.closed, operation: operation, path: path)
    }
    return call(descriptor)
  }

  private func leave() {
    let after = gate.subtract(1, ordering: .releasing).newValue
    if after == Self.closedBit { _ = closeIfIdle() }
  }

  /// Closes the descriptor if the file is closed, no call is running and the descriptor is still
  /// open.
  private func closeIfIdle() -> Int32 {
    let exchange = gate.compareExchange(
      expected: Self.closedBit, desired: Self.closedBit | Self.surrenderedBit,
      ordering: .acquiringAndReleasing)
    return exchange.exchanged ? SystemCall.close(descriptor) : 0
  }

  /// Closes the descriptor unless it is already closed.
  private func closeNow() -> Int32 {
    let before = gate.bitwiseOr(Self.surrenderedBit, ordering: .acquiringAndReleasing).oldValue
    return before & Self.surrenderedBit == 0 ? SystemCall.close(descriptor) : 0
  }

  private func failure(_ errno: Int32, _ operation: FileIOError.Operation, at offset: UInt64? = nil)
    -> FileIOError
  {
    FileIOError(errno: errno, operation: operation, path: path, offset: offset)
  }
}
