/// An open file.
///
/// Every method may be called from any thread, and from several threads at the same time. A read
/// that runs concurrently with a write to the same bytes returns any mixture of old and new bytes.
/// After a write has returned, every later read and every mapping contains its bytes.
public protocol File: AnyObject, Sendable {
  /// The path with which the file was opened. Renaming the file does not change it.
  var path: String { get }

  /// The current length of the file in bytes.
  ///
  /// - Throws: `.closed`, `.mediaError`.
  func size() throws(FileIOError) -> UInt64

  /// The number of names (hard links) that the file has now; 0 if it has lost its last name.
  ///
  /// The default implementation returns 1, for file systems without hard links.
  ///
  /// - Throws: `.closed`, `.mediaError`.
  func linkCount() throws(FileIOError) -> Int

  /// Reads the bytes `offset ..< offset + buffer.count` that exist.
  ///
  /// - Returns: The number of bytes read. It is smaller than the buffer only at the end of the
  ///   file, and 0 at or past the end. The rest of the buffer is unchanged.
  /// - Throws: `.mediaError`, `.closed`, `.invalidArgument` (offset above `Int64.max`). The
  ///   buffer's bytes are then unspecified.
  /// - Complexity: O(n) for n bytes, in as few system calls as the system allows.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int

  /// The offset of the next byte, at or after `offset`, that may be non-zero; nil if there is none.
  ///
  /// Callers use it to skip the holes of a long file.
  ///
  /// - Throws: `.closed`, `.mediaError`, `.invalidArgument` (offset above `Int64.max`).
  func nextData(from offset: UInt64) throws(FileIOError) -> UInt64?

  /// Writes all of `bytes`, starting at `offset`. Extends the file if necessary.
  ///
  /// A gap between the old end and `offset` reads as zeros.
  ///
  /// The bytes are visible when the call returns, and durable after `sync(_:)`.
  ///
  /// - Throws: `.noSpace`, `.quotaExceeded`, `.fileTooLarge`, `.mediaError`, `.permissionDenied`
  ///   (opened for reading), `.closed`, `.invalidArgument` (end above `Int64.max`). After an error
  ///   any prefix of the bytes may be in the file.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError)

  /// Extends the file to at least `length` bytes, and reserves space on the medium for all of them.
  ///
  /// The content of the new bytes is unspecified. Existing bytes stay unchanged.
  ///
  /// - Throws: `.noSpace`, `.quotaExceeded`, `.fileTooLarge`, `.mediaError`, `.permissionDenied`
  ///   (opened for reading), `.closed`, `.invalidArgument` (length above `Int64.max`). After an
  ///   error the file may be longer than it was.
  /// - Complexity: Writes nothing on systems that can reserve space without writing.
  func allocate(_ length: UInt64) throws(FileIOError)

  /// Makes the bytes and the length of this file durable, according to `mode`.
  ///
  /// The sync covers all writes that returned before this call began, through any open file object.
  ///
  /// The file's *name* is durable only after `FileSystem.syncDirectory(_:)`.
  ///
  /// - Throws: `.mediaError`, `.noSpace`, `.quotaExceeded`, `.closed`. After an error, the state of
  ///   the bytes written since the last successful sync is unknown. Some systems drop these bytes
  ///   and report success to the next call, so do not retry (FS4 in FileSystem.swift).
  func sync(_ mode: SyncMode) throws(FileIOError)

  /// Maps the first `length` bytes of the file for reading.
  ///
  /// `length` may exceed the file's size: the call reserves address space. Bytes that are written
  /// to the file later appear in the mapping without another call. The mapping stays valid after
  /// `close()`, and after the file's name is removed.
  ///
  /// - Parameter length: 1 or more bytes.
  /// - Warning: Do not read past the end of the file: on POSIX that ends the process. A failure
  ///   of the medium during a read of the mapping also ends the process.
  /// - Throws: `.outOfMemory` (no address space left), `.notSupported`, `.closed`.
  func map(_ length: Int) throws(FileIOError) -> FileMapping

  /// Acquires the lock on the bytes `range` of the file, without waiting. The bytes need not exist.
  ///
  /// While the lock is held, no other open file object can lock any of these bytes, in this process
  /// or in others. The lock belongs to this file object. It ends with `unlock(_:)`, with `close()`,
  /// when the object is freed, or when the process ends. It does not prevent reading or writing.
  ///
  /// - Parameter range: A nonempty range. The file must be open for writing.
  /// - Returns: False, without a lock on any byte, if another file object has a lock on some of the
  ///   bytes.
  /// - Throws: `.notSupported`, `.closed`, `.permissionDenied` (opened for reading).
  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool

  /// Releases the locks of this file object on the bytes `range`. Without locks it does nothing.
  ///
  /// - Throws: `.notSupported`, `.closed`.
  func unlock(_ range: Range<UInt64>) throws(FileIOError)

  /// Whether another file object has a lock on some of the bytes `range` at this moment.
  ///
  /// - Throws: `.notSupported`, `.closed`.
  func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool

