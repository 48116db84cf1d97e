import PerdureFileIO
import PerdureFormat

/// What one commit is going to do: operations and the conditions under which it may do them.
///
/// A transaction is filled in by the closure of `Store.write` on the caller's thread, outside
/// every lock, and committed when the closure returns. The operations take effect in order; of
/// several on one key the last wins. It reads nothing: take a snapshot, and say with `require`
/// what the decision rests on; or let `Store.transaction` do both.
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

  /// Puts `value` under an id of a dense keyspace.
  ///
  /// - Parameter value: 0 to 4 GiB. Longer than `StoreOptions.blobThresholdBytes`, it is written
  ///   to a file of its own and synced right here.
  /// - Throws: `StoreError`: `.invalidArgument`, or `.io` when a blob file cannot be written.
  public mutating func put(_ value: [UInt8], id: UInt64, in keyspace: Keyspace) throws {
    try value.withUnsafeBytes { try put($0, id: id, in: keyspace) }
  }

  /// Puts `value` under a byte-string key.
  ///
  /// - Parameter key: 0 to 65,535 bytes.
  /// - Parameter value: as for `put(_:id:in:)`.
  /// - Throws: `StoreError`: `.invalidArgument`, or `.io` when a blob file cannot be written.
  public mutating func put(_ value: [UInt8], key: [UInt8], in keyspace: Keyspace) throws {
    try value.withUnsafeBytes { value in try key.withUnsafeBytes { try put(value, key: $0, in: keyspace) } }
  }

  /// Removes an id. Nothing happens if it is not there.
  /// - Throws: `StoreError` with code `.invalidArgument` for a keyspace of the other kind.
  public mutating func remove(id: UInt64, in keyspace: Keyspace) throws {
    try Self.check(keyspace, .dense)
    withUnsafeBytes(of: id.littleEndian) { batch.appendTombstone(keyspace: keyspace.id, key: $0) }
  }

  /// Removes a byte-string key. Nothing happens if it is not there.
  /// - Throws: `StoreError` with code `.invalidArgument` for a keyspace of the other kind.
  public mutating func remove(key: [UInt8], in keyspace: Keyspace) throws {
    try Self.check(keyspace, .bytes)
    try key.withUnsafeBytes { bytes in
      try Self.check(keyLength: bytes.count)
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
    if value.count <= engine.options.blobThresholdBytes {
      if packer.isUsed, let packed = packer.pack(value, in: keyspace) {
        return batch.append(.packed, keyspace: keyspace.id, key: key, value: packed)
      }
      batch.append(.put, keyspace: keyspace.id, key: key, value: value)
      return
    }
    guard UInt64(value.count) <= FormatLimits.blobLengthMax else {
      throw StoreError(
        .invalidArgument, "A value has \(value.count) bytes; the most is \(FormatLimits.blobLengthMax)")
    }
    let reference = try engine.writeBlob(value)
    batch.blobs.append(reference.number)
    withUnsafeTemporaryAllocation(byteCount: BlobReference.length, alignment: 8) { bytes in
      reference.write(to: bytes)
      batch.append(.blob, keyspace: keyspace.id, key: key, value: UnsafeRawBufferPointer(bytes))
    }
  }

  static func check(_ keyspace: Keyspace, _ kind: KeyspaceKind) throws {
    guard keyspace.kind == kind else {
      throw StoreError(
        .invalidArgument, "Keyspace \(keyspace.name) has keys of kind \(keyspace.kind), not \(kind)")
    }
    precondition(keyspace.id != 0, "The catalog is written by the store itself")
  }

  static func check(keyLength: Int) throws {
    guard keyLength <= FormatLimits.keyLengthMax else {
      throw StoreError(
        .invalidArgument, "A key has \(keyLength) bytes; the most is \(FormatLimits.keyLengthMax)")
    }
  }
}

extension Engine {
  /// Writes a blob file under a number that no file had before.
  func writeBlob(_ value: UnsafeRawBufferPointer) throws -> BlobReference {
    try checkRoom()
    let number = try inTurn { state in
      guard state.nextBlob < FormatLimits.counterMax else {
        throw StoreError(.invalidArgument, "No number is left for another blob file; copy the store")
      }
      state.nextBlob += 1
      return state.nextBlob - 1
    }
    do {
      return try blobs.write(value, number: number)
    } catch {
      // S5: whose changes a failed sync has dropped, nobody knows; a failed write harms nobody.
      if error.isSync {
        gate.poison(
          StoreError(
            .poisoned, "A sync of a blob file failed. Close the store and open it again", cause: error))
      }
      discardBlobs([number])
      throw error.isSync
        ? StoreError.unsure(error, "Syncing a blob file") : StoreError.io(error, "Writing a blob file")
    }
  }

  /// Removes the blob files of a batch that was not committed.
  func discardBlobs(_ numbers: [UInt64]) {
    for number in numbers {
      // An orphan that stays is swept by the next recovery.
      try? blobs.remove(number)
    }
  }
}
