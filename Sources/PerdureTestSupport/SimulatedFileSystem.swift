public import PerdureFileIO

// A file system in memory that knows which changes a power cut could lose.
//
// Callers see the newest state, as on a real system: names in `tree`, bytes in `contents`. The
// content of the disk is not stored here, because it can be computed from the journal
// (DurabilityModel.swift). One lock covers an operation and its entry in the journal, so the
// journal has the order of the operations.

/// A file system in memory for tests, with a journal of all changes that a power cut can undo, and
/// failures on demand.
///
/// It implements the contract of `FileSystem`, even for several threads. Its behaviour is not
/// random: the same calls produce the same journal.
public final class SimulatedFileSystem: FileSystem {
  struct State: Sendable {
    var tree = NameTree()
    var contents: [NameTree.NodeID: MemoryContent] = [:]
    var locks = LockTable()
    var journal = CrashJournal(start: DurabilityModel())
    var failures = FailurePlan()
    var usedBytes: UInt64 = 0
    let capacityBytes: UInt64
    let ignoresSync: Bool
    /// Whether syncs that fail by injection report success.
    var hidesFailedSyncs = false
    /// Whether a sync of a directory has forgotten changes of names.
    var hasForgottenNames = false
  }

  let state: Guarded<State>

  /// Makes a file system with `image` on its disk.
  ///
  /// - Parameters:
  ///   - image: The files at the start.
  ///   - capacityBytes: The maximum number of bytes of all files together. A longer write stores
  ///     the bytes that fit, and fails with `.noSpace`. The bytes of a removed file are free
  ///     immediately, even while the file is open, unlike on a real system.
  ///   - ignoresSync: Whether each sync reports success and does nothing. A test of durability must
  ///     then fail. `CrashExplorer.canary` does this for suites.
  /// - Complexity: O(n) for the bytes of the image.
  public init(_ image: CrashImage = .empty, capacityBytes: UInt64 = 1 << 40, ignoresSync: Bool = false) {
    var state = State(capacityBytes: capacityBytes, ignoresSync: ignoresSync)
    var start = DurabilityModel()
    var links = ImageLinks()
    state.load(image.root, into: NameTree.root, at: "", &start, &links)
    state.journal = CrashJournal(start: start)
    self.state = Guarded(state)
  }
}

// Requests and settings of tests.
extension SimulatedFileSystem {
  /// The operations and marks so far.
  public var journal: CrashJournal {
    state.withLock { $0.journal }
  }

  /// The number of operations in the journal. O(1).
  public var operationCount: Int {
    state.withLock { $0.journal.operationCount }
  }

  /// Makes a later call fail. Several failures can be pending, and each counts calls separately.
  public func inject(_ failure: InjectedFailure) {
    inject(failure, strikesMax: .max)
  }

  /// - Parameter strikesMax: The number of failed calls after which no more calls fail.
  func inject(_ failure: InjectedFailure, strikesMax: Int) {
    state.withLock { $0.failures.add(failure, strikesMax: strikesMax) }
  }

  /// Removes the pending failures.
  public func removeInjectedFailures() {
    state.withLock { $0.failures.removeAll() }
  }

  /// Whether a sync that fails by injection reports success. A power cut may then lose the bytes of
  /// the file.
  var hidesFailedSyncs: Bool {
    get { state.withLock { $0.hidesFailedSyncs } }
    set { state.withLock { $0.hidesFailedSyncs = newValue } }
  }

  /// Lets the next syncs of directories make forgotten changes of names durable.
  package func rewriteForgottenNames() {
    state.withLock { state in
      guard state.hasForgottenNames else { return }
      state.hasForgottenNames = false
      state.journal.record(.syncDirectory, "writes forgotten names again at the next sync", .rememberEntries)
    }
  }

  /// The number of calls that failed by injection.
  public var injectedFailureCount: Int {
    state.withLock { $0.failures.struckCount }
  }

  /// The injected failure of the last failed call.
  package var lastInjectedFailure: InjectedFailure? {
    state.withLock { $0.failures.lastStruck }
  }

  /// The free bytes of `capacityBytes`. The request is not counted as a call, and cannot fail.
  package var freeBytes: UInt64 {
    state.withLock { $0.availableBytes }
  }

  /// The number of calls of each kind, including those that failed by injection.
  public var callCounts: [FileOperation: Int] {
    state.withLock { $0.failures.callCounts }
  }

  /// The content that callers see now, with all pending changes.
  public var currentImage: CrashImage {
    state.withLock { $0.image() }
  }
}

extension SimulatedFileSystem {
  /// See `FileSystem.createDirectory(_:)`.
  public func createDirectory(_ path: String) throws(FileIOError) {
    try perform(.createDirectory, path) { state throws(FileIOError) in
      let change = try state.tree.createDirectory(.init(path))
      state.journal.record(.createDirectory, path, .create(PendingChange.Entry(change), isDirectory: true))
    }
  }

  /// See `FileSystem.contents(of:)`.
  public func contents(of directory: String) throws(FileIOError) -> [String] {
    try perform(.contents, directory) { state throws(FileIOError) in
      try state.tree.contents(of: .init(directory))
    }
  }

  /// See `FileSystem.kind(of:)`.
  public func kind(of path: String) throws(FileIOError) -> FileKind? { try kind(of: .init(path)) }

