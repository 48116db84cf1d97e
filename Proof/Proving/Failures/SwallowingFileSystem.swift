package import PerdureFileIO
import PerdureTestSupport

/// A file system that reports failed calls of one kind as successful. An engine on it behaves like
/// an engine that ignores the results of these calls.
package final class SwallowingFileSystem: ForwardingFileSystem {
  package enum Ignored: CaseIterable, Sendable {
    case write, sync, syncDirectory, rename
    /// A read. If it fails, the buffer is filled with zeros.
    case read
  }

  package let behind: any FileSystem
  private let ignored: Ignored

  package init(_ behind: any FileSystem, ignoring ignored: Ignored) {
    self.behind = behind
    self.ignored = ignored
  }

  package func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    SwallowingFile(try behind.open(path, mode), ignoring: ignored)
  }

  package func rename(_ source: String, to destination: String) throws(FileIOError) {
    do throws(FileIOError) { try behind.rename(source, to: destination) } catch {
      guard ignored == .rename else { throw error }
    }
  }

  package func syncDirectory(_ path: String) throws(FileIOError) {
    do throws(FileIOError) { try behind.syncDirectory(path) } catch {
      guard ignored == .syncDirectory else { throw error }
    }
  }
}

private final class SwallowingFile: ForwardingFile {
  let behind: any File
  private let ignored: SwallowingFileSystem.Ignored

  init(_ behind: any File, ignoring ignored: SwallowingFileSystem.Ignored) {
    self.behind = behind
    self.ignored = ignored
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    do throws(FileIOError) { return try behind.read(into: buffer, at: offset) } catch {
      guard ignored == .read else { throw error }
      buffer.initializeMemory(as: UInt8.self, repeating: 0)
      return buffer.count
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    do throws(FileIOError) { try behind.write(bytes, at: offset) } catch {
      guard ignored == .write else { throw error }
    }
  }

  func sync(_ mode: SyncMode) throws(FileIOError) {
    do throws(FileIOError) { try behind.sync(mode) } catch {
      guard ignored == .sync else { throw error }
    }
  }
}
