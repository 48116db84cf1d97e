import PerdureFileIO
import PerdureFormat

/// Writes a long value in pieces. A later commit puts the value. `Store.makeBlobWriter()` makes a
/// writer.
///
///     let writer = try store.makeBlobWriter()
///     while let piece = try next() { try writer.append(piece) }
///     let blob = try writer.finish()
///     try store.write { try $0.put(blob, id: 7, in: films) }
///
/// A value has 0 bytes to 4 GiB. The writer needs half a megabyte of memory for a value of any
/// length. The bytes take effect only when a commit puts the value. A writer that is released
/// before `finish()` removes its file. After a crash, the next opening removes the file.
///
/// Only one thread appends at a time. Other threads wait.
public final class BlobWriter {
  private let lock = Lock()
  private let engine: Engine
  private let number: UInt64
  private var file: BlobFileWriter?
  private var written: UInt64 = 0

  init(_ engine: Engine) throws {
    self.engine = engine
    number = try engine.takeBlobNumber()
    try engine.beginChange()
    do {
      file = try BlobFileWriter(number, of: engine.storeID, in: engine.directory)
    } catch {
      throw StoreError.io(error, "Making a blob file")
    }
  }

  deinit {
    if file != nil { engine.discardBlobs([number]) }
  }

  /// The number of bytes appended so far.
  public var count: UInt64 { lock.withLock { written } }

  /// Adds bytes to the end of the value.
  ///
  /// - Throws: `StoreError`: `.invalidArgument` if the value becomes longer than
  ///   `StoreLimits.valueLengthMax` (nothing was added, and the writer can still be used);
  ///   `.invalidArgument` also if the value was finished before, or an earlier piece could not be
  ///   written; `.diskFull`, `.io`, `.poisoned` or `.closed` if the file cannot be written (the
  ///   writer can no longer be used).
  /// - Complexity: O(n) for n bytes. A sync follows each 32 MiB.
  public func append(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try append($0) } }

  /// Adds bytes to the end of the value, like `append(_:)` with an array.
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

  /// Completes the value and makes it durable, so that a commit may put it. The writer cannot be
  /// used after this.
  ///
  /// - Throws: `StoreError`: `.diskFull` or `.io` if the file cannot be written; `.closed`;
  ///   `.poisoned`; `.invalidArgument` if the value was finished before, or a piece could not be
  ///   written.
  /// - Complexity: Two syncs.
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

// Unchecked: its state is guarded by `lock`.
extension BlobWriter: @unchecked Sendable {}

/// A long value that was written, and that no commit has put yet. `WriteTransaction.put(_:id:in:)`
/// puts it.
///
/// The value can be put once. If the commit was refused and the store is not poisoned, the value
/// can be put again. If this object is freed before the value was put, it removes the value's file.
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

  /// The number of bytes of the value.
  public var count: UInt64 { reference.valueLength }

  /// A copy of the whole value.
  func value() throws -> [UInt8] { try engine.blobs.read(reference).withBytes { Array($0) } }

  func check(isFor store: Engine) throws(StoreError) {
    guard engine === store else {
      throw StoreError(.invalidArgument, "The value was written for another store")
    }
  }

  /// Reserves the value for a transaction, so that no other transaction can put it.
  func take() throws(StoreError) {
    try engine.checkProcess()
    try lock.withLock { () throws(StoreError) in
      guard use == .none else {
        throw StoreError(.invalidArgument, "A written value can be put once; write it again for another key")
      }
      use = .inTransaction
    }
  }

  /// Makes the value available again. The caller knows that its transaction was not committed.
  func release() { lock.withLock { use = .none } }

  /// Ends the ownership of the file, because the log references the file or may reference it.
  func didCommit() { lock.withLock { use = .committed } }
}

// Unchecked: its state is guarded by `lock`.
extension WrittenBlob: @unchecked Sendable {}

extension Store {
  /// Begins a long value, which is written in pieces and put by a later commit.
  ///
  /// - Throws: `StoreError`: `.diskFull`, `.io`, `.closed`, `.poisoned`, `.readOnly`.
  public func makeBlobWriter() throws -> BlobWriter {
    try engine.checkWritable()
    return try BlobWriter(engine)
  }
}

extension WriteTransaction {
  /// Puts a value, which was written in pieces, under an id of a dense keyspace.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` if the keyspace has keys of another kind,
  ///   if the value was put before or was written for another store, or if the commit becomes
  ///   longer than `StoreOptions.batchBytesMax`.
  public mutating func put(_ blob: WrittenBlob, id: UInt64, in keyspace: Keyspace) throws {
    try Self.check(keyspace, .dense)
    try withUnsafeBytes(of: id.littleEndian) { try append($0, blob, keyspace) }
  }

  /// Puts a value, which was written in pieces, under a byte-string key of 0 to 65,535 bytes.
  ///
  /// - Throws: The errors of `put(_:id:in:)`.
  public mutating func put(_ blob: WrittenBlob, key: [UInt8], in keyspace: Keyspace) throws {
    try Self.check(keyspace, .bytes)
    try Self.check(keyLength: key.count)
    try key.withUnsafeBytes { try append($0, blob, keyspace) }
  }
}

extension Engine {
  /// Returns the number of a new blob file. No blob file had this number before.
  func takeBlobNumber() throws -> UInt64 {
    try checkProcess()
    try checkRoom()
    return try inTurn { state in
      guard state.nextBlob < FormatLimits.counterMax else {
        throw StoreError(
          .invalidArgument, "No number is left for another blob file; put the values into a new store")
      }
      state.nextBlob += 1
      return state.nextBlob - 1
    }
  }

  /// Checks that a blob file may grow: the store is not poisoned, and the reserve is complete.
  func checkBlobRoom() throws {
    if let poison = gate.poison { throw poison }
    if reserve.isShort { try checkRoom() }
  }

  /// Handles a failed write of a blob file: removes the file, and returns the error to throw.
  func failedBlob(_ number: UInt64, _ error: any Error) -> any Error {
    discardBlobs([number])
    guard let error = error as? FileIOError else { return error }
    guard error.operation.isSync else { return StoreError.io(error, "Writing a blob file") }
    // S5: after a failed sync it is unknown which changes the system has dropped, so the store is
    // poisoned. A failed write leaves the other files intact.
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
