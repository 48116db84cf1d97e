// Locks on ranges of a file.
//
// These are the system's locks of open file descriptions (OFD locks). Like an `flock` lock, each
// lock belongs to one opened file, not to the process. If a process opens a file twice, the locks
// of the two open files exclude each other. Closing one of them does not release the locks of the
// other. The locks end with the process. (The older POSIX locks belong to the process and end when
// it closes any descriptor of the file, so a library cannot use them.)

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

extension POSIXFile {
  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    precondition(!range.isEmpty, "A lock must cover at least one byte")
    guard isWritable else { throw FileIOError(.permissionDenied, operation: .tryLock, path: path) }
    let number = try withDescriptor(.tryLock) { descriptor in SystemCall.lock(descriptor, range) }
    if KnownErrno.isRangeLockHeld(number) { return false }
    guard number == 0 else { throw FileIOError(errno: number, operation: .tryLock, path: path) }
    return true
  }

  func unlock(_ range: Range<UInt64>) throws(FileIOError) {
    let number = try withDescriptor(.unlock) { descriptor in SystemCall.unlock(descriptor, range) }
    guard number == 0 else { throw FileIOError(errno: number, operation: .unlock, path: path) }
  }

  func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    let result = try withDescriptor(.isLocked) { descriptor in SystemCall.isLocked(descriptor, range) }
    guard result.errno == 0 else { throw FileIOError(errno: result.errno, operation: .isLocked, path: path) }
    return result.value
  }
}

extension SystemCall {
  // Some C libraries hide the names of these commands from Swift. The numbers are the kernel's.
  #if canImport(Darwin)
    private static let setLock: Int32 = 90
    private static let getLock: Int32 = 92
  #else
    private static let setLock: Int32 = 37
    private static let getLock: Int32 = 36
  #endif

  fileprivate static func lock(_ descriptor: Int32, _ range: Range<UInt64>) -> Int32 {
    var description = description(of: range, F_WRLCK)
    return repeating { fcntl(descriptor, setLock, &description) }.errno
  }

  fileprivate static func unlock(_ descriptor: Int32, _ range: Range<UInt64>) -> Int32 {
    var description = description(of: range, F_UNLCK)
    return repeating { fcntl(descriptor, setLock, &description) }.errno
  }

  fileprivate static func isLocked(_ descriptor: Int32, _ range: Range<UInt64>) -> SystemResult<Bool> {
    var description = description(of: range, F_WRLCK)
    let result = repeating { fcntl(descriptor, getLock, &description) }
    return SystemResult(value: Int32(description.l_type) != Int32(F_UNLCK), errno: result.errno)
  }

  private static func description(of range: Range<UInt64>, _ type: some BinaryInteger) -> flock {
    var description = flock()
    description.l_type = numericCast(type)
    description.l_whence = numericCast(SEEK_SET)
    description.l_start = numericCast(range.lowerBound)
    description.l_len = numericCast(range.upperBound - range.lowerBound)
    return description
  }
}
