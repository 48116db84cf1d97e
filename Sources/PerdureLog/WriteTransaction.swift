import PerdureFileIO
import PerdureFormat

/// The content of one commit: operations and preconditions.
///
/// A transaction is filled in by the closure of `Store.write` on the caller's thread, while no lock
/// is held. It is committed when the closure returns. The operations take effect in order. If
/// several operations change the same key, the last one takes effect. A transaction reads nothing.
/// To depend on data, take a snapshot and declare the data with `require`, or let
/// `Store.transaction` do both.
public struct WriteTransaction: ~Copyable {
  var batch = WriteBatch()
  private(set) var preconditions: [Precondition] = []
  private let engine: Engine
  private(set) var packer: ValuePacker

  init(_ engine: Engine) {
    self.engine = engine
    packer = ValuePacker(engine.packing)
  }

  /// Adds a precondition, which is checked when the commit has its turn. If `precondition` is not
  /// met at that time, `Store.write` throws `StoreError` with code `.conflict`, and nothing is
  /// committed.
  public mutating func require(_ precondition: Precondition) { preconditions.append(precondition) }

  /// Allocates memory for this number of preconditions in one piece.
  package mutating func reserve(preconditionCount: Int) { preconditions.reserveCapacity(preconditionCount) }

  /// Puts `value` under an id of a dense keyspace.
  ///
  /// - Parameter value: 0 to 4 GiB. A value longer than `StoreOptions.blobThresholdBytes` is
  ///   written to its own file and synced in this call.
  /// - Parameter id: The id, any number.
  /// - Parameter keyspace: A dense keyspace.
  /// - Throws: `StoreError`: `.invalidArgument`; for a value with its own file also the errors of
  ///   `BlobWriter.finish()`.
  public mutating func put(_ value: [UInt8], id: UInt64, in keyspace: Keyspace) throws {
    try value.withUnsafeBytes { try put($0, id: id, in: keyspace) }
  }

  /// Puts `value` under a byte-string key.
  ///
  /// - Parameter key: 0 to 65,535 bytes.
  /// - Parameter value: As for `put(_:id:in:)`.
  /// - Parameter keyspace: A keyspace of byte strings.
  /// - Throws: `StoreError`: `.invalidArgument`; for a value with its own file also the errors of
  ///   `BlobWriter.finish()`.
  public mutating func put(_ value: [UInt8], key: [UInt8], in keyspace: Keyspace) throws {
    try value.withUnsafeBytes { value in try key.withUnsafeBytes { try put(value, key: $0, in: keyspace) } }
  }

  /// Removes an id. If the id is absent, nothing happens.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` for a keyspace of the other kind, or if
  ///   the commit becomes longer than `StoreOptions.batchBytesMax`.
  public mutating func remove(id: UInt64, in keyspace: Keyspace) throws {
    try Self.check(keyspace, .dense)
    try checkBatch(adding: RecordHeader.length + 16)
    batch.note(keyspace)
    withUnsafeBytes(of: id.littleEndian) { batch.appendTombstone(keyspace: keyspace.id, key: $0) }
  }

  /// Removes a byte-string key. If the key is absent, nothing happens.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` in three cases: the keyspace has the other
  ///   kind, the key is longer than 65,535 bytes, or the commit becomes longer than
  ///   `StoreOptions.batchBytesMax`.
  public mutating func remove(key: [UInt8], in keyspace: Keyspace) throws {
    try Self.check(keyspace, .bytes)
    try key.withUnsafeBytes { bytes in
      try Self.check(keyLength: bytes.count)
      try checkBatch(adding: RecordHeader.length + bytes.count + 8)
      batch.note(keyspace)
      batch.appendTombstone(keyspace: keyspace.id, key: bytes)
    }
  }

  /// Puts the bytes of `value`, which are copied.
  package mutating func put(_ value: UnsafeRawBufferPointer, id: UInt64, in keyspace: Keyspace) throws {
    try Self.check(keyspace, .dense)
    try withUnsafeBytes(of: id.littleEndian) { try append($0, value, keyspace) }
  }

