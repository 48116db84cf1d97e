import PerdureFileIO
import PerdureFormat

/// The locks that keep writers out of a store while its files are copied or removed.
///
/// LOCK alone is not enough: it can be removed by hand while a writer has the store open. So the
/// lock of the newest segment is also acquired. An opening for writing does the same
/// (SegmentLocks).
struct ClosedStoreLock {
  private let writing: (any FileLock)?
  private var segments: SegmentLocks

  /// - Throws: `FileIOError` with code `.locked` while a writer holds LOCK; `StoreError` with code
  ///   `.locked` while a writer that lost LOCK holds the newest segment. In both cases no lock is
  ///   kept.
  init(of path: String, _ fileSystem: any FileSystem) throws {
    writing = try fileSystem.writerLock(ofStore: path)
    do { segments = try SegmentLocks(closedStoreIn: fileSystem.openDirectory(path)) } catch {
      writing?.release()
      throw error
    }
  }

  /// Locks a damaged store as far as its files allow. Creates no file: a writer that lost LOCK
  /// still holds the newest segment.
  ///
  /// - Parameter failure: Gets the error if a lock cannot be acquired. Then a writer may have the
  ///   store open. A read-only volume is not a failure, because it has no writer.
  /// - Throws: The errors of `init(of:_:)`; `FileIOError` if the directory cannot be opened, or if
  ///   memory or descriptors are exhausted.
  init(damagedStoreAt path: String, _ fileSystem: any FileSystem, _ failure: inout FileIOError?) throws {
    let directory = try fileSystem.openDirectory(path)
    writing = try Self.unlessRefused(&failure) {
      try directory.kind(of: StoreFileName.lock.string) == nil ? nil : directory.writerLock()
    }
    do {
      segments =
        try Self.unlessRefused(&failure) { try SegmentLocks(closedStoreIn: directory) } ?? SegmentLocks()
    } catch {
      writing?.release()
      throw error
    }
  }

  private static func unlessRefused<Held>(
    _ failure: inout FileIOError?, _ take: () throws -> Held?
  ) throws -> Held? {
    do { return try take() } catch let error as FileIOError {
      if error.code == .locked || error.code.isShortage { throw error }
      // A volume that is mounted read-only has no writer.
      if error.code != .readOnly { failure = error }
      return nil
    }
  }

  mutating func release() {
    segments.releaseAll()
    writing?.release()
  }
}
