import PerdureFileIO
import PerdureFormat

/// An embedded, log-structured, ordered key-value store.
///
/// A store is a directory. Commits are atomic over any number of keyspaces, checked against
/// preconditions, and durable as far as the caller asks (`Durability`); snapshots are taken in
/// constant time and never block or are blocked. One process writes at a time, and any number read beside it
/// (`StoreOptions.isReadOnly`).
///
/// All methods may be called from any thread.
///
/// An opening belongs to the process that made it. After a fork the child must not use it: every
/// call that can throw throws `StoreError` with code `.forked` and does nothing, and so do reads of
/// snapshots that were taken before or after the fork. `close()` in the child, and releasing a
/// store or a snapshot there, only drops the child's own memory and descriptors: the parent keeps
/// its lock and continues. The child may open the store itself once the parent has closed it, or has
/// ended and the child has closed the inherited `Store`; one that is opened for reading
/// (`StoreOptions.isReadOnly`) may be opened at any time. A program that makes itself a daemon
/// opens its stores afterwards.
public final class Store: Sendable {
  /// Where the engine comes from. That of a store which reads is the follower's alone: with the engine goes its
  /// place among the readers.
  private enum Source {
    case writing(Engine)
    case reading(Follower)
  }

  private let source: Source
  /// The process that opened the store (Engine+Fork.swift).
  private let mark: ProcessMark
  /// What opening found.
  public let recoveryReport: RecoveryReport

  /// Opens the store in the directory `path`, or makes one there.
  ///
  /// - Parameter path: The store's directory; by custom its name ends in `.perdure`. A relative path counts from
  ///   the process's working directory at this moment: the store stays there when that changes. The path is
  ///   looked up once. If the folder is moved later, the store continues in it. If the folder is removed or
  ///   replaced, the store fails with code `.poisoned` at the latest when it begins its next segment, and leaves
  ///   what is at the path as it is.
  /// - Throws: `StoreError`: `.locked` (after `StoreOptions.lockTimeout`), `.notAStore`, `.unsupportedFormat`,
  ///   `.corruption` (nothing was changed), `.io`, `.invalidArgument`; `CancellationError` while it waits; what `StoreOptions.recoveryProgress` throws.
  /// - Complexity: reads what the log has behind the newest checkpoint; without one that can be used, the
  ///   whole log, once.
  public init(at path: String, options: StoreOptions = StoreOptions()) throws {
    try options.validate()
    let path = try Recovery.place(of: path, options)
    try Replacement.settle(path, options)
    let opened: Engine
    (opened, recoveryReport) = try Recovery.open(path, options)
    mark = opened.mark
    source =
      options.isReadOnly
      ? .reading(Follower(opened, framesEnd: recoveryReport.framesEnd)) : .writing(opened)
  }

  deinit {
    if mark.isOwn { follower?.stop() }
    engine.abandon()
  }

  var engine: Engine {
    switch source {
    case .writing(let engine): engine
    case .reading(let follower): follower.engine
    }
  }

  /// Of a store that was opened for reading: what goes on to newer states.
  var follower: Follower? {
    if case .reading(let follower) = source { follower } else { nil }
  }

  /// The store's directory, from the root.
  public var path: String { engine.path }

  /// The store's identity, 32 hexadecimal digits drawn when it was created.
  public var identifier: String { engine.storeID.description }

  /// Commits what `body` puts into a transaction; all of it or nothing.
  ///
  /// The commit is visible to snapshots taken after this returns (and a moment before); it is
  /// durable as `durability` says.
  ///
  /// - Parameter durability: What the commit has survived when this returns; nil: the store's default.
  /// - Parameter body: Fills in the transaction, on this thread, under no lock.
  /// - Returns: What `body` returned, and the commit's sequence number (that of the last commit
  ///   before, if there was nothing to do).
  /// - Throws: what `body` throws (nothing is written); `StoreError`: `.conflict`, `.invalidArgument`, as
  ///   for a keyspace of another store, (both: nothing written), `.diskFull` (nothing written; the store
  ///   goes on), `.io` (the store is now poisoned, unless the system only refused another file or more
  ///   address space), `.poisoned` (not written, or written and not known to be durable), `.closed`,
  ///   `.readOnly`, `.forked`.
  /// - Complexity: O(k log n) for k operations on n keys; one write, at most one sync, which
  ///   concurrent commits share.
  @discardableResult
  public func write<R>(
    durability: Durability? = nil, _ body: (inout WriteTransaction) throws -> R
  ) throws -> (result: R, sequence: UInt64) {
    let (result, receipt) = try append(body)
    try engine.settle(receipt, durability ?? engine.options.durability)
    return (result, receipt.sequence)
  }

  /// As the synchronous `write`, but waits for the sync without blocking a thread of the pool.
  ///
  /// In an asynchronous function this is the `write` that is meant; the other one is reached through a
  /// function, or a closure, that is not asynchronous.
  ///
  /// - Parameter isolation: The caller's actor. `body` runs there, before anything is waited for, so it may
  ///   use and return what is not `Sendable`.
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
      try engine.settle(receipt, durability)
    }
    return (result, receipt.sequence)
  }

  /// For callers that take locks of their own before they call the store (Engine+Fork, Y1).
  ///
  /// - Throws: `StoreError` with code `.forked` in a child of the process that opened the store.
  package func checkProcess() throws(StoreError) {
    if !mark.isOwn { throw .forked(at: path) }
  }

  @inline(__always)
  func append<R>(_ body: (inout WriteTransaction) throws -> R) throws -> (R, CommitReceipt) {
    let engine = engine
    try engine.checkWritable()
    var transaction = WriteTransaction(engine)
    let result: R
    do { result = try body(&transaction) } catch {
      engine.letGo(of: transaction.batch)
      throw error
    }
    return (result, try engine.append(transaction))
  }

  /// Everything that is committed now, unchanging. Keep it no longer than needed: what it sees
  /// is not reclaimed while it lives.
  ///
  /// A closed store gives what it held when it was closed: another `Store` that has been opened since may
  /// have gone on. If it has, and no snapshot was kept meanwhile, values may be gone: reading one is an
  /// error.
  ///
  /// - Complexity: O(1); no lock is taken. Of a closed store that was writing, the first snapshot takes a
  ///   place among the readers: a lock in this process, files that are opened and locked, a superblock that
  ///   is read. Where it can have no place it holds the writer's, and who opens the store is told `.locked`
  ///   until the last such snapshot is gone; its release gives the place up. In a forked child the
  ///   snapshot is the last state before the fork: it has a `sequence` and counts, and its reads
  ///   throw `StoreError` with code `.forked`.
  public func snapshot() -> Snapshot { Snapshot(engine) }

  /// Waits until everything committed so far is durable.
  /// - Throws: `StoreError` with code `.poisoned` when a sync failed.
  public func sync() throws {
    let end = try engine.inTurn { $0.end }
    try engine.gate.waitUntilSynced(end)
  }

  /// Makes everything durable, marks the store as closed and lets go of it. Snapshots go on reading: what
  /// they see is kept from later writers as it is kept from this one, by a place among the readers
  /// (`readers`). Where none can be had the store stays locked until the last of them is gone. Closing
  /// twice is allowed. In a forked child closing changes nothing for the parent. A store that goes out of
  /// scope without it is as after a crash of the process: whole, and recovered by the next opening.
  /// - Throws: `StoreError` when the last sync fails; the store is closed all the same.
  public func close() throws {
    if mark.isOwn { follower?.stop() }
    try engine.close()
  }
}
