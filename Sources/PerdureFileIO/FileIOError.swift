/// An error of the operating system or of a file system. Its message contains the remedy.
public struct FileIOError: Error, Sendable, Hashable {
  /// The kind of failure.
  public let code: Code

  /// The failed call. It decides, with the code, whether a store stays usable after the error.
  public let operation: Operation

  /// The path that the call used.
  public let path: String

  /// The byte offset in the file, if the call had one.
  public let offset: UInt64?

  /// The system's error number; 0 if the failure was detected without a system call.
  public let errno: Int32

  /// A clause with details, such as the holder of the lock. It is part of the message.
  public let detail: String?

  /// The failure, its location and the remedy.
  public let message: String

  /// Makes an error and composes its message.
  ///
  /// - Parameters:
  ///   - operation: The failed call. See `FileSystem` for the operation of each method.
  ///   - detail: A clause that follows the description of the code, such as the holder of the lock.
  public init(
    _ code: Code, operation: Operation, path: String, offset: UInt64? = nil, errno: Int32 = 0,
    detail: String? = nil
  ) {
    self.code = code
    self.operation = operation
    self.path = path
    self.offset = offset
    self.errno = errno
    self.detail = detail
    let place = offset.map { " at byte \($0)" } ?? ""
    let number = errno == 0 ? "" : " (errno \(errno))"
    let clause = detail.map { ": \($0)" } ?? ""
    message = "\(operation) of \(path)\(place) failed: \(code.meaning)\(clause)\(number). \(code.remedy)"
  }
}

extension FileIOError {
  /// Whether the system refused a write because the volume, the quota or the file has no space for
  /// it. Some of the bytes may be in the file.
  package var isRefusedWrite: Bool {
    operation.isWrite && (code.isLackOfSpace || code == .fileTooLarge)
  }
}

extension FileIOError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}

