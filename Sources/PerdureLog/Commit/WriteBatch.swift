import PerdureFormat

/// The operations of one commit, as sealed records one after another: built on the caller's
/// thread, outside every lock, so that the committer only copies, links and publishes.
struct WriteBatch: ~Copyable {
  private(set) var records = RawBuffer()
  private(set) var recordCount = 0
  /// Blob files written for this batch, to be removed if it is not committed.
  var blobs: [UInt64] = []
  /// Values that were written in pieces before, to be given back if it is not committed.
  var written: [WrittenBlob] = []
  /// The keyspaces of the records, as the caller named them.
  private(set) var keyspaces = ShortList<Keyspace>()
  private var lastNoted: (id: UInt32, mark: UInt64) = (0, 0)

  var isEmpty: Bool { recordCount == 0 }

  /// Notes that the next record is of this keyspace: the committer knows whether the store has it.
  @inline(__always)
  mutating func note(_ keyspace: Keyspace) {
    if lastNoted.mark != keyspace.mark || lastNoted.id != keyspace.id { noteAnother(keyspace) }
  }

  @inline(never)
  private mutating func noteAnother(_ keyspace: Keyspace) {
    lastNoted = (keyspace.id, keyspace.mark)
    if !keyspaces.contains(keyspace) { keyspaces.append(keyspace) }
  }

  /// Adds a record whose key and value the closure writes.
  mutating func append(
    _ kind: RecordHeader.Kind, keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) {
    let header = RecordHeader(kind: kind, keyspace: keyspace, keyLength: key.count, valueLength: value.count)
    let target = records.extend(by: header.paddedLength)
    if !key.isEmpty {
      UnsafeMutableRawBufferPointer(rebasing: target[RecordHeader.length...]).copyMemory(from: key)
    }
    if !value.isEmpty {
      UnsafeMutableRawBufferPointer(rebasing: target[(RecordHeader.length + key.count)...]).copyMemory(
        from: value)
    }
    header.seal(target)
    recordCount += 1
  }

  /// Adds a tombstone; what it shadows is filled in by the committer.
  mutating func appendTombstone(keyspace: UInt32, key: UnsafeRawBufferPointer) {
    let nothing: UInt64 = 0
    withUnsafeBytes(of: nothing) { append(.tombstone, keyspace: keyspace, key: key, value: $0) }
  }
}
