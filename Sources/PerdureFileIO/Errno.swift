// Only this file interprets the system's error numbers.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

extension FileIOError.Code {
  /// The meaning of the error number `errno`.
  package init(errno: Int32) {
    self =
      switch errno {
      case ENOENT: .notFound
      case EEXIST: .alreadyExists
      case EACCES, EPERM: .permissionDenied
      case EROFS: .readOnly
      case ENOSPC: .noSpace
      case EDQUOT: .quotaExceeded
      case EFBIG, EOVERFLOW: .fileTooLarge
      case EMFILE, ENFILE: .tooManyOpenFiles
      // A held lock is `.locked`: see `init(errno:operation:path:)`.
      case EWOULDBLOCK, EAGAIN, EBUSY, ETXTBSY: .busy
      case EIO, ENXIO, ENODEV, ESTALE: .mediaError
      case ELOOP: .tooManyLinks
      case EINVAL, EXDEV, ESPIPE, EILSEQ: .invalidArgument
      case ENAMETOOLONG: .nameTooLong
      case ENOTDIR: .notADirectory
      case EISDIR: .isADirectory
      case ENOTEMPTY: .directoryNotEmpty
      case ENOMEM: .outOfMemory
      case ENOSYS, ENOTSUP, EOPNOTSUPP, ENOTTY, ENOLCK: .notSupported
      case EBADF: .closed
      default: .other
      }
  }
}

extension FileIOError {
  /// The error of a system call that set `errno`.
  package init(
    errno: Int32, operation: Operation, path: String, offset: UInt64? = nil, detail: String? = nil
  ) {
    let isTaken = [.lock, .tryLock].contains(operation) && KnownErrno.isLockHeld(errno)
    self.init(
      isTaken ? .locked : Code(errno: errno), operation: operation, path: path, offset: offset, errno: errno,
      detail: detail)
  }
}

extension FileIOError {
  /// Whether the reader of a pipe or a socket has closed it.
  package var isBrokenPipe: Bool { errno == EPIPE }
}

/// The error numbers that tests inject into system calls.
package enum ErrorNumber {
  package static let mediaError = EIO
  package static let noSpace = ENOSPC
  package static let quotaExceeded = EDQUOT
  package static let interrupted = EINTR
  package static let again = EAGAIN
  package static let tooManyFiles = EMFILE
  package static let readOnly = EROFS
  package static let accessDenied = EACCES
  package static let noMemory = ENOMEM
  package static let brokenPipe = EPIPE
}

/// Error numbers that other files test for.
enum KnownErrno {
  static func isInterruption(_ errno: Int32) -> Bool { errno == EINTR }

  /// Whether the device or the file system cannot sync this kind of file in this way.
  static func isSyncUnsupported(_ errno: Int32) -> Bool {
    [EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS, ENOTTY].contains(errno)
  }

  /// Whether the file system cannot reserve space for a file without writing to it.
  static func isAllocationUnsupported(_ errno: Int32) -> Bool {
    [EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS, ENODEV].contains(errno)
  }

  /// Whether the file system cannot report the holes of a file.
  static func isHoleReportUnsupported(_ errno: Int32) -> Bool {
    [EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS, ENOTTY].contains(errno)
  }

  /// Whether the file cannot be opened for writing. Opening it for reading may succeed.
  static func isWritingRefused(_ errno: Int32) -> Bool {
    [EACCES, EPERM, EROFS].contains(errno)
  }

  /// Whether the name refers to an entry that cannot be opened as a file: a socket, or an absent
  /// device.
  static func isOpeningRefused(_ errno: Int32) -> Bool {
    [ENXIO, ENODEV, ENOTSUP, EOPNOTSUPP].contains(errno)
  }

  /// Whether the file has no more written bytes. See `SystemCall.nextData`.
  static func isEndOfData(_ errno: Int32) -> Bool { errno == ENXIO }

  /// Whether `unlink` may have failed because the name refers to a directory. Some systems report
  /// EPERM.
  static func isUnlinkingRefused(_ errno: Int32) -> Bool { [EISDIR, EPERM].contains(errno) }

  static func isNoDirectory(_ errno: Int32) -> Bool { errno == ENOTDIR }

  static func isAbsence(_ errno: Int32) -> Bool { errno == ENOENT }

  /// The error number of a rename. POSIX allows two numbers for a directory that is not empty.
  static func ofRename(_ errno: Int32) -> Int32 { errno == EEXIST ? ENOTEMPTY : errno }

  static func isLockHeld(_ errno: Int32) -> Bool { errno == EWOULDBLOCK || errno == EAGAIN }

  /// Whether another open file description has a lock on the range.
  static func isRangeLockHeld(_ errno: Int32) -> Bool { isLockHeld(errno) || errno == EACCES }

  static let invalidArgument = EINVAL
  static let mediaFailure = EIO
  static let fileTooLarge = EFBIG
}
