import PerdureFileIO
import PerdureFormat

/// A long value that is written in pieces, ahead of the commit that puts it:
/// `Store.makeBlobWriter()`.
///
///     let writer = try store.makeBlobWriter()
///     while let piece = try next() { try writer.append(piece) }
///     let blob = try writer.finish()
///     try store.write { try $0.put(blob, id: 7, in: films) }
///
/// Takes 0 bytes to 4 GiB, and memory for half a megabyte, however long the value is. The bytes
/// take effect only when a commit puts the value. A writer that is released before removes its
/// file; after a crash the next opening removes it.
///
/// One thread at a time appends; others wait.
public final class BlobWriter {
  private let lock = Lock()
  private let engine: Engine
  private let number: UInt64
  private var file: BlobFileWriter?
  private var written: UInt64 = 0

  init(_ engine: Engine) throws {
    self.engine = engine
    number = try engine.takeBlobNumber()
    do {
      file = try BlobFileWriter(number, of: engine.storeID, in: engine.directory)
    } catch {
      throw StoreError.io(error, "Making a blob file")
    }
  }

  deinit {
    if file != nil { engine.discardBlobs([number]) }
  }

  /// How many bytes were appended.
  public var count: UInt64 { lock.withLock { written } }

  /// Adds bytes to the end of the value.
  ///
  /// - Throws: `StoreError`: `.invalidArgument` when the value would be longer than
  ///   `StoreLimits.valueLengthMax` (nothing was added, and the writer can still be used);
  ///   `.diskFull` or `.io` when the file cannot be written, and `.closed` (the writer cannot be
  ///   used any more).
  /// - Complexity: O(n) for n bytes; each 32 MiB are synced.
  public func append(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try append($0) } }

  /// Like `append(_:)`, for an array.
  public func append(_ bytes: RawSpan) throws { try bytes.withUnsafeBytes { try append($0) } }

  package func append(_ bytes: UnsafeRawBufferPointer) throws {
    try engine.checkProcess()
    lock.lock()
    defer { lock.unlock() }
    guard written + UInt64(bytes.count) <= StoreLimits.valueLengthMax else { throw StoreError.tooLong }
    guard file != nil else { throw StoreError.finishedBlob }
    do {
      try engine.checkBlobRoom()
      try file?.append(bytes)
      written += UInt64(bytes.count)
    } catch {
      file = nil
      throw engine.failedBlob(number, error)
    }
  }

  /// Completes the value and makes it durable, so that a commit may put it. The writer is done
  /// then.
  ///
  /// - Throws: `StoreError`: `.diskFull` or `.io` when the file cannot be written; `.closed`,
  ///   `.invalidArgument` when it was finished before.
  /// - Complexity: two syncs.
  public func finish() throws -> WrittenBlob {
    try engine.checkProcess()
    lock.lock()
    defer { lock.unlock() }
    guard let last = file.take() else { throw StoreError.finishedBlob }
    do {
      try engine.checkBlobRoom()
      return WrittenBlob(engine, try engine.finish(last))
    } catch {
      throw engine.failedBlob(number, error)
    }
  }
}

// Unchecked: everything that varies is guarded by `lock`.
extension BlobWriter: @unchecked Sendable {}

/// A long value that is written, and waits for the commit that puts it:
/// `WriteTransaction.put(_:id:in:)`.
///
/// It can be put once. If the commit was refused and the store is not poisoned, it can be put
/// again. If it is freed before it was put, it removes its file.
public final class WrittenBlob {
  private enum Use { case none, inTransaction, committed }

  private let lock = Lock()
  let engine: Engine
  let reference: BlobReference
  private var use = Use.none

  init(_ engine: Engine, _ reference: BlobReference) {
    self.engine = engine
    self.reference = reference
  }

  deinit {
    if use == .none { engine.discardBlobs([reference.number]) }
  }

  /// How many bytes the value has.
  public var count: UInt64 { reference.valueLength }

  /// A copy of all of it.
  func value() throws -> [UInt8] { try engine.blobs.read(reference).withBytes { Array($0) } }

  func check(isFor store: Engine) throws(StoreError) {
    guard engine === store else {
      throw StoreError(.invalidArgument, "The value was written for another store")
    }
  }

  /// A transaction puts it; no other may.
  func take() throws(StoreError) {
    try engine.checkProcess()
    try lock.withLock { () throws(StoreError) in
      guard use == .none else {
        throw StoreError(.invalidArgument, "A written value can be put once; write it again for another key")
      }
      use = .inTransaction
    }
  }

  /// The transaction is known not to be committed.
  func giveBack() { lock.withLock { use = .none } }

  /// The log names the file, or may do so: this object no longer owns it.
  func didCommit() { lock.withLock { use = .committed } }
}

// Unchecked: its state is guarded by `lock`.
extension WrittenBlob: @unchecked Sendable {}

extension Store {
  /// Begins a long value, which is then appended to in pieces and put by a later commit.
  ///
  /// - Throws: `StoreError`: `.diskFull`, `.io`, `.closed`, `.poisoned`, `.readOnly`.
  public func makeBlobWriter() throws -> BlobWriter {
    try engine.checkWritable()
    return try BlobWriter(engine)
  }
}

extension WriteTransaction {
  /// Puts a value that was written in pieces under an id of a dense keyspace.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` when it was put before, or written for
  ///   another store.
  public mutating func put(_ blob: WrittenBlob, id: UInt64, in keyspace: Keyspace) throws {
    try Self.check(keyspace, .dense)
    try withUnsafeBytes(of: id.littleEndian) { try append($0, blob, keyspace) }
  }

  /// Puts a value that was written in pieces under a byte-string key of 0 to 65,535 bytes.
  ///
  /// - Throws: as for `put(_:id:in:)`.
  public mutating func put(_ blob: WrittenBlob, key: [UInt8], in keyspace: Keyspace) throws {
    try Self.check(keyspace, .bytes)
    try Self.check(keyLength: key.count)
    try key.withUnsafeBytes { try append($0, blob, keyspace) }
  }
}

extension Engine {
  /// The number of a blob file that none had before.
  func takeBlobNumber() throws -> UInt64 {
    try checkProcess()
    try checkRoom()
    return try inTurn { state in
      guard state.nextBlob < FormatLimits.counterMax else {
        throw StoreError(.invalidArgument, "No number is left for another blob file; copy the store")
      }
      state.nextBlob += 1
      return state.nextBlob - 1
    }
  }

  /// A value can be written as long as the store can.
  func checkBlobRoom() throws {
    if let poison = gate.poison { throw poison }
    if reserve.isShort { try checkRoom() }
  }

  /// The error for a blob file that could not be written; the file was removed.
  func failedBlob(_ number: UInt64, _ error: any Error) -> any Error {
    discardBlobs([number])
    guard let error = error as? FileIOError else { return error }
    guard error.isSync else { return StoreError.io(error, "Writing a blob file") }
    // S5: after a failed sync it is unknown which changes were dropped; after a failed write the
    //     other files are intact.
    gate.poison(
      StoreError(
        .poisoned, "A sync of a blob file failed. Close the store and open it again", cause: error))
    return StoreError.unsure(error, "Syncing a blob file")
  }
}

extension StoreError {
  static var tooLong: StoreError {
    StoreError(.invalidArgument, "A value has at most \(StoreLimits.valueLengthMax) bytes")
  }

  fileprivate static var finishedBlob: StoreError {
    StoreError(.invalidArgument, "The value was finished, or could not be written; begin another one")
  }
}