  /// Closes the file. Running calls of other threads finish first, and later calls fail with
  /// `.closed`. Closing twice does nothing.
  ///
  /// The call does not sync.
  ///
  /// - Throws: `.mediaError`, `.noSpace`, `.quotaExceeded` on systems that report late write errors
  ///   here. The file is closed even then.
  func close() throws(FileIOError)
}

// For file systems that cannot lock ranges.
extension File {
  /// Throws `.notSupported`.
  public func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    throw FileIOError(.notSupported, operation: .tryLock, path: path)
  }

  /// Throws `.notSupported`.
  public func unlock(_ range: Range<UInt64>) throws(FileIOError) {
    throw FileIOError(.notSupported, operation: .unlock, path: path)
  }

  /// Throws `.notSupported`.
  public func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    throw FileIOError(.notSupported, operation: .isLocked, path: path)
  }
}

extension File {
  /// Returns 1, because the file system has no hard links.
  public func linkCount() throws(FileIOError) -> Int { 1 }

  /// The default implementation, which treats the whole file as written.
  public func nextData(from offset: UInt64) throws(FileIOError) -> UInt64? {
    offset < (try size()) ? offset : nil
  }

  /// Writes an array of bytes, like `write(_:at:)` for raw buffers.
  public func write(_ bytes: [UInt8], at offset: UInt64) throws(FileIOError) {
    try bytes.withUnsafeBufferPointer { buffer throws(FileIOError) in
      try write(UnsafeRawBufferPointer(buffer), at: offset)
    }
  }

  /// Reads `count` bytes, starting at `offset`. It returns fewer bytes only at the end of the file.
  ///
  /// - Throws: The errors of `read(into:at:)`.
  public func read(_ count: Int, at offset: UInt64) throws(FileIOError) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { buffer.deallocate() }
    let done = try readToEnd(into: buffer, at: offset)
    return Array(buffer.prefix(done))
  }

  /// Reads like `read(into:at:)`, but repeats short reads until the buffer is full or the file
  /// ends.
  ///
  /// Without the repetition, a caller could mistake a short read for the end of the file.
  ///
  /// - Throws: The errors of `read(into:at:)`, and `.mediaError` if a read before the end of the
  ///   file returns no bytes.
  package func readToEnd(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(FileIOError) -> Int {
    var done = try read(into: buffer, at: offset)
    while done < buffer.count {
      let place = offset + UInt64(done)
      guard try size() > place else { break }
      let more = try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]), at: place)
      if more == 0 {
        guard try size() > place else { break }
        throw FileIOError(
          .mediaError, operation: .read, path: path, offset: place,
          detail: "the file continues here, but no bytes were read")
      }
      done += more
    }
    return done
  }
}

/// Bytes of a file that are mapped for reading. They are unmapped when the object is freed.
public final class FileMapping: Sendable {
  // `nonisolated(unsafe)` is correct here: the address is constant, and it is used only for
  // reading.
  @usableFromInline nonisolated(unsafe) let address: UnsafeRawPointer

  /// The address of the file's first byte. It is constant.
  @inlinable public var base: UnsafeRawPointer { address }

  /// The number of mapped bytes. The file may be shorter.
  public let length: Int

  private let onRelease: @Sendable () -> Void

  /// Makes the object for a mapping that a `File` has established.
  ///
  /// - Parameters:
  ///   - base: The address of the first byte. It is valid for `length` bytes until `onRelease`
  ///     runs.
  ///   - length: 1 or more bytes.
  ///   - onRelease: Called once, on the thread that releases the last reference.
  public init(base: UnsafeRawPointer, length: Int, onRelease: @escaping @Sendable () -> Void) {
    precondition(length > 0, "A mapping must have at least one byte")
    address = base
    self.length = length
    self.onRelease = onRelease
  }

  deinit {
    onRelease()
  }
}

/// A held lock. See `FileSystem.lock(_:_:holder:)`.
public protocol FileLock: AnyObject, Sendable {
  /// Releases the lock, so that others can acquire it. Releasing twice does nothing.
  ///
  /// The lock is also released when its object is freed, and when its process ends in any way.
  func release()

  /// Whether the lock's file still has the name with which the lock was acquired.
  ///
  /// If false, the lock no longer has an effect: its file or directory was removed or replaced. A
  /// lock acquired through `Directory.lock(_:_:holder:)` looks the name up in that directory, even
  /// if the directory was moved. A lock acquired through `FileSystem.lock(_:_:holder:)` looks the
  /// path up.
  ///
  /// The default implementation returns true, for locks that cannot check.
  ///
  /// - Throws: `.closed` after `release()`; `.permissionDenied` and `.mediaError` if the name
  ///   cannot be looked up.
  func isNamed() throws(FileIOError) -> Bool
}

extension FileLock {
  /// Returns true, because the lock cannot check.
  public func isNamed() throws(FileIOError) -> Bool { true }
}
