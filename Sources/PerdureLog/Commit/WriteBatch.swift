import PerdureFormat

/// The operations of one commit, as a sequence of sealed records. It is built on the caller's
/// thread, outside every lock. So the committer only copies the records, updates the index and
/// publishes.
struct WriteBatch: ~Copyable {
  private(set) var records = RawBuffer()
  private(set) var recordCount = 0
  /// The keyspace of the first record, as the caller passed it.
  private(set) var keyspace: Keyspace?
  /// Data that only few batches have.
  private(set) var extras: Extras?
  private var lastNoted: (id: UInt32, mark: UInt64) = (0, 0)

  var isEmpty: Bool { recordCount == 0 }

  /// Notes the keyspace of the next record. The committer checks that the store has this keyspace.
  @inline(__always)
  mutating func note(_ keyspace: Keyspace) {
    if lastNoted.mark != keyspace.mark || lastNoted.id != keyspace.id { noteAnother(keyspace) }
  }

  @inline(never)
  private mutating func noteAnother(_ keyspace: Keyspace) {
    lastNoted = (keyspace.id, keyspace.mark)
    if self.keyspace == nil {
      self.keyspace = keyspace
    } else if self.keyspace != keyspace {
      let extras = makeExtras()
      if !extras.otherKeyspaces.contains(keyspace) { extras.otherKeyspaces.append(keyspace) }
    }
  }

  /// Notes a blob file that was written for this batch.
  mutating func note(blob number: UInt64) { makeExtras().blobs.append(number) }

  /// Notes a value that was written in pieces before.
  mutating func note(_ blob: WrittenBlob) { makeExtras().written.append(blob) }

  private mutating func makeExtras() -> Extras {
    if let extras { return extras }
    let made = Extras()
    extras = made
    return made
  }

  /// A separate object, because releasing even empty lists takes measurable time in a batch of one
  /// record.
  final class Extras {
    /// Blob files written for the batch, to be removed if it is not committed.
    fileprivate(set) var blobs: [UInt64] = []
    /// Values that were written in pieces before. They can be put again if the batch is not
    /// committed.
    fileprivate(set) var written: [WrittenBlob] = []
    /// The keyspaces of the records after the first one, if they differ from its keyspace.
    fileprivate(set) var otherKeyspaces: [Keyspace] = []
  }

  /// Adds a record with a key and a value.
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

  /// Adds a tombstone. The committer later sets the address of the shadowed record.
  mutating func appendTombstone(keyspace: UInt32, key: UnsafeRawBufferPointer) {
    let nothing: UInt64 = 0
    withUnsafeBytes(of: nothing) { append(.tombstone, keyspace: keyspace, key: key, value: $0) }
  }
}
