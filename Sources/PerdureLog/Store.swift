import PerdureFileIO
import PerdureFormat

/// An embedded, log-structured, ordered key-value store.
///
/// A store is a directory. Commits are atomic over any number of keyspaces, checked against
/// preconditions, and as durable as requested (`Durability`). Snapshots are taken in constant time.
/// Snapshots never wait, and commits never wait for snapshots. Only one process writes at a time.
/// Any number of processes can read at the same time (`StoreOptions.isReadOnly`).
///
/// All methods may be called from any thread.
///
/// A `Store` belongs to the process that opened it. After a fork the child must not use it. Every
/// throwing call throws `StoreError` with code `.forked` and has no effect. This includes reads of
/// snapshots that were taken before or after the fork. The child may call `close()`, or release a
/// store or a snapshot. This only releases the child's own memory and descriptors. The parent keeps
/// its lock and can use the store. The child may open the store itself after the parent has closed
/// it. If the parent has ended without closing it, the child must first close the inherited
/// `Store`. The child may open the store for reading (`StoreOptions.isReadOnly`) at any time. A
/// program that becomes a daemon should open its stores afterwards.
public final class Store: Sendable {
  /// The owner of the engine. If the store is opened for reading, only the follower may own the
  /// engine. Freeing the engine releases its slot in the table of readers.
  private enum Source {
    case writing(Engine)
    case reading(Follower)
  }

  private let source: Source
  /// The engine whose pin table has spare snapshots (Snapshot+Reuse.swift); nil if the store was
  /// opened for reading. `source` retains the engine, so using `lender` changes no reference count.
  let lender: Unmanaged<Engine>?
  /// The process that opened the store (Engine+Fork.swift).
  private let mark: ProcessMark
  /// The findings of the opening, and its repairs.
  public let recoveryReport: RecoveryReport

  /// Opens the store in the directory `path`, or creates one there.
  ///
  /// - Parameter path: The store's directory; by convention its name ends in `.perdure`. A relative
  ///   path starts at the current working directory; later changes of that directory have no
  ///   effect. The path is resolved only once. If the folder is moved later, the store can still be
  ///   used. If the folder is removed or replaced, calls fail with code `.poisoned`, at the latest
  ///   when the store begins its next segment. Files of a new folder at the path are not changed.
  /// - Parameter options: The options of this opening. They are not stored in the files.
  /// - Throws: `StoreError`: `.locked` (after `StoreOptions.lockTimeout`), `.notAStore`,
  ///   `.unsupportedFormat`, `.corruption` (nothing was changed), `.io`, `.diskFull`,
  ///   `.invalidArgument`.
  ///   `CancellationError` if the task is cancelled while it waits for the lock. Errors of
  ///   `StoreOptions.recoveryProgress`.
  /// - Complexity: Reads the log after the newest checkpoint. If no checkpoint can be used, it
  ///   reads the whole log once.
  public init(at path: String, options: StoreOptions = StoreOptions()) throws {
    try options.validate()
    let path = try Recovery.place(of: path, options)
    let opened: Engine
    (opened, recoveryReport) = try Recovery.open(path, options)
    mark = opened.mark
    source =
      options.isReadOnly
      ? .reading(Follower(opened, framesEnd: recoveryReport.framesEnd)) : .writing(opened)
    lender = options.isReadOnly ? nil : .passUnretained(opened)
  }

  deinit {
    if mark.isOwn { follower?.stop() }
    lender?._withUnsafeGuaranteedRef { $0.pins.releaseSpares() }
    engine.abandon()
  }

  var engine: Engine {
    switch source {
    case .writing(let engine): engine
    case .reading(let follower): follower.engine
    }
  }

  /// The object that advances the store to newer states, if the store was opened for reading; nil
  /// for a writer.
  var follower: Follower? {
    if case .reading(let follower) = source { follower } else { nil }
  }

  /// The absolute path of the store's directory.
  public var path: String { engine.path }

  /// The store's identity: 32 hexadecimal digits, chosen at random when the store was created.
  public var identifier: String { engine.storeID.description }

