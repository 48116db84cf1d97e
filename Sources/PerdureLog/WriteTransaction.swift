import PerdureFileIO
import PerdureFormat

/// The content of one commit: operations and their conditions.
///
/// A transaction is filled in by the closure of `Store.write` on the caller's thread, outside every
/// lock, and committed when the closure returns. The operations take effect in order; of several on
/// one key the last wins. It reads nothing: take a snapshot, and declare with `require` the data
/// that the decision depends on; or let `Store.transaction` do both.
public struct WriteTransaction: ~Copyable {
  var batch = WriteBatch()
  private(set) var preconditions: [Precondition] = []
  private let engine: Engine
  private(set) var packer: ValuePacker

  init(_ engine: Engine) {
    self.engine = engine
    packer = ValuePacker(engine.packing)
  }

  /// The commit happens only if `precondition` holds in its turn; otherwise `Store.write` throws
  /// `StoreError` with code `.conflict` and nothing is written.
  public mutating func require(_ precondition: Precondition) { preconditions.append(precondition) }

  /// Takes memory for so many preconditions at once.
  package mutating func reserve(preconditionCount: Int) { preconditions.reserveCapacity(preconditionCount) }

  /// Puts `value` under an id of a dense keyspace.
  ///
  /// - Parameter value: 0 to 4 GiB. Longer than `StoreOptions.blobThresholdBytes`, it is written
  ///   to a file of its own and synced right here.
  /// - Parameter id: The id, any number.
  /// - Parameter keyspace: A dense keyspace.
  /// - Throws: `StoreError`: `.invalidArgument`, or `.io` when a blob file cannot be written.
  public mutating func put(_ value: [UInt8], id: UInt64, in keyspace: Keyspace) throws {
    try value.withUnsafeBytes { try put($0, id: id, in: keyspace) }
  }

  /// Puts `value` under a byte-string key.
  ///
  /// - Parameter key: 0 to 65,535 bytes.
  /// - Parameter value: as for `put(_:id:in:)`.
  /// - Parameter keyspace: A keyspace of byte strings.
  /// - Throws: `StoreError`: `.invalidArgument`, or `.io` when a blob file cannot be written.
  public mutating func put(_ value: [UInt8], key: [UInt8], in keyspace: Keyspace) throws {
    try value.withUnsafeBytes { value in try key.withUnsafeBytes { try put(value, key: $0, in: keyspace) } }
  }

  /// Removes an id. Nothing happens if it is absent.
  /// - Throws: `StoreError` with code `.invalidArgument` for a keyspace of the other kind.
  public mutating func remove(id: UInt64, in keyspace: Keyspace) throws {
    try Self.check(keyspace, .dense)
    try checkBatch(adding: RecordHeader.length + 16)
    batch.note(keyspace)
    withUnsafeBytes(of: id.littleEndian) { batch.appendTombstone(keyspace: keyspace.id, key: $0) }
  }

  /// Removes a byte-string key. Nothing happens if it is absent.
  /// - Throws: `StoreError` with code `.invalidArgument` for a keyspace of the other kind.
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
    precondition(keyspace.id != 0, "The catalog is written by the store itself")
  }

  @inline(__always)
  private func checkBatch(adding length: Int) throws {
    if batch.records.count + length > engine.options.batchBytesMax { throw Self.tooLong(engine.options) }
  }

  @inline(never)
  private static func tooLong(_ options: StoreOptions) -> StoreError {
    StoreError(
      .invalidArgument,
      "A commit takes at most \(options.batchBytesMax) bytes of records; make several, or raise batchBytesMax"
    )
  }

  static func check(keyLength: Int) throws {
    guard keyLength <= FormatLimits.keyLengthMax else {
      throw StoreError(
        .invalidArgument, "A key has \(keyLength) bytes; the most is \(FormatLimits.keyLengthMax)")
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
  /// Commits a transaction that is filled in.
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

  /// Removes the blob files of a batch whose commit failed. If the log may name them, recovery
  /// decides.
  func didFail(_ batch: borrowing WriteBatch, _ error: any Error) {
    let leavesNothing = (error as? StoreError).map { StoreError.leavingNothing.contains($0.code) } ?? false
    // A store that is not poisoned has rolled the commit back.
    if leavesNothing || gate.poison == nil { letGo(of: batch) } else { didCommit(batch) }
  }

  /// Writes a blob file under a number that no file had before.
  func writeBlob(_ value: UnsafeRawBufferPointer) throws -> BlobReference {
    let number = try takeBlobNumber()
    do {
      var writer = try BlobFileWriter(number, of: storeID, in: directory)
      try writer.append(value)
      return try finish(writer)
    } catch {
      throw failedBlob(number, error)
    }
  }

  /// Makes a blob file whole.
  func finish(_ writer: consuming BlobFileWriter) throws(FileIOError) -> BlobReference {
    let reference = try writer.finish()
    let header = BlobHeader(store: storeID, number: reference.number, valueLength: reference.valueLength)
    written.addBlob(header.fileLength)
    return reference
  }

  /// A batch was not committed: its blob files go, or wait for another one.
  func letGo(of batch: borrowing WriteBatch) {
    guard mark.isOwn, let extras = batch.extras else { return }
    discardBlobs(extras.blobs)
    for blob in extras.written { blob.giveBack() }
  }

  /// The log names the files that a batch names, or may do so.
  private func didCommit(_ batch: borrowing WriteBatch) {
    guard let extras = batch.extras else { return }
    for blob in extras.written { blob.didCommit() }
  }

  /// Removes blob files that nothing names.
  func discardBlobs(_ numbers: [UInt64]) {
    // In a forked child the files belong to the parent.
    guard mark.isOwn else { return }
    for number in numbers {
      // An orphan that stays is swept by the next recovery.
      try? blobs.remove(number)
    }
  }
}
