public import PerdureFileIO
import PerdureFormat

/// An error of a store: what failed, where (a file and an offset), and what to do.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The kind of error, which determines how to react. More kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case invalidArgument, conflict, corruption, io, poisoned, locked, unsupportedFormat, closed, readOnly,
        indexUnavailable, notAStore, diskFull, forked
    }

    private let kind: Kind

    /// An argument of the caller is invalid; nothing was written.
    public static let invalidArgument = Code(kind: .invalidArgument)
    /// A precondition of the commit was not met, or two records have one key in a unique index.
    /// Nothing was written. If `isRetryable` is true, read again, decide again, and repeat the
    /// commit.
    public static let conflict = Code(kind: .conflict)
    /// Bytes differ from the bytes that were written. Nothing was changed. Verify the store, then
    /// restore it.
    public static let corruption = Code(kind: .corruption)
    /// The operating system refused an operation. `cause` has the reason.
    public static let io = Code(kind: .io)
    /// The medium, or the user's disk quota, has no space left for the operation. Nothing was
    /// written, and the store can still be used: it can be read, records can be removed, and it can
    /// be compacted (`StoreOptions.reserveBytes`).
    public static let diskFull = Code(kind: .diskFull)
    /// An earlier write or sync failed, or the store's folder was removed or replaced. The store
    /// accepts no more writes: close it and open it again.
    public static let poisoned = Code(kind: .poisoned)
    /// Another process, or another `Store` in this process, has the store open for writing or is
    /// copying its files.
    public static let locked = Code(kind: .locked)
    /// The store was written in a version of the format that this code does not support.
    public static let unsupportedFormat = Code(kind: .unsupportedFormat)
    /// The store was closed.
    public static let closed = Code(kind: .closed)
    /// The store was opened for reading only.
    public static let readOnly = Code(kind: .readOnly)
    /// The derived index cannot be used here. Either no extractor of this program can maintain it,
    /// or a value that it needs is damaged, or it was found to differ from the records. Nothing was
    /// written.
    public static let indexUnavailable = Code(kind: .indexUnavailable)
    /// The directory is not a store, or there is no store.
    public static let notAStore = Code(kind: .notAStore)

    /// The call was made in a forked child of the process that had opened the store. The call had
    /// no effect. Open the store in the child, or fork before opening it.
    public static let forked = Code(kind: .forked)

    /// The name of the code.
    public var description: String { kind.rawValue }
  }

  /// The kind of error.
  public let code: Code
  /// The failure and what to do, in one or two sentences.
  public let message: String
  /// The location: a file, a byte offset, a key. It is nil if there is no specific location.
  public let place: String?
  /// The operating system's error, if a system call failed.
  public let cause: FileIOError?
  /// The preconditions that were not met, and the duplicate keys, for `.conflict`.
  public let conflicts: [Conflict]

  package init(
    _ code: Code, _ message: String, at place: String? = nil, cause: FileIOError? = nil,
    conflicts: [Conflict] = []
  ) {
    self.code = code
    self.message = message
    self.place = place
    self.cause = cause
    self.conflicts = conflicts
  }

  /// Whether the call can succeed if the caller reads again and decides again. It is true if a
  /// precondition was not met, and false for equal keys in a unique index.
  public var isRetryable: Bool {
    code == .conflict
      && conflicts.contains {
        if case .precondition = $0 { true } else { false }
      }
  }

  /// The code, the message, the location and the first conflicts, for a log. Its length is bounded.
  public var description: String {
    var text = "\(code): \(message)"
    if !conflicts.isEmpty { text += ": \(conflicts.summary)" }
    if let place { text += " (\(place))" }
    // The message of `.locked` already names the holder of the lock.
    if let cause, code != .locked { text += ": \(cause)" }
    return text
  }
}

extension StoreError {
  /// The codes of errors after which nothing of the commit remains: it was not written, or was
  /// rolled back completely.
  static let leavingNothing: Set<Code> = [.conflict, .diskFull, .invalidArgument]

  static func io(_ cause: FileIOError, _ action: String) -> StoreError {
    if cause.code == .locked {
      let holder = cause.detail.map { ", " + $0 } ?? ""
      return StoreError(
        .locked,
        "The store is open for writing elsewhere\(holder); close it there first, or open it for reading only",
        at: cause.path, cause: cause)
    }
    if cause.code.isLackOfSpace {
      return StoreError(
        .diskFull,
        "\(action) ran out of space; remove records, compact the store, or free space on the medium",
        cause: cause)
    }
    if cause.code == .notAFile || cause.code == .isADirectory {
      return StoreError(
        .io,
        "\(action) found a directory or a pipe, for example, in place of one of the store's files. "
          + "Move it away. If the store had a file with this name, restore the store from a backup",
        at: cause.path, cause: cause)
    }
    return unsure(cause, action)
  }

  /// The error for operations that may have been done partly or completely. Even with a full disk,
  /// bytes may have been written.
  static func unsure(_ cause: FileIOError, _ action: String) -> StoreError {
    cause.code == .replaced ? folderReplaced(cause) : StoreError(.io, "\(action) failed", cause: cause)
  }

  /// The error if the store's folder, or LOCK or SUPERBLOCK in it, was removed or replaced while
  /// the store was open.
  static func folderReplaced(_ cause: FileIOError) -> StoreError {
    if cause.path.hasSuffix("/" + StoreFileName.superblock.string) { return superblockRemoved(cause) }
    return StoreError(
      .poisoned,
      "The store's folder, or the file LOCK in it, was removed or replaced while the store was open; commits "
        + "since then may be lost. Close this store, and open the intended store by its path",
      at: cause.path, cause: cause)
  }

  private static func superblockRemoved(_ cause: FileIOError) -> StoreError {
    StoreError(
      .poisoned,
      "The file SUPERBLOCK was removed while the store was open, and the store does not open without it. Close this "
        + "store, and make a new one from its readable records (`perdure salvage`, Store.salvage)",
      at: cause.path, cause: cause)
  }

  /// What to do about damage that the store cannot repair.
  static let beyondRepair =
    "nothing was changed: restore the store from a backup, or make a new one from its readable records "
    + "(`perdure salvage`, Store.salvage)"

  static func corruption(_ error: FormatError, segment: UInt64, offset: Int) -> StoreError {
    let place = "\(StoreFileName.segment(segment).string), byte \(offset)"
    if error.reason == .unsupported { return unsupported(error, at: place) }
    return StoreError(.corruption, "\(error); \(beyondRepair)", at: place)
  }

  /// The error for a structure that a newer version of Perdure has written. A backup or a salvage
  /// by this version does not help.
  static func unsupported(_ error: FormatError, at place: String) -> StoreError {
    StoreError(.unsupportedFormat, "The store needs a newer version of Perdure: \(error)", at: place)
  }

  static func noStore(at path: String) -> StoreError {
    StoreError(
      .notAStore,
      "There is no store here; check the path, or open it for writing with createsIfMissing to create one",
      at: path)
  }

  static func forked(at path: String) -> StoreError {
    StoreError(
      .forked,
      "This process was forked after the store was opened, and only the parent may use that store object. "
        + "Open the store here after the parent has closed it, or fork before opening",
      at: path)
  }

  static let closed = StoreError(.closed, "The store was closed; open it again")
}