  /// Commits the changes that `body` adds to a transaction, all of them or none.
  ///
  /// When this returns, the commit is visible to new snapshots and has at least the requested
  /// durability. The commit may become visible before this returns.
  ///
  /// - Parameter durability: The failures that the commit survives when this returns; nil: the
  ///   store's default.
  /// - Parameter body: Fills in the transaction, on this thread. No lock is held while it runs.
  /// - Returns: The result of `body`, and the commit's sequence number. If there was nothing to
  ///   write, it is the sequence number of the last commit.
  /// - Throws: The errors of `body`, or a `StoreError`. Nothing is written after an error of
  ///   `body`, `.conflict`, `.invalidArgument`, `.indexUnavailable`, `.corruption` or `.diskFull`.
  ///   A keyspace of another store is an example of `.invalidArgument`. `.indexUnavailable` means
  ///   that the unique index of a record was found to lack entries: open the store again.
  ///   `.corruption` means that a replaced record or the index is damaged. After `.diskFull`, the
  ///   store can still be used. After `.io`, the store is poisoned, unless the system only refused
  ///   another file or more address space. After `.poisoned`, the commit was not written, or it was
  ///   written and may not be durable. The other codes are `.closed`, `.readOnly` and `.forked`.
  /// - Complexity: O(k log n) for k operations on n keys. It needs one write and at most one sync,
  ///   which concurrent commits share.
  @discardableResult
  public func write<R>(
    durability: Durability? = nil, _ body: (inout WriteTransaction) throws -> R
  ) throws -> (result: R, sequence: UInt64) {
    let (result, receipt) = try append(body)
    try engine.sync(receipt, durability ?? engine.options.durability)
    return (result, receipt.sequence)
  }

  /// Like the synchronous `write`, but waits for the sync without blocking a thread of the pool.
  ///
  /// In an asynchronous function, `write` means this function. To call the synchronous one, use a
  /// synchronous function or closure.
  ///
  /// - Parameter durability: The failure that the commit survives when this returns; nil: the
  ///   store's default.
  /// - Parameter isolation: The caller's actor. `body` runs there, before the first suspension. It
  ///   may use and return values that are not `Sendable`.
  /// - Parameter body: Fills in the transaction. If it throws, nothing is written.
  @discardableResult
  public func write<R>(
    durability: Durability? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: (inout WriteTransaction) throws -> R
  ) async throws -> (result: R, sequence: UInt64) {
    let (result, receipt) = try append(body)
    let durability = durability ?? engine.options.durability
    if durability == .powerLoss {
      try await engine.gate.synced(receipt.end)
    } else {
      try engine.sync(receipt, durability)
    }
    return (result, receipt.sequence)
  }

  /// Checks that this process opened the store. It is for callers that acquire their own locks
  /// before they call the store (Engine+Fork, FK1).
  ///
  /// - Throws: `StoreError` with code `.forked` in a child of the process that opened the store.
  package func checkProcess() throws(StoreError) {
    if !isOwn { throw .forked(at: path) }
  }

  /// Whether this process opened the store. False in a forked child.
  package var isOwn: Bool { mark.isOwn }

  @inline(__always)
  func append<R>(_ body: (inout WriteTransaction) throws -> R) throws -> (R, CommitReceipt) {
    let engine = engine
    try engine.checkWritable()
    var transaction = WriteTransaction(engine)
    let result: R
    do { result = try body(&transaction) } catch {
      engine.release(transaction.batch)
      throw error
    }
    return (result, try engine.append(transaction))
  }

  /// A snapshot of all commits so far. It never changes. Release it soon: until then, the store
  /// keeps the records that the snapshot can read.
  ///
  /// A snapshot of a closed store has the state at closing. If another `Store` has committed after
  /// that, and no snapshot was held meanwhile, values may be missing. Reading such a value throws
  /// an error.
  ///
  /// In a forked child the snapshot has the last state before the fork. It has a `sequence` and
  /// counts, and its reads throw `StoreError` with code `.forked`.
  ///
  /// - Complexity: O(1); no lock is acquired. There is one exception: the first snapshot of a
  ///   closed store that was writing registers as a reader. It acquires a lock in this process,
  ///   opens and locks files, and reads a superblock. If it cannot register, it holds the writer's
  ///   lock. Then opening the store for writing throws `.locked` until the last such snapshot is
  ///   released.
  /// - SeeAlso: `withSnapshot(_:)` and `advance(_:)`, which usually allocate no memory.
  public func snapshot() -> Snapshot { Snapshot(engine) }

  /// Waits until all commits so far are durable.
  ///
  /// - Throws: `StoreError` with code `.closed`, `.forked` or `.poisoned`.
  public func sync() throws {
    let end = try engine.inTurn { $0.end }
    try engine.gate.waitUntilSynced(end)
  }

  /// Makes all commits durable, marks the store as closed and releases its locks.
  ///
  /// Existing snapshots can still be read. They register as readers (`readers`), so later writers
  /// keep their files. If they cannot register, the store stays locked until the last of them is
  /// released. Closing twice is allowed. In a forked child, closing has no effect on the parent. If
  /// a store is released without closing, its state is the same as after a crash of the process,
  /// and the next opening recovers it.
  ///
  /// - Throws: `StoreError` if the store is poisoned, or if the last sync or the write of the
  ///   superblock fails. The store is then closed too.
  public func close() throws {
    if mark.isOwn { follower?.stop() }
    try engine.close()
  }
}
