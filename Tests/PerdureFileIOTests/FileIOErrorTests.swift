import PerdureFileIO
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("Errors of files")
struct FileIOErrorTests {
  @Test(
    "Each error number maps to its code",
    arguments: [
      (ENOENT, FileIOError.Code.notFound), (EEXIST, .alreadyExists), (EACCES, .permissionDenied),
      (EPERM, .permissionDenied), (EROFS, .readOnly), (ENOSPC, .noSpace), (EDQUOT, .quotaExceeded),
      (EFBIG, .fileTooLarge), (EMFILE, .tooManyOpenFiles), (ENFILE, .tooManyOpenFiles),
      (EWOULDBLOCK, .busy), (EBUSY, .busy), (EIO, .mediaError), (EINVAL, .invalidArgument),
      (EXDEV, .invalidArgument), (ENAMETOOLONG, .nameTooLong), (ELOOP, .tooManyLinks),
      (ENOTDIR, .notADirectory),
      (EISDIR, .isADirectory), (ENOTEMPTY, .directoryNotEmpty), (ENOMEM, .outOfMemory),
      (ENOSYS, .notSupported), (ENOTSUP, .notSupported), (EBADF, .closed), (ECHILD, .other), (0, .other),
    ])
  func meanings(_ errno: Int32, _ code: FileIOError.Code) {
    #expect(FileIOError.Code(errno: errno) == code)
  }

  @Test("A message has the operation, the path, the offset, the reason and the remedy")
  func message() {
    let error = FileIOError(errno: ENOSPC, operation: "write", path: "/a/b", offset: 4096)
    #expect(
      error.description
        == "write of /a/b at byte 4096 failed: no space is left on the volume (errno \(ENOSPC)). "
        + "Free space on the volume.")
    #expect("\(error.code)" == "noSpace")
    #expect(error.errno == ENOSPC && error.offset == 4096 && error.path == "/a/b")
  }

  @Test("EAGAIN means that another process has the lock only if the failed operation is a lock")
  func again() {
    #expect(FileIOError(errno: EAGAIN, operation: "lock", path: "/a").code == .locked)
    for operation in ["open", "read", "write", "sync"] {
      #expect(FileIOError(errno: EAGAIN, operation: operation, path: "/a").code == .busy)
    }
  }

  @Test("In a message, the detail of an error follows the reason")
  func detail() {
    let error = FileIOError(.locked, operation: "lock", path: "/l", detail: "held by me")
    #expect(error.message.contains("the lock is taken: held by me. "))
    #expect(error.errno == 0)
  }
}
