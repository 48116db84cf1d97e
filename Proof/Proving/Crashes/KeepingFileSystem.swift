package import PerdureFileIO
import PerdureTestSupport

/// Says that it has removed files whose names end like this, and leaves them: an engine on this sweeps none of them up.
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
