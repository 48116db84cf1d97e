/// An open file.
///
/// Every method may be called from any thread, several at once. A read beside a write to the same
/// bytes sees any mixture of old and new. Otherwise every later read and every mapping sees a write
/// that has returned.
public protocol File: AnyObject, Sendable {
  /// The path the file was opened with. It isn't followed through renames.
  var path: String { get }

  /// The length of the file in bytes, as of now.
  ///
  /// - Throws: `.closed`, `.mediaError`.
  func size() throws(FileIOError) -> UInt64

  /// Reads bytes `offset ..< offset + buffer.count`, as far as they exist.
  ///
  /// - Returns: How many bytes were read: fewer than asked only at the end of the file, and 0 at or
  ///   behind it. The rest of the buffer is left alone.
  /// - Throws: `.mediaError`, `.closed`, `.invalidArgument` (offset above `Int64.max`); the
  ///   buffer's bytes are unspecified.
  /// - Complexity: O(n) bytes, in as few system calls as the system allows.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int

  /// The offset of the next byte, at or after `offset`, that may be non-zero; nil if there is none.
  ///
  /// It lets callers skip the holes of a long file.
  ///
  /// - Throws: `.closed`, `.mediaError`, `.invalidArgument` (offset above `Int64.max`).
  func nextData(from offset: UInt64) throws(FileIOError) -> UInt64?

  /// Writes all of `bytes` from `offset` on, making the file longer if need be; a gap between the
  /// old end and `offset` reads as zeros.
  ///
  /// Visible when the call returns; durable after `sync(_:)`.
  ///
  /// - Throws: `.noSpace`, `.quotaExceeded`, `.fileTooLarge`, `.mediaError`, `.permissionDenied`
  ///   (opened for reading), `.closed`. After an error any prefix of the bytes may be in the file.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError)

  /// Makes the file at least `length` bytes long, with space on the medium for all of them. The
  /// content of the new bytes is unspecified; existing bytes stay unchanged.
  ///
  /// - Throws: `.noSpace`, `.quotaExceeded`, `.fileTooLarge`, `.mediaError`, `.permissionDenied`
  ///   (opened for reading), `.closed`. After an error the file may be longer than it was.
  /// - Complexity: nothing is written on systems that can give a file room without.
  func allocate(_ length: UInt64) throws(FileIOError)

  /// Makes the bytes and the length of this file durable, according to `mode`: everything written
  /// by calls that returned before this one began, through any opening.
  ///
  /// The file's *name* is durable only after `FileSystem.syncDirectory(_:)`.
  ///
  /// - Throws: `.mediaError`, `.noSpace`, `.quotaExceeded`, `.closed`. Afterwards the state of the
  ///   bytes written since the last successful sync is unknown. Some systems drop them and report
  ///   success to the next call, so do not retry (FS4 in FileSystem.swift).
  func sync(_ mode: SyncMode) throws(FileIOError)

  /// Maps the first `length` bytes of the file for reading.
  ///
  /// `length` may exceed the file's size: the address space is reserved, and bytes written later,
  /// by any opener, appear in it without another call. The mapping stays valid after `close()`, and
  /// after the file's name is removed.
  ///
  /// - Parameter length: 1 or more bytes.
  /// - Warning: Reading behind the end of the file is the caller's bug, and on POSIX kills the
  ///   process. So does a medium that fails under a read.
  /// - Throws: `.outOfMemory` (no address space left), `.notSupported`, `.closed`.
  func map(_ length: Int) throws(FileIOError) -> FileMapping

  /// Takes the lock on bytes `range` of the file, without waiting. The bytes need not exist.
  ///
  /// The lock excludes every other opening of the file, in this process and in others, from a lock
  /// on any of these bytes. It belongs to this opening. It ends with `unlock(_:)`, with `close()`,
  /// when the object is freed, or when the process ends. It does not prevent reading or writing.
  ///
  /// - Parameter range: Not empty; of a file opened for writing.
  /// - Returns: False if another opening has a lock on some of them; nothing was taken.
  /// - Throws: `.notSupported`, `.closed`, `.permissionDenied` (opened for reading).
  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool

