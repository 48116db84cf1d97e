extension FileIOError {
  /// A call of `FileSystem`, `Directory`, `File` or `FileLock` that can fail.
  ///
  /// The engine decides by the operation whether a store stays usable after an error. After `sync`
  /// and `syncDirectory` it is unknown which of the earlier changes are durable, so the store
  /// accepts no more commits. After another operation, the decision depends on the code and on the
  /// bytes in the files. A file system that a program implements reports the operation that its
  /// method attempted. The documentation of `FileSystem` lists the operations.
  ///
  /// Later versions may add operations.
  public struct Operation: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String, CaseIterable {
      case absolutePath, createDirectory, contents, kind, open, create, openDirectory, rename, remove
      case link, syncDirectory, lock, availableBytes
      case size, linkCount, read, nextData, write, allocate, sync, map, tryLock, unlock, isLocked, close
      case reserve
    }

    private let kind: Kind

    private init(_ kind: Kind) {
      self.kind = kind
    }

    /// The name of the operation in messages, such as `write`.
    public var description: String { kind.rawValue }

    /// `FileSystem.absolutePath(_:)`.
    public static let absolutePath = Operation(.absolutePath)
    /// `FileSystem.createDirectory(_:)`.
    public static let createDirectory = Operation(.createDirectory)
    /// `contents` of a file system or a directory.
    public static let contents = Operation(.contents)
    /// `kind(of:)` of a file system or a directory.
    public static let kind = Operation(.kind)
    /// `open(_:_:)` of a file system or a directory.
    public static let open = Operation(.open)
    /// `open(_:_:)` with the mode `.create`, if the file system distinguishes it from `open`.
    public static let create = Operation(.create)
    /// `FileSystem.openDirectory(_:)`.
    public static let openDirectory = Operation(.openDirectory)
    /// `rename(_:to:)` of a file system or a directory.
    public static let rename = Operation(.rename)
    /// `remove(_:)` of a file system or a directory.
    public static let remove = Operation(.remove)
    /// `FileSystem.link(_:to:)`.
    public static let link = Operation(.link)
    /// `FileSystem.syncDirectory(_:)` and `Directory.sync()`, once the sync was attempted.
    public static let syncDirectory = Operation(.syncDirectory)
    /// `lock(_:_:holder:)` of a file system or a directory.
    public static let lock = Operation(.lock)
    /// `availableBytes` of a file system or a directory.
    public static let availableBytes = Operation(.availableBytes)
    /// `File.size()`.
    public static let size = Operation(.size)
    /// `File.linkCount()`.
    public static let linkCount = Operation(.linkCount)
    /// `File.read(into:at:)`.
    public static let read = Operation(.read)
    /// `File.nextData(from:)`.
    public static let nextData = Operation(.nextData)
    /// `File.write(_:at:)`.
    public static let write = Operation(.write)
    /// `File.allocate(_:)`.
    public static let allocate = Operation(.allocate)
    /// `File.sync(_:)`.
    public static let sync = Operation(.sync)
    /// `File.map(_:)`.
    public static let map = Operation(.map)
    /// `File.tryLock(_:)`.
    public static let tryLock = Operation(.tryLock)
    /// `File.unlock(_:)`.
    public static let unlock = Operation(.unlock)
    /// `File.isLocked(_:)`.
    public static let isLocked = Operation(.isLocked)
    /// `File.close()`.
    public static let close = Operation(.close)
    /// A reservation of memory by the engine, which is not a call of a file system.
    public static let reserve = Operation(.reserve)

    /// All operations of this version.
    package static var all: [Operation] { Kind.allCases.map { Operation($0) } }
  }
}

extension FileIOError.Operation {
  /// The effect that a failed operation may have had on the files.
  private enum Effect {
    /// It is unknown which of the earlier changes are durable.
    case unknownDurability
    /// Some of the bytes may be in the file.
    case someBytes
    /// The system gave no file, memory or lock, and all synced bytes are unchanged.
    case nothingAcquired
    /// The operation alone does not determine the effect.
    case unspecified
  }

  private var effect: Effect {
    switch kind {
    case .sync, .syncDirectory: .unknownDurability
    case .write: .someBytes
    case .open, .create, .map, .reserve, .lock, .tryLock: .nothingAcquired
    case .absolutePath, .createDirectory, .contents, .kind, .openDirectory, .rename, .remove, .link,
      .availableBytes, .size, .linkCount, .read, .nextData, .allocate, .unlock, .isLocked, .close:
      .unspecified
    }
  }

  /// Whether the operation syncs a file or a directory. If it fails, it is unknown which of the
  /// earlier changes are durable. Other failed operations do not have this effect.
  package var isSync: Bool { effect == .unknownDurability }

  /// Whether the operation writes bytes. If it fails, some of the bytes may be in the file.
  package var isWrite: Bool { effect == .someBytes }

  /// Whether the operation acquires a file, memory or a lock. If it fails, all synced
  /// bytes are unchanged.
  package var isAcquisition: Bool { effect == .nothingAcquired }
}
