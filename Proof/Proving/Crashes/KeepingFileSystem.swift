package import PerdureFileIO
import PerdureTestSupport

/// Reports files whose names have a certain suffix as removed, but does not remove them. An engine
/// on this file system behaves like an engine that never removes these files.
package final class KeepingFileSystem: ForwardingFileSystem {
  package let behind: any FileSystem
  private let ending: String

  package init(_ behind: any FileSystem, keeping ending: String) {
    (self.behind, self.ending) = (behind, ending)
  }

  package func remove(_ path: String) throws(FileIOError) {
    if !path.hasSuffix(ending) { try behind.remove(path) }
  }
}
