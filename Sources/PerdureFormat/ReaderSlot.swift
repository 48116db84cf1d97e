/// The entry of a reader in the file of readers. FORMAT.md, "Reading while a program writes".
///
/// A slot is valid only while its reader holds the lock on it. A locked slot that cannot be decoded
/// means that its reader is about to open the store and may need all data.
package struct ReaderSlot: Hashable, Sendable {
  package static let length = 64
  /// The maximum number of slots.
  package static let countMax = 4096
  static let version: UInt16 = 1

  /// The data that a reader with an open store may still read.
  package struct Hold: Hashable, Sendable {
    /// The oldest commit whose state the reader may read.
    package var sequence: UInt64
    /// The index file whose nodes the reader reads in place; 0 if none.
    package var indexFile: UInt64
    /// The checkpoint in that index file; 0 without an index file.
    package var checkpoint: UInt64
    /// The newest commit whose state the reader may read; 0 if there is no limit.
    package var lastSequence: UInt64

    package init(sequence: UInt64, indexFile: UInt64, checkpoint: UInt64, lastSequence: UInt64 = 0) {
      self.sequence = sequence
      self.lastSequence = lastSequence
      self.indexFile = indexFile
      self.checkpoint = checkpoint
    }
  }

  /// The reader's process id, for display.
  package var processID: UInt32
  /// The start time of the reader in seconds since 1970, for display.
  package var since: UInt64
  /// Nil if the reader is about to open the store and may need all data.
  package var hold: Hold?

  package init(processID: UInt32, since: UInt64, hold: Hold? = nil) {
    self.processID = processID
    self.since = since
    self.hold = hold
  }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= Self.length, "A reader slot does not fit into the buffer.")
    for i in 0..<Self.length { bytes[i] = 0 }
    bytes.setInteger(Self.version, at: 4)
    bytes.setInteger(UInt16(hold == nil ? 1 : 2), at: 6)
    bytes.setInteger(processID, at: 8)
    bytes.setInteger(since, at: 16)
    if let hold {
      bytes.setInteger(hold.sequence, at: 24)
      bytes.setInteger(hold.indexFile, at: 32)
      bytes.setInteger(hold.checkpoint, at: 40)
      bytes.setInteger(hold.lastSequence, at: 48)
    }
    bytes.setInteger(Checksum.crc32c(UnsafeRawBufferPointer(bytes).part(4, 60)), at: 0)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "reader slot", at: offset)
    }
    guard bytes.count >= Self.length else { throw wrong(.incomplete, bytes.count) }
    guard bytes.integer(at: 0, as: UInt32.self) == Checksum.crc32c(bytes.part(4, 60)) else {
      throw wrong(.wrongChecksum, 0)
    }
    guard bytes.integer(at: 4, as: UInt16.self) == Self.version else { throw wrong(.unsupported, 4) }
    let state: UInt16 = bytes.integer(at: 6)
    guard state == 1 || state == 2 else { throw wrong(.illegalField, 6) }
    processID = bytes.integer(at: 8)
    if let place = bytes.firstNonZero(in: 12..<16) { throw wrong(.unsupported, place) }
    since = bytes.integer(at: 16)
    let hold = Hold(
      sequence: bytes.integer(at: 24), indexFile: bytes.integer(at: 32), checkpoint: bytes.integer(at: 40),
      lastSequence: bytes.integer(at: 48))
    guard (hold.indexFile == 0) == (hold.checkpoint == 0) else { throw wrong(.illegalField, 40) }
    if state == 1, let place = bytes.firstNonZero(in: 24..<56) { throw wrong(.illegalField, place) }
    guard hold.lastSequence == 0 || hold.lastSequence >= hold.sequence else { throw wrong(.illegalField, 48) }
    if let place = bytes.firstNonZero(in: 56..<64) { throw wrong(.unsupported, place) }
    self.hold = state == 2 ? hold : nil
  }
}