  /// Releases this opening's locks on bytes of `range`; without locks it does nothing.
  ///
  /// - Throws: `.notSupported`, `.closed`.
  func unlock(_ range: Range<UInt64>) throws(FileIOError)

  /// Whether another opening has a lock on some of the bytes `range`, at this moment.
  ///
  /// - Throws: `.notSupported`, `.closed`.
  func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool

  /// Closes the file. Running calls of other threads finish first; later ones fail with `.closed`.
  /// Closing twice does nothing.
  ///
  /// Doesn't sync.
  ///
  /// - Throws: `.mediaError`, `.noSpace`, `.quotaExceeded` on systems that report a late write
  ///   error here. The file is closed all the same.
  func close() throws(FileIOError)
}

// File systems without locks on ranges.
extension File {
  /// Refuses with `.notSupported`.
  public func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    throw FileIOError(.notSupported, operation: "tryLock", path: path)
  }

  /// Refuses with `.notSupported`.
  public func unlock(_ range: Range<UInt64>) throws(FileIOError) {
    throw FileIOError(.notSupported, operation: "unlock", path: path)
  }

  /// Refuses with `.notSupported`.
  public func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    throw FileIOError(.notSupported, operation: "isLocked", path: path)
  }
}

extension File {
  /// All of the file counts as written.
  public func nextData(from offset: UInt64) throws(FileIOError) -> UInt64? {
    offset < (try size()) ? offset : nil
  }

  /// Like `write(_:at:)` for raw buffers.
  public func write(_ bytes: [UInt8], at offset: UInt64) throws(FileIOError) {
    try bytes.withUnsafeBufferPointer { buffer throws(FileIOError) in
      try write(UnsafeRawBufferPointer(buffer), at: offset)
    }
  }

  /// At most `count` bytes from `offset` on: fewer only at the end of the file.
  ///
  /// - Throws: The errors of `read(into:at:)`.
  public func read(_ count: Int, at offset: UInt64) throws(FileIOError) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { buffer.deallocate() }
    let done = try readToEnd(into: buffer, at: offset)
    return Array(buffer.prefix(done))
  }

  /// As `read(into:at:)`, but repeats short reads until the buffer is full or the file ends. After
  /// a short read, a caller would take the rest of the file for never written.
  ///
  /// - Throws: also `.mediaError`, if a read before the end of the file returns no bytes.
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
          .mediaError, operation: "read", path: path, offset: place,
          detail: "the file continues here, but no bytes were read")
      }
      done += more
    }
    return done
  }
}

/// Bytes of a file, mapped for reading. Unmapped when the last reference is released.
public final class FileMapping: Sendable {
  // Unsafe: the address is constant, and the bytes are only read through it.
  @usableFromInline nonisolated(unsafe) let address: UnsafeRawPointer

  /// The address of the file's first byte; it stays the same for as long as the object lives.
  @inlinable public var base: UnsafeRawPointer { address }

  /// How many bytes are mapped. The file may be shorter.
  public let length: Int

  private let onRelease: @Sendable () -> Void

  /// Describes a mapping that a `File` has made.
  ///
  /// - Parameters:
  ///   - base: The first byte; valid for `length` bytes until `onRelease` is called.
  ///   - length: 1 or more bytes.
  ///   - onRelease: Called once, on whichever thread drops the last reference.
  public init(base: UnsafeRawPointer, length: Int, onRelease: @escaping @Sendable () -> Void) {
    precondition(length > 0, "A mapping has at least one byte")
    address = base
    self.length = length
    self.onRelease = onRelease
  }

  deinit {
    onRelease()
  }
}

/// A lock that is held. See `FileSystem.lock(_:_:holder:)`.
public protocol FileLock: AnyObject, Sendable {
  /// Releases the lock; others may acquire it at once. Releasing twice does nothing. The lock is
  /// also released when its object is freed, or when its process ends in any way.
  func release()

  /// Whether the lock's file still has the name under which the lock was taken.
  ///
  /// If false, the lock has no effect any more: its file or directory was removed or replaced. A
  /// lock taken through `Directory.lock(_:_:holder:)` looks the name up in that directory, even if
  /// that was moved. A lock taken through `FileSystem.lock(_:_:holder:)` looks the path up.
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