  /// Puts the bytes of `value`, which are copied.
  package mutating func put(
    _ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws {
    try Self.check(keyspace, .bytes)
    try Self.check(keyLength: key.count)
    try append(key, value, keyspace)
  }

  private mutating func append(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ keyspace: Keyspace
  ) throws {
    batch.note(keyspace)
    if value.count <= engine.options.blobThresholdBytes {
      try checkBatch(adding: RecordHeader.length + key.count + value.count)
      if packer.isUsed, let packed = packer.pack(value, in: keyspace) {
        return batch.append(.packed, keyspace: keyspace.id, key: key, value: packed)
      }
      batch.append(.put, keyspace: keyspace.id, key: key, value: value)
      return
    }
    guard UInt64(value.count) <= StoreLimits.valueLengthMax else { throw StoreError.tooLong }
    try checkBatch(adding: RecordHeader.length + key.count + BlobReference.length)
    let reference = try engine.writeBlob(value)
    batch.note(blob: reference.number)
    append(key, reference, keyspace)
  }

  static func check(_ keyspace: Keyspace, _ kind: KeyspaceKind) throws {
    try keyspace.check(kind)
    precondition(keyspace.id != 0, "Only the store itself can write the catalog")
  }

  @inline(__always)
  private func checkBatch(adding length: Int) throws {
    if batch.records.count + length > engine.options.batchBytesMax { throw Self.tooLong(engine.options) }
  }

  @inline(never)
  private static func tooLong(_ options: StoreOptions) -> StoreError {
    StoreError(
      .invalidArgument,
      "A commit can contain at most \(options.batchBytesMax) bytes of records; split it into several commits, or "
        + "raise batchBytesMax"
    )
  }

  static func check(keyLength: Int) throws {
    guard keyLength <= FormatLimits.keyLengthMax else {
      throw StoreError(
        .invalidArgument, "A key has \(keyLength) bytes; the maximum is \(FormatLimits.keyLengthMax)")
    }
  }
}

extension WriteTransaction {
  mutating func append(
    _ key: UnsafeRawBufferPointer, _ blob: WrittenBlob, _ keyspace: Keyspace
  ) throws {
    try blob.check(isFor: engine)
    try checkBatch(adding: RecordHeader.length + key.count + BlobReference.length)
    try blob.take()
    batch.note(keyspace)
    batch.note(blob)
    append(key, blob.reference, keyspace)
  }

  private mutating func append(
    _ key: UnsafeRawBufferPointer, _ reference: BlobReference, _ keyspace: Keyspace
  ) {
    withUnsafeTemporaryAllocation(byteCount: BlobReference.length, alignment: 8) { bytes in
      reference.write(to: bytes)
      batch.append(.blob, keyspace: keyspace.id, key: key, value: UnsafeRawBufferPointer(bytes))
    }
  }
}

extension Engine {
  /// Commits a transaction that is completely filled in.
  func append(_ transaction: borrowing WriteTransaction) throws -> CommitReceipt {
    do {
      let receipt = try append(transaction.batch, transaction.preconditions)
      didCommit(transaction.batch)
      if transaction.packer.isUsed { trainIfDue(transaction.packer.tallies) }
      return receipt
    } catch {
      didFail(transaction.batch, error)
      throw error
    }
  }

  /// Removes the blob files of a batch whose commit failed. If the log may reference the files,
  /// they are kept. The next recovery removes those that no record names.
  func didFail(_ batch: borrowing WriteBatch, _ error: any Error) {
    let leavesNothing = (error as? StoreError).map { StoreError.leavingNothing.contains($0.code) } ?? false
    // If the store is not poisoned, the commit was rolled back.
    if leavesNothing || gate.poison == nil { release(batch) } else { didCommit(batch) }
  }

  /// Writes a value to a blob file with a number that no file had before.
  func writeBlob(_ value: UnsafeRawBufferPointer) throws -> BlobReference {
    let number = try takeBlobNumber()
    try beginChange()
    do {
      var writer = try BlobFileWriter(number, of: storeID, in: directory)
      try writer.append(value)
      return try finish(writer)
    } catch {
      throw failedBlob(number, error)
    }
  }

  /// Completes a blob file.
  func finish(_ writer: consuming BlobFileWriter) throws(FileIOError) -> BlobReference {
    let reference = try writer.finish()
    let header = BlobHeader(store: storeID, number: reference.number, valueLength: reference.valueLength)
    written.addBlob(header.fileLength)
    return reference
  }

  /// Handles a batch that was not committed: removes its blob files, and makes its written values
  /// available for another batch.
  func release(_ batch: borrowing WriteBatch) {
    guard mark.isOwn, let extras = batch.extras else { return }
    discardBlobs(extras.blobs)
    for blob in extras.written { blob.release() }
  }

  /// Handles a batch whose files the log references or may reference: its written values no longer
  /// own their files.
  private func didCommit(_ batch: borrowing WriteBatch) {
    guard let extras = batch.extras else { return }
    for blob in extras.written { blob.didCommit() }
  }

  /// Removes blob files that nothing references.
  func discardBlobs(_ numbers: [UInt64]) {
    // In a forked child the files belong to the parent.
    guard mark.isOwn else { return }
    for number in numbers {
      // If a file cannot be removed, the next recovery removes it.
      try? blobs.remove(number)
    }
  }
}
