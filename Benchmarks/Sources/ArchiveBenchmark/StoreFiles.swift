import Foundation

/// The files of a store.
enum StoreFiles {
  /// The size of all files in `folder`, in bytes.
  static func size(of folder: URL) -> Int { files(in: folder).reduce(0) { $0 + size(ofFile: $1) } }

  /// Drops the system's cached pages of the files, so that the next reads access the disk. The
  /// files must be synced and closed. On systems other than Linux, this function does nothing, and
  /// "cold" means only that the store is opened again.
  static func dropFromCache(_ folder: URL) {
    #if os(Linux)
      for file in files(in: folder) {
        let descriptor = open(file.path, O_RDONLY)
        guard descriptor >= 0 else { continue }
        fsync(descriptor)
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        close(descriptor)
      }
    #endif
  }

  private static func files(in folder: URL) -> [URL] {
    let names = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return names?.compactMap { $0 as? URL } ?? []
  }

  private static func size(ofFile file: URL) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
    guard attributes?[.type] as? FileAttributeType == .typeRegular else { return 0 }
    return (attributes?[.size] as? NSNumber)?.intValue ?? 0
  }
}