  /// See `FileSystem.open(_:_:)`.
  public func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try open(.init(path), mode)
  }

  /// Opens a directory. The result refers to the same directory even if its path later refers to
  /// another one.
  public func openDirectory(_ path: String) throws(FileIOError) -> any Directory {
    let node = try perform(.openDirectory, path) { state throws(FileIOError) in
      try state.tree.directory(at: .init(path), for: .openDirectory)
    }
    return SimulatedDirectory(path, node, self)
  }

  /// See `FileSystem.rename(_:to:)`. Failures are injected by the path of `source`.
  public func rename(_ source: String, to destination: String) throws(FileIOError) {
    try rename(.init(source), to: .init(destination))
  }

  /// See `FileSystem.link(_:to:)`. Failures are injected by the path of `name`.
  public func link(_ source: String, to name: String) throws(FileIOError) {
    try perform(.link, name) { state throws(FileIOError) in
      let change = try state.tree.link(.init(source), to: .init(name))
      state.journal.record(.link, "\(source) to \(name)", .link(PendingChange.Entry(change)))
    }
  }

  /// See `FileSystem.remove(_:)`.
  public func remove(_ path: String) throws(FileIOError) { try remove(.init(path)) }

  /// See `FileSystem.syncDirectory(_:)`.
  public func syncDirectory(_ path: String) throws(FileIOError) {
    try syncDirectory(path) { state throws(FileIOError) in
      try state.tree.directory(at: .init(path), for: .syncDirectory)
    }
  }

  /// See `FileSystem.lock(_:_:holder:)`. The file remains empty, because the lock stores the
  /// holder's text.
  public func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try lock(.init(path), kind, holder: holder)
  }

  /// The free part of the capacity.
  public func availableBytes(at path: String) throws(FileIOError) -> UInt64 {
    try perform(.availableBytes, path) { state throws(FileIOError) in
      _ = try state.tree.node(at: .init(path), for: .availableBytes)
      return state.availableBytes
    }
  }
}

// Operations on one name, from the root or from an open directory.
extension SimulatedFileSystem {
  func kind(of path: NameTree.Path) throws(FileIOError) -> FileKind? {
    try perform(.kind, path.text) { state throws(FileIOError) in try state.tree.kind(of: path) }
  }

  func open(_ path: NameTree.Path, _ mode: FileMode) throws(FileIOError) -> any File {
    let operation = mode == .create ? FileOperation.create : .open
    let (node, content) = try perform(operation, path.text) { state throws(FileIOError) in
      if mode == .create { try state.create(path, for: .open) }
      return try state.file(at: path, for: .open)
    }
    return SimulatedFile(
      path: path.text, node: node, content: content, isWritable: mode != .read, state: state)
  }

  func rename(_ source: NameTree.Path, to destination: NameTree.Path) throws(FileIOError) {
    try perform(.rename, source.text) { state throws(FileIOError) in
      let (changes, replaced) = try state.tree.rename(source, to: destination)
      guard !changes.isEmpty else { return }
      if let replaced { state.discard(replaced) }
      state.journal.record(
        .rename, "\(source.text) to \(destination.text)", .rename(changes.map(PendingChange.Entry.init)))
    }
  }

  func remove(_ path: NameTree.Path) throws(FileIOError) {
    try perform(.remove, path.text) { state throws(FileIOError) in
      let (change, removed) = try state.tree.remove(path)
      if let removed { state.discard(removed) }
      state.journal.record(.remove, path.text, .remove(PendingChange.Entry(change)))
    }
  }

  func syncDirectory(
    _ path: String, _ directory: (State) throws(FileIOError) -> NameTree.NodeID
  ) throws(FileIOError) {
    try state.withLock { state throws(FileIOError) in
      guard let failure = state.failures.strike(.syncDirectory, path: path) else {
        let directory = try directory(state)
        let event = state.ignoresSync ? DiskEvent.ignored : .syncDirectory(directory)
        return state.journal.record(.syncDirectory, path, event)
      }
      // A real system opens the directory for the sync. Without descriptors or memory, that open
      // fails.
      if failure.code.isShortage { throw failure.error(.open, path: path) }
      var event = DiskEvent.ignored
      if failure.effect == .forgetsWrites, failure.dropsNames, let directory = try? directory(state) {
        event = .forgetEntries(directory: directory)
        state.hasForgottenNames = true
      }
      if state.hidesFailedSyncs || state.hasForgottenNames {
        state.journal.record(.syncDirectory, "\(path) failed", event)
      }
      if !state.hidesFailedSyncs { throw failure.error(.syncDirectory, path: path) }
    }
  }

  func lock(
    _ path: NameTree.Path, _ kind: LockKind, holder: String
  ) throws(FileIOError) -> any FileLock {
    let (node, number) = try perform(.lock, path.text) { state throws(FileIOError) in
      if try state.tree.kind(of: path) == nil { try state.create(path, for: .lock) }
      let node = try state.tree.file(at: path, for: .lock)
      return (node, try state.locks.take(node, kind, holder: holder, path: path.text))
    }
    // The check of the name is counted as a `.kind` call.
    return MemoryLock { [self] () throws(FileIOError) in
      try perform(.kind, path.text) { state throws(FileIOError) in state.tree.isNamed(node, path) }
    } onRelease: { [state] in
      state.withLock { $0.locks.release(node, number: number) }
    }
  }

  /// Runs one operation under the lock, unless a failure was injected for it.
  func perform<Result>(
    _ operation: FileOperation, _ path: String, _ body: (inout State) throws(FileIOError) -> Result
  ) throws(FileIOError) -> Result {
    try state.withLock { state throws(FileIOError) in
      if let failure = state.failures.strike(operation, path: path) {
        throw failure.error(operation.reported, path: path)
      }
      return try body(&state)
    }
  }
}
