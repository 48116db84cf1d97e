// The system calls for files, with one thin function for each. Interrupted calls are repeated. The
// error number is read before another call can change it. Errors are not interpreted here.

import CPerdureShims

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The result of a system call: a value and the error number.
struct SystemResult<Value: Sendable>: Sendable {
  let value: Value
  /// 0 if the call succeeded.
  let errno: Int32
}

enum SystemCall {
  /// The maximum length of one read or write. Darwin rejects more than `Int32.max` bytes, and Linux
  /// transfers slightly less than that.
  static let transferLengthMax = 1 << 30

  /// Repeats the call as long as a signal interrupts it.
  @inline(__always)
  static func repeating<Value: FixedWidthInteger & SignedInteger & Sendable>(
    _ call: () -> Value
  ) -> SystemResult<Value> {
    while true {
      let value = call()
      guard value == -1 else { return SystemResult(value: value, errno: 0) }
      let number = errno
      guard KnownErrno.isInterruption(number) else { return SystemResult(value: value, errno: number) }
    }
  }
}

// Files.
extension SystemCall {
  /// Opens a file without blocking: opening a pipe does not wait for its other end.
  static func open(_ path: String, in directory: Int32, _ mode: FileMode) -> SystemResult<Int32> {
    let flags =
      switch mode {
      case .read: O_RDONLY
      case .readWrite: O_RDWR
      case .create: O_RDWR | O_CREAT | O_EXCL
      }
    return openFile(path, in: directory, flags: flags)
  }

  /// Opens a file without blocking. If that fails because the file is under a lease, opens it with
  /// blocking.
  private static func openFile(_ path: String, in directory: Int32, flags: Int32) -> SystemResult<Int32> {
    let result = open(path, in: directory, flags: flags | O_NONBLOCK | O_NOCTTY)
    guard KnownErrno.isLockHeld(result.errno), kind(of: path, in: directory).value == .file else {
      return result
    }
    return open(path, in: directory, flags: flags | O_NOCTTY)
  }

  static func openDirectory(_ path: String, in directory: Int32 = workingDirectoryNumber)
    -> SystemResult<Int32>
  {
    open(path, in: directory, flags: O_RDONLY | O_DIRECTORY)
  }

  static func openLockFile(_ path: String, in directory: Int32, writable: Bool) -> SystemResult<Int32> {
    openFile(path, in: directory, flags: writable ? O_RDWR | O_CREAT : O_RDONLY)
  }

  private static func open(
    _ path: String, in directory: Int32 = workingDirectoryNumber, flags: Int32
  ) -> SystemResult<Int32> {
    repeating { openat(directory, path, flags | O_CLOEXEC, 0o644) }
  }

  /// Closes a descriptor, without a retry. After an interruption the descriptor is already closed
  /// on Linux, and another thread may use its number.
  static func close(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      let value = Darwin.close(descriptor)
    #elseif canImport(Glibc)
      let value = Glibc.close(descriptor)
    #elseif canImport(Musl)
      let value = Musl.close(descriptor)
    #else
      let value = Android.close(descriptor)
    #endif
    guard value == -1 else { return 0 }
    let number = errno
    return KnownErrno.isInterruption(number) ? 0 : number
  }

  static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
    -> SystemResult<Int>
  {
    repeating { pread(descriptor, buffer.baseAddress, min(buffer.count, transferLengthMax), off_t(offset)) }
  }

