package import PerdureFileIO
import PerdureTestSupport

/// Reports files with a certain ending of the name as removed, but does not remove them. An engine
/// on this file system behaves like one that never removes them.
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
