package import PerdureFileIO
import PerdureTestSupport

/// A file system that reports one kind of sync as successful without syncing. An engine on it
/// behaves like an engine that omits that sync.
package final class ForgetfulFileSystem: ForwardingFileSystem {
  package enum Omission: CaseIterable, Sendable {
    /// The sync of a superblock before it gets its name (C2).
    case newSuperblock
    /// The sync of the directory after the superblock got its name (C3).
    case creation
    /// The sync of the parent directory after the store's directory was created (C3).
    case parentDirectory
    /// The sync of a new segment's header (B4).
    case segmentBirth
    /// The sync of the directory after a segment was created (B4).
    case segmentName
    /// The sync of a segment that contains commits. It precedes the creation of the next segment
    /// (B1) and the acknowledgement of a commit (S2).
    case log
    /// The sync of a blob file (S1).
    case blob
    /// The sync of the directory after a blob file was created (S1).
    case blobName
    /// The sync of an index file before a superblock names a checkpoint in it (S7).
    case index
    /// The sync of the directory after an index file was created (S7).
    case indexName
    /// The sync of a rewritten segment before it gets its name (T7).
    case rewrittenSegment
    /// The sync of the directory after a rewritten segment got its name, before void segments are
    /// removed (T7, T9).
    case rewrittenName
    /// Every sync of a file.
    case everyFile
    /// Every sync of a directory.
    case everyName
    /// Every sync.
    case every

    /// Whether the omission has effects only in programs that compact.
    package var isOfCompaction: Bool { self == .rewrittenSegment || self == .rewrittenName }
  }

  package let behind: any FileSystem
  private let omission: Omission
  private let lastCreated = Guarded<String>("")

  package init(_ behind: any FileSystem, without omission: Omission) {
    self.behind = behind
    self.omission = omission
  }

  package func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    if mode == .create { lastCreated.withLock { $0 = path } }
    return ForgetfulFile(try behind.open(path, mode), without: omission)
  }

  package func syncDirectory(_ path: String) throws(FileIOError) {
    let last = lastCreated.withLock { $0 }
    let isForgotten =
      switch omission {
      case .creation: path != "/" && last.hasSuffix("SUPERBLOCK.tmp")
      case .parentDirectory: path == "/"
      case .segmentName: path != "/" && last.hasSuffix(".segment")
      case .indexName: path != "/" && last.hasSuffix(".index")
      case .rewrittenName: path != "/" && last.hasSuffix(".segment.tmp")
      case .blobName: path != "/" && last.hasSuffix(".blob")
      case .everyName, .every: true
      default: false
      }
    if !isForgotten { try behind.syncDirectory(path) }
  }
}

private final class ForgetfulFile: ForwardingFile {
  let behind: any File
  private let omission: ForgetfulFileSystem.Omission

  init(_ behind: any File, without omission: ForgetfulFileSystem.Omission) {
    self.behind = behind
    self.omission = omission
  }

  func sync(_ mode: SyncMode) throws(FileIOError) {
    let isEmptySegment = path.hasSuffix(".segment") ? try behind.size() <= 128 : false
    let isForgotten =
      switch omission {
      case .newSuperblock: path.hasSuffix("SUPERBLOCK.tmp")
      case .rewrittenSegment: path.hasSuffix(".segment.tmp")
      case .segmentBirth: isEmptySegment
      case .log: path.hasSuffix(".segment") && !isEmptySegment
      case .blob: path.hasSuffix(".blob")
      case .index: path.hasSuffix(".index")
      case .everyFile, .every: true
      default: false
      }
    if !isForgotten { try behind.sync(mode) }
  }
}
