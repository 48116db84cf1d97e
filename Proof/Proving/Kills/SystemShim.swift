import PerdureFileIO

/// A library that is loaded before the system's library. The C compiler of the machine compiles it.
/// It either cuts a write short and kills the process, or it interrupts every other call and
/// shortens transfers.
struct SystemShim {
  let path: String

  /// Compiles the library. Returns nil if no C compiler compiles it within 30 seconds, and on
  /// systems other than Linux.
  static func make(in directory: String, isCancelled: () -> Bool) throws -> SystemShim? {
    #if os(Linux)
      let (source, library) = (directory + "/shim.c", directory + "/shim.so")
      try POSIXFileSystem().open(source, .create).write(Array(code.utf8), at: 0)
      let arguments = ["-shared", "-fPIC", "-w", "-o", library, source, "-ldl"]
      guard let compiler = try? ChildProcess("cc", arguments),
        compiler.wait(milliseconds: 30_000, isCancelled: isCancelled).end == .exit(0)
      else { return nil }
      return SystemShim(path: library)
    #else
      return nil
    #endif
  }

  /// The environment that cuts the nth write of more than 8 bytes and then kills the process. The
  /// write stores the given percentage of its bytes.
  func tearing(write number: Int, percent: Int) -> [String: String] {
    ["LD_PRELOAD": path, "PERDURE_TEAR": "\(number)", "PERDURE_TEAR_PERCENT": "\(percent)"]
  }

  /// The environment that interrupts every other call, and makes all transfers partial.
  var rough: [String: String] { ["LD_PRELOAD": path, "PERDURE_ROUGH": "1"] }

  private static let code = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <signal.h>
    #include <stdlib.h>
    #include <sys/types.h>
    #include <unistd.h>

    typedef ssize_t (*writer)(int, const void *, size_t, off_t);
    typedef ssize_t (*reader)(int, void *, size_t, off_t);
    typedef int (*syncer)(int);
    static int counter;
    static long left = -1, percent;
    static int is_rough;

    __attribute__((constructor)) static void start(void) {
      const char *tear = getenv("PERDURE_TEAR"), *part = getenv("PERDURE_TEAR_PERCENT");
      if (tear) left = atol(tear);
      if (part) percent = atol(part);
      is_rough = getenv("PERDURE_ROUGH") != 0;
    }

    static int is_interrupted(void) {
      if (!is_rough || __sync_fetch_and_add(&counter, 1) % 2) return 0;
      errno = EINTR;
      return 1;
    }

    static ssize_t write_at(writer real, int file, const void *bytes, size_t count, off_t offset) {
      if (left > 0 && count > 8 && __sync_sub_and_fetch(&left, 1) == 0) {
        if (count * percent / 100) real(file, bytes, count * percent / 100, offset);
        kill(getpid(), SIGKILL);
        for (;;) pause();
      }
      if (is_interrupted()) return -1;
      return real(file, bytes, is_rough && count > 1 ? count / 2 : count, offset);
    }

    static ssize_t read_at(reader real, int file, void *bytes, size_t count, off_t offset) {
      if (is_interrupted()) return -1;
      return real(file, bytes, is_rough && count > 1 ? count / 2 : count, offset);
    }

    ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
      return write_at((writer)dlsym(RTLD_NEXT, "pwrite"), file, bytes, count, offset);
    }
    ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) {
      return write_at((writer)dlsym(RTLD_NEXT, "pwrite64"), file, bytes, count, offset);
    }
    ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
      return read_at((reader)dlsym(RTLD_NEXT, "pread"), file, bytes, count, offset);
    }
    ssize_t pread64(int file, void *bytes, size_t count, off_t offset) {
      return read_at((reader)dlsym(RTLD_NEXT, "pread64"), file, bytes, count, offset);
    }
    int fdatasync(int file) {
      return is_interrupted() ? -1 : ((syncer)dlsym(RTLD_NEXT, "fdatasync"))(file);
    }
    int fsync(int file) {
      return is_interrupted() ? -1 : ((syncer)dlsym(RTLD_NEXT, "fsync"))(file);
    }
    """
}
