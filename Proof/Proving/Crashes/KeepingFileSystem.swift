package import PerdureFileIO
import PerdureTestSupport

/// Reports files whose names end like this as removed, and leaves them: an engine on this leaves
/// all of them.
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