extension FileIOError {
  /// The kind of a failure. Later versions may add codes; treat unknown codes like `other`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case notFound, alreadyExists, permissionDenied, readOnly, noSpace, quotaExceeded, fileTooLarge
      case tooManyOpenFiles, locked, busy, mediaError, invalidArgument, nameTooLong, notADirectory
      case isADirectory, notAFile, directoryNotEmpty, outOfMemory, notSupported, closed, replaced
      case tooManyLinks, other
    }

    private let kind: Kind

    private init(_ kind: Kind) {
      self.kind = kind
    }

    /// The name of the code.
    public var description: String { kind.rawValue }

    /// The name does not exist.
    public static let notFound = Code(.notFound)
    /// The name already exists.
    public static let alreadyExists = Code(.alreadyExists)
    /// The process lacks the permission.
    public static let permissionDenied = Code(.permissionDenied)
    /// The volume is mounted read-only.
    public static let readOnly = Code(.readOnly)
    /// The volume is full.
    public static let noSpace = Code(.noSpace)
    /// The user's quota on the volume is used up.
    public static let quotaExceeded = Code(.quotaExceeded)
    /// The call requires a longer file than the system allows.
    public static let fileTooLarge = Code(.fileTooLarge)
    /// The process or the system has too many files open.
    public static let tooManyOpenFiles = Code(.tooManyOpenFiles)
    /// Another holder has the lock.
    public static let locked = Code(.locked)
    /// The system is using the file in a way that excludes the call.
    public static let busy = Code(.busy)
    /// The medium failed to read or to write.
    public static let mediaError = Code(.mediaError)
    /// The system does not accept these arguments.
    public static let invalidArgument = Code(.invalidArgument)
    /// A name or the whole path is too long for the system.
    public static let nameTooLong = Code(.nameTooLong)
    /// The path contains too many symbolic links, for example a link that points to itself.
    public static let tooManyLinks = Code(.tooManyLinks)
    /// An entry that must be a directory is not one.
    public static let notADirectory = Code(.notADirectory)
    /// An entry that must be a file is a directory.
    public static let isADirectory = Code(.isADirectory)
    /// An entry that must be a file is a pipe, a socket or a device.
    public static let notAFile = Code(.notAFile)
    /// The directory still has names in it.
    public static let directoryNotEmpty = Code(.directoryNotEmpty)
    /// No memory or address space is left.
    public static let outOfMemory = Code(.outOfMemory)
    /// The volume does not support this operation.
    public static let notSupported = Code(.notSupported)
    /// The file is already closed.
    public static let closed = Code(.closed)
    /// The directory, or a file in it that the program needs, was removed or replaced.
    public static let replaced = Code(.replaced)
    /// Another error. The error number identifies it.
    public static let other = Code(.other)

    /// Whether the volume, or the user's quota on it, had no space left.
    package var isLackOfSpace: Bool { self == .noSpace || self == .quotaExceeded }

    /// Whether the process or the system lacked memory or descriptors. The same call may succeed
    /// later.
    package var isShortage: Bool { self == .tooManyOpenFiles || self == .outOfMemory }

    /// Whether the code describes the file: it is absent, is not a file, or cannot be read.
    package var isAboutFile: Bool {
      [.notFound, .notAFile, .isADirectory, .notADirectory, .mediaError].contains(self)
    }

    /// The meaning of the code, as a clause.
    var meaning: String {
      switch kind {
      case .notFound: "no file or directory has that name"
      case .alreadyExists: "the name already exists"
      case .permissionDenied: "permission denied"
      case .readOnly: "the volume is read-only"
      case .noSpace: "no space is left on the volume"
      case .quotaExceeded: "the disk quota is used up"
      case .fileTooLarge: "the file would become too large"
      case .tooManyOpenFiles: "too many files are open"
      case .locked: "the lock is taken"
      case .busy: "the system is using the file"
      case .mediaError: "the medium failed"
      case .invalidArgument: "the system refused the arguments"
      case .nameTooLong: "the name is too long"
      case .tooManyLinks: "the path has too many symbolic links"
      case .notADirectory: "not a directory"
      case .isADirectory: "it is a directory"
      case .notAFile: "it is a pipe, a socket or a device"
      case .directoryNotEmpty: "the directory is not empty"
      case .outOfMemory: "no memory or address space is left"
      case .notSupported: "the volume does not support it"
      case .closed: "the file is closed"
      case .replaced: "the directory, or a file in it that the program needs, was removed or replaced"
      case .other: "the system reported a failure"
      }
    }

    /// The remedy, as a sentence.
    var remedy: String {
      switch kind {
      case .notFound: "Check the path and that the volume is mounted."
      case .alreadyExists: "Choose another name, or open the existing file."
      case .permissionDenied: "Check the owner and the mode of the file and of its directory."
      case .readOnly: "Open for reading only, or mount the volume writable."
      case .noSpace: "Free space on the volume."
      case .quotaExceeded: "Free space or raise the quota."
      case .fileTooLarge: "Check the file size limits of the process and of the volume."
      case .tooManyOpenFiles: "Close files, or raise the limit on open files."
      case .locked: "Wait until the holder is done, or end it."
      case .busy: "Try again when the file is no longer in use."
      case .mediaError: "Check the medium; restore unreadable files from a backup."
      case .invalidArgument: "Check the path, the offset and the length."
      case .nameTooLong: "Use a shorter path."
      case .tooManyLinks: "Correct the links: one of them may lead back to itself."
      case .notADirectory: "Check every part of the path."
      case .isADirectory, .notAFile: "Name a file."
      case .directoryNotEmpty: "Remove its content first."
      case .outOfMemory: "Close other stores, or allow the process more memory."
      case .notSupported: "Use a local volume."
      case .closed: "Open it again."
      case .replaced: "Close everything that was opened there, and open the path again."
      case .other: "Look the errno up in the system's manual."
      }
    }
  }
}
