import PerdureFileIO
import PerdureProving
import PerdureTestSupport

// A deliberately wrong file system. An engine on it behaves like a wrong engine.

/// After a write or a sync of a segment has failed, all existing mappings of segments read as
/// zeros. The files are unchanged, and a new opening reads their content. So an engine on this file
/// system has wrong bytes in memory after an error.
final class ForgottenMappings: ForwardingFileSystem {
  let behind: any FileSystem
  private let copies = Guarded<[MappedCopy]>([])

  init(_ behind: any FileSystem) { self.behind = behind }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return path.hasSuffix(".segment") ? ForgottenFile(file, copies) : file
  }
}

/// The bytes of a file at the time of its mapping, and later writes through the same opening.
// Unchecked: a test uses only one thread.
private final class MappedCopy: @unchecked Sendable {
  let bytes: UnsafeMutableRawBufferPointer

  init(_ length: Int) {
    bytes = .allocate(byteCount: length, alignment: 4096)
    forget()
  }

  func forget() { bytes.initializeMemory(as: UInt8.self, repeating: 0) }

  deinit { bytes.deallocate() }
}

private final class ForgottenFile: ForwardingFile {
  let behind: any File
  private let copies: Guarded<[MappedCopy]>
  private let own = Guarded<[MappedCopy]>([])

  init(_ behind: any File, _ copies: Guarded<[MappedCopy]>) { (self.behind, self.copies) = (behind, copies) }

  func map(_ length: Int) throws(FileIOError) -> FileMapping {
    let copy = MappedCopy(length)
    _ = try behind.read(into: copy.bytes, at: 0)
    own.withLock { $0.append(copy) }
    copies.withLock { $0.append(copy) }
    return FileMapping(base: UnsafeRawPointer(copy.bytes.baseAddress!), length: length) { _ = copy }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try forgetting { () throws(FileIOError) in try behind.write(bytes, at: offset) }
    for copy in own.withLock({ $0 }) where Int(offset) + bytes.count <= copy.bytes.count {
      UnsafeMutableRawBufferPointer(rebasing: copy.bytes[Int(offset)...]).copyMemory(from: bytes)
    }
  }

  func sync(_ mode: SyncMode) throws(FileIOError) {
    try forgetting { () throws(FileIOError) in try behind.sync(mode) }
  }

  private func forgetting(_ body: () throws(FileIOError) -> Void) throws(FileIOError) {
    do throws(FileIOError) { try body() } catch {
      for copy in copies.withLock({ $0 }) { copy.forget() }
      throw error
    }
  }
}
