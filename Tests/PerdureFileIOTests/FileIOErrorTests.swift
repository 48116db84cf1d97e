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
    let error = FileIOError(errno: ENOSPC, operation: .write, path: "/a/b", offset: 4096)
    #expect(
      error.description
        == "write of /a/b at byte 4096 failed: no space is left on the volume (errno \(ENOSPC)). "
        + "Free space on the volume.")
    #expect("\(error.code)" == "noSpace")
    #expect(error.errno == ENOSPC && error.offset == 4096 && error.path == "/a/b")
  }

  /// Each operation, its name in messages, and whether it is a sync. After a failed sync, it is
  /// unknown which earlier changes are durable.
  private static let operations: [(FileIOError.Operation, name: String, isSync: Bool)] = [
    (.absolutePath, "absolutePath", false), (.createDirectory, "createDirectory", false),
    (.contents, "contents", false), (.kind, "kind", false), (.open, "open", false),
    (.create, "create", false), (.openDirectory, "openDirectory", false), (.rename, "rename", false),
    (.remove, "remove", false), (.link, "link", false), (.syncDirectory, "syncDirectory", true),
    (.lock, "lock", false), (.availableBytes, "availableBytes", false), (.size, "size", false),
    (.linkCount, "linkCount", false), (.read, "read", false), (.nextData, "nextData", false),
    (.write, "write", false), (.allocate, "allocate", false), (.sync, "sync", true), (.map, "map", false),
    (.tryLock, "tryLock", false), (.unlock, "unlock", false), (.isLocked, "isLocked", false),
    (.close, "close", false), (.reserve, "reserve", false),
  ]

  @Test("Only sync and syncDirectory are syncs, and every operation has its name in messages")
  func syncs() {
    #expect(Set(FileIOError.Operation.all) == Set(Self.operations.map(\.0)))
    for (operation, name, isSync) in Self.operations {
      #expect(operation.isSync == isSync, "\(operation)")
      #expect(operation.description == name)
      let error = FileIOError(.other, operation: operation, path: "/a")
      #expect(error.message.hasPrefix("\(name) of /a failed: "))
    }
  }

  @Test("Only syncs, write, and open, create, map, reserve and locks have an effect of their own")
  func effects() {
    let all = FileIOError.Operation.all
    #expect(Set(all.filter(\.isSync)) == [.sync, .syncDirectory])
    #expect(all.filter(\.isWrite) == [.write])
    #expect(
      Set(all.filter(\.isAcquisition)) == [.open, .create, .map, .reserve, .lock, .tryLock])
  }

  @Test("Only a write that is too long for the volume, the quota or the file counts as refused")
  func refusedWrites() {
    let codes: [FileIOError.Code] = [.noSpace, .quotaExceeded, .fileTooLarge]
    for operation in FileIOError.Operation.all {
      for code in codes + [.mediaError, .permissionDenied, .other] {
        let error = FileIOError(code, operation: operation, path: "/a")
        #expect(error.isRefusedWrite == (operation == .write && codes.contains(code)), "\(error)")
      }
    }
  }

  @Test("EAGAIN of a lock operation means that the lock is taken; EAGAIN of another operation means busy")
  func again() {
    #expect(FileIOError(errno: EAGAIN, operation: .lock, path: "/a").code == .locked)
    for operation in [FileIOError.Operation.open, .read, .write, .sync] {
      #expect(FileIOError(errno: EAGAIN, operation: operation, path: "/a").code == .busy)
    }
  }

  @Test("In a message, the detail of an error follows the reason")
  func detail() {
    let error = FileIOError(.locked, operation: .lock, path: "/l", detail: "held by me")
    #expect(error.message.contains("the lock is taken: held by me. "))
    #expect(error.errno == 0)
  }
}
