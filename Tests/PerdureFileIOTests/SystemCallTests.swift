import Foundation
import PerdureTestSupport
import Testing

@testable import PerdureFileIO

/// System calls that are interrupted, refused or only partly executed.
@Suite("Calls of the operating system")
struct SystemCallTests {
  @Test("A call interrupted by a signal is repeated until it succeeds or fails for another reason")
  func interrupted() {
    for last in [7, 0, -1] {
      var calls = 0
      let result = SystemCall.repeating { () -> Int in
        calls += 1
        errno = calls < 5 ? EINTR : EIO
        return calls < 5 ? -1 : last
      }
      #expect(calls == 5 && result.value == last)
      #expect(result.errno == (last == -1 ? EIO : 0))
    }
  }

  @Test("A file counts as written without holes only if its file system cannot report holes")
  func holes() {
    for unsupported in [EINVAL, ENOTSUP, ENOTTY] {
      #expect(KnownErrno.isHoleReportUnsupported(unsupported))
    }
    for failure in [0, EIO, EBADF, ENXIO] { #expect(!KnownErrno.isHoleReportUnsupported(failure)) }
  }

  @Test("If a directory cannot be opened for a sync, the error is a failed open, not a failed sync")
  func unopenedDirectory() throws {
    let directory = try TemporaryDirectory()
    let error = #expect(throws: FileIOError.self) {
      try POSIXFileSystem().syncDirectory(directory.file("none"))
    }
    #expect(error?.code == .notFound && error?.operation == .open && error?.operation.isSync == false)
  }

  @Test("A write beyond the file size limit is refused before the system sends a signal")
  func fileLengthLimit() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = directory.file("long") as String] in
      var limit = rlimit(rlim_cur: 1000, rlim_max: 1000)
      guard setrlimit(.init(RLIMIT_FSIZE.rawValue), &limit) == 0 else { fatalError("no limit") }
      let file = try POSIXFileSystem().open(path, .create)
      try file.write([UInt8](repeating: 1, count: 1000), at: 0)
      let calls: [() throws -> Void] = [
        { try file.write([1, 2], at: 999) }, { try file.write([1], at: 1 << 30) },
        { try file.allocate(1001) },
      ]
      for call in calls {
        do {
          try call()
          fatalError("The call beyond the limit succeeded")
        } catch let error as FileIOError {
          guard error.code == .fileTooLarge else { fatalError("\(error)") }
        }
      }
      guard try file.size() == 1000 else { fatalError("another length") }
    }
  }

  @Test("A partial write is continued, and fails at the offset of the limit")
  func shortWrite() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("short")
    // The limit applies to all files of a process, so the test uses a child process. The system
    // executes only the part of a write that is below the limit.
    await #expect(processExitsWith: .success) { [path = path as String] in
      let file = try POSIXFileSystem().open(path, .create)
      signal(SIGXFSZ, SIG_IGN)
      // After this write, the library does not check the file size limit again before the next
      // mebibyte.
      try file.write([0], at: 0)
      var limit = rlimit(rlim_cur: 1000, rlim_max: 1000)
      guard setrlimit(.init(RLIMIT_FSIZE.rawValue), &limit) == 0 else { fatalError("no limit") }
      let bytes = (0..<3000).map { UInt8(truncatingIfNeeded: $0 / 10) }
      do {
        try file.write(bytes, at: 0)
        fatalError("The write beyond the limit succeeded")
      } catch let error as FileIOError {
        guard error.code == .fileTooLarge, error.offset == 1000 else { fatalError("\(error)") }
      }
      guard try file.read(3000, at: 0) == Array(bytes[..<1000]) else { fatalError("other bytes") }
    }
    let file = try POSIXFileSystem().open(path, .read)
    #expect(try file.size() == 1000)
    // A read beyond the end of the file returns the available bytes.
    #expect(try file.read(3000, at: 990).count == 10)
    try file.close()
  }
}
