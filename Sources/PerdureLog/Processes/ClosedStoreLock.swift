import PerdureFileIO

/// The locks that keep writers out of a store while its files are copied or removed.
///
/// LOCK alone is not enough: it can be removed by hand while a writer has the store open. So the
/// lock of the newest segment is taken too, as when a store is opened for writing (SegmentLocks).
struct ClosedStoreLock {
  private let writing: any FileLock
  private var segments: SegmentLocks

  /// - Throws: `FileIOError` with code `.locked` while a writer holds LOCK; `StoreError` with code
  ///   `.locked` while a writer that lost LOCK holds the newest segment. In both cases no lock is
  ///   kept.
  init(of path: String, _ fileSystem: any FileSystem) throws {
    writing = try fileSystem.writerLock(ofStore: path)
    do { segments = try SegmentLocks(closedStoreIn: fileSystem.openDirectory(path)) } catch {
      writing.release()
      throw error
    }
  }

  mutating func release() {
    segments.releaseAll()
    writing.release()
  }
}