  static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64)
    -> SystemResult<Int>
  {
    repeating { pwrite(descriptor, bytes.baseAddress, min(bytes.count, transferLengthMax), off_t(offset)) }
  }

  static func truncate(_ descriptor: Int32, to length: Int64) -> SystemResult<Int32> {
    repeating { ftruncate(descriptor, off_t(length)) }
  }

  /// Allocates space for the first `length` bytes of a file, and extends a shorter file to that
  /// length. Returns 0 or the error number.
  static func allocate(_ descriptor: Int32, length: Int64) -> Int32 {
    #if canImport(Darwin)
      let status = size(descriptor)
      guard status.errno == 0 else { return status.errno }
      guard status.value < length else { return 0 }
      var request = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0,
        fst_length: off_t(length - status.value), fst_bytesalloc: 0)
      let number = repeating { fcntl(descriptor, F_PREALLOCATE, &request) }.errno
      return number == 0 ? truncate(descriptor, to: length).errno : number
    #else
      // posix_fallocate returns the error number itself.
      while true {
        let number = posix_fallocate(descriptor, 0, off_t(length))
        guard KnownErrno.isInterruption(number) else { return number }
      }
    #endif
  }

  /// The maximum length to which the process may extend files now, in bytes.
  static func fileLengthLimit() -> UInt64 { perdure_file_length_limit() }

  static func size(_ descriptor: Int32) -> SystemResult<Int64> {
    var status = stat()
    let result = repeating { fstat(descriptor, &status) }
    return SystemResult(value: Int64(status.st_size), errno: result.errno)
  }

  /// The number of names that an open file has.
  static func linkCount(_ descriptor: Int32) -> SystemResult<Int> {
    var status = stat()
    let result = repeating { fstat(descriptor, &status) }
    return SystemResult(value: Int(clamping: status.st_nlink), errno: result.errno)
  }

  static func kind(of descriptor: Int32) -> SystemResult<FileKind> {
    var status = stat()
    let result = repeating { fstat(descriptor, &status) }
    return SystemResult(value: kind(status), errno: result.errno)
  }

  /// The offset of the first written byte at or after `offset`, found by skipping holes.
  static func nextData(_ descriptor: Int32, from offset: Int64) -> SystemResult<Int64> {
    #if canImport(Darwin)
      let whence = SEEK_DATA
    #else
      // The value of SEEK_DATA. The headers define it only with the system's own extensions.
      let whence: Int32 = 3
    #endif
    let result = repeating { lseek(descriptor, off_t(offset), whence) }
    return SystemResult(value: Int64(result.value), errno: result.errno)
  }

  /// Acquires the advisory lock of an open file without waiting. The lock belongs to the open file.
  /// So if one process opens the file twice, the two locks conflict unless both are shared. Closing
  /// the descriptor releases the lock.
  static func lock(_ descriptor: Int32, _ kind: LockKind) -> Int32 {
    repeating { flock(descriptor, (kind == .exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) }.errno
  }

  /// Releases the advisory lock of an open file, even if other descriptors refer to the same open
  /// file.
  static func unlock(_ descriptor: Int32) -> Int32 {
    repeating { flock(descriptor, LOCK_UN) }.errno
  }
}

// Syncing.
extension SystemCall {
  /// Syncs a file or a directory according to `mode`, or as strictly as the system supports.
  static func sync(_ descriptor: Int32, _ mode: SyncMode) -> Int32 {
    #if canImport(Darwin)
      let command = mode == .ordered ? F_BARRIERFSYNC : F_FULLFSYNC
      let number = repeating { fcntl(descriptor, command) }.errno
      guard KnownErrno.isSyncUnsupported(number) else { return number }
      return repeating { fsync(descriptor) }.errno
    #else
      return repeating { fdatasync(descriptor) }.errno
    #endif
  }

  /// Syncs the names in a directory. If the system cannot, the names count as durable.
  static func syncDirectory(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      let number = sync(descriptor, .full)
    #else
      let number = repeating { fsync(descriptor) }.errno
    #endif
    return KnownErrno.isSyncUnsupported(number) ? 0 : number
  }
}

#if os(Linux) || os(Android)
  extension SystemCall {
    /// Names the calling thread for debuggers. The C function is hidden from Swift on this
    /// platform, so this writes to the kernel's file with the thread's name. If that file does not
    /// exist, the thread gets no name.
    static func nameThisThread(_ name: String) {
      let file = open("/proc/thread-self/comm", flags: O_WRONLY)
      guard file.errno == 0 else { return }
      // This file has no offsets, so `pwrite` cannot be used.
      _ = Array(name.utf8).withUnsafeBytes { bytes in
        repeating {
          #if canImport(Glibc)
            Glibc.write(file.value, bytes.baseAddress, bytes.count)
          #elseif canImport(Musl)
            Musl.write(file.value, bytes.baseAddress, bytes.count)
          #else
            Android.write(file.value, bytes.baseAddress, bytes.count)
          #endif
        }
      }
      _ = close(file.value)
    }
  }
#endif

// Memory.
extension SystemCall {
  /// Maps a file for reading. On failure the value is 0.
  static func map(_ descriptor: Int32, length: Int) -> SystemResult<UInt> {
    map(descriptor, length: length, protection: PROT_READ, flags: MAP_SHARED)
  }

  /// Reserves `length` bytes of address space. The bytes are zero, and use no memory until they are
  /// touched. On failure the value is 0.
  package static func reserveMemory(length: Int) -> SystemResult<UInt> {
    map(
      -1, length: length, protection: PROT_READ | PROT_WRITE,
      flags: MAP_PRIVATE | MAP_ANON | MAP_NORESERVE)
  }

  private static func map(_ descriptor: Int32, length: Int, protection: Int32, flags: Int32)
    -> SystemResult<UInt>
  {
    let address = mmap(nil, length, protection, flags, descriptor, 0)
    guard address != MAP_FAILED else { return SystemResult(value: 0, errno: errno) }
    return SystemResult(value: UInt(bitPattern: address), errno: 0)
  }

  /// Frees memory that `map` or `reserveMemory` returned. The arguments are always valid, so a
  /// failure is a bug.
  static func unmap(_ address: UInt, length: Int) {
    let value = munmap(UnsafeMutableRawPointer(bitPattern: address), length)
    precondition(value == 0, "The system refused to unmap memory that was mapped")
  }
}
