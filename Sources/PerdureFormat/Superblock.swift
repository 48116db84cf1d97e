/// The store's metadata outside the log. FORMAT.md, "Superblock".
///
/// The file has four slots. They are written in turn. The current slot is the valid slot with the
/// highest generation. The version of the slot is checked after this choice. Otherwise an older
/// slot could be used instead of a newer slot that requires unknown features.
package struct Superblock: Hashable, Sendable {
  package static let slotLength = 4096
  package static let slotCount = 4
  package static let fileLength = slotLength * slotCount
  static let magic: [UInt8] = [0x89, 0x50, 0x45, 0x52, 0x44, 0x0D, 0x0A, 0x1A]
  private static let reservedEnd = 128
  private static let branchOffset = 128
  private static let checksumOffset = slotLength - 4

  package var store: StoreID
  package var generation: UInt64
  package var compatibleFeatures: UInt64 = 0
  package var readOnlyCompatibleFeatures: UInt64 = 0
  package var incompatibleFeatures: UInt64 = 0
  /// The log before this position was synced when the slot was written. So damage before this
  /// position is corruption.
  package var durableEnd: LogPosition
  /// The sequence number of the last commit before `durableEnd`.
  package var durableSequence: UInt64
  /// The durable log has never referenced a blob file with this number or a higher one.
  package var nextBlob: UInt64
  /// Whether the store has not been written since it was created or closed. A writer's recovery
  /// reports this value, and otherwise uses it only to decide whether R11 can be deferred to the
  /// first change. (R11 makes the bytes that recovery has read durable.)
  package var isClosed: Bool
  /// The segment capacity with which the store was created, in bytes.
  package var segmentCapacity: UInt32
  /// The newest checkpoint. If it is nil, the index must be built from the whole log.
  package var checkpoint: CheckpointReference?
  /// Identifies this copy of the store. A program without the feature `branches` must not write to
  /// a store with a branch id.
  package var branch = StoreBranch() {
    didSet {
      if branch != StoreBranch() { readOnlyCompatibleFeatures |= FormatVersion.branches }
    }
  }

  package init(store: StoreID, segmentCapacity: UInt32) {
    self.store = store
    self.segmentCapacity = segmentCapacity
    generation = 1
    durableEnd = .start
    durableSequence = 0
    nextBlob = 1
    isClosed = true
  }

  /// The slot to which this generation is written.
  package var slot: Int { Int(generation % UInt64(Self.slotCount)) }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= Self.slotLength, "A superblock slot does not fit into the buffer.")
    for i in 0..<Self.slotLength { bytes[i] = 0 }
    bytes.copyBytes(from: Self.magic)
    bytes.setInteger(FormatVersion.major, at: 8)
    bytes.setInteger(FormatVersion.minor, at: 10)
    bytes.setInteger(UInt32(Self.slotLength), at: 12)
    store.write(to: bytes, at: 16)
    bytes.setInteger(generation, at: 32)
    bytes.setInteger(compatibleFeatures, at: 40)
    bytes.setInteger(readOnlyCompatibleFeatures, at: 48)
    bytes.setInteger(incompatibleFeatures, at: 56)
    bytes.setInteger(durableEnd.segment, at: 64)
    bytes.setInteger(durableEnd.offset, at: 72)
    bytes.setInteger(durableSequence, at: 80)
    bytes.setInteger(nextBlob, at: 88)
    bytes.setInteger(UInt32(isClosed ? 1 : 0), at: 96)
    bytes.setInteger(segmentCapacity, at: 100)
    checkpoint?.write(to: bytes, at: 104)
    branch.write(to: bytes, at: Self.branchOffset)
    bytes.setInteger(
      Checksum.crc32c(UnsafeRawBufferPointer(bytes).part(0, Self.checksumOffset)), at: Self.checksumOffset)
  }

  private static func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
    FormatError(reason, in: "superblock", at: offset)
  }

  /// The generation of a valid slot. It is at the same offset in every version.
  private static func generation(of bytes: UnsafeRawBufferPointer) throws(FormatError) -> UInt64 {
    try bytes.checkSeal(of: "superblock", magic, length: slotLength)
    return bytes.integer(at: 32)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError { Self.wrong(reason, offset) }
    generation = try Self.generation(of: bytes)
    guard bytes.integer(at: 8, as: UInt16.self) == FormatVersion.major else { throw wrong(.unsupported, 8) }
    guard bytes.integer(at: 12, as: UInt32.self) == UInt32(Self.slotLength) else {
      throw wrong(.unsupported, 12)
    }
    store = StoreID(reading: bytes, at: 16)
    compatibleFeatures = bytes.integer(at: 40)
    readOnlyCompatibleFeatures = bytes.integer(at: 48)
    incompatibleFeatures = bytes.integer(at: 56)
    durableEnd = LogPosition(segment: bytes.integer(at: 64), offset: bytes.integer(at: 72))
    durableSequence = bytes.integer(at: 80)
    nextBlob = bytes.integer(at: 88)
    let state: UInt32 = bytes.integer(at: 96)
    isClosed = state == 1
    segmentCapacity = bytes.integer(at: 100)
    guard (1...FormatLimits.counterMax).contains(generation) else { throw wrong(.illegalField, 32) }
    guard incompatibleFeatures & ~FormatVersion.incompatibleFeaturesKnown == 0 else {
      throw FormatError(
        .unsupported, in: "superblock", at: 56,
        detail: FormatFeatures.incompatible.missing(incompatibleFeatures))
    }
    guard durableEnd.isLegal else { throw wrong(.illegalField, 64) }
    guard durableSequence <= FormatLimits.counterMax else { throw wrong(.illegalField, 80) }
    guard (1...FormatLimits.counterMax).contains(nextBlob) else { throw wrong(.illegalField, 88) }
    guard state <= 1 else { throw wrong(.illegalField, 96) }
    guard FormatLimits.isLegal(segmentCapacity: UInt64(segmentCapacity)) else {
      throw wrong(.illegalField, 100)
    }
    checkpoint = try CheckpointReference(reading: bytes, at: 104)
    if let place = bytes.firstNonZero(in: 124..<Self.reservedEnd) { throw wrong(.unsupported, place) }
    // Without the feature these bytes are unused, and readers ignore them.
    if readOnlyCompatibleFeatures & FormatVersion.branches != 0 {
      branch = try StoreBranch(reading: bytes, at: Self.branchOffset)
    }
  }

  /// Whether this code supports all features that a writer of the store must support.
  package var allowsWriting: Bool {
    readOnlyCompatibleFeatures & ~FormatVersion.readOnlyCompatibleFeaturesKnown == 0
  }

  /// Describes the features that this program lacks for writing to the store.
  package var featuresToWrite: String {
    FormatFeatures.readOnlyCompatible.missing(readOnlyCompatibleFeatures)
  }

  /// All valid and supported slots of a superblock file, oldest first.
  package static func all(in file: UnsafeRawBufferPointer) -> [Superblock] {
    (0..<slotCount).filter { ($0 + 1) * slotLength <= file.count }
      .compactMap { slot in
        let superblock = try? Superblock(reading: file.part(slot * slotLength, slotLength))
        return superblock?.slot == slot ? superblock : nil
      }
      .sorted { $0.generation < $1.generation }
  }

  /// The current slot of a superblock file: the valid slot with the highest generation.
  ///
  /// - Throws: The error of the current slot, with an offset in the file, if this code does not
  ///   support the slot or a field is illegal. `.wrongChecksum` if no slot is valid.
  package static func newest(in file: UnsafeRawBufferPointer) throws(FormatError) -> Superblock {
    var winner: (slot: Int, generation: UInt64)?
    for slot in 0..<slotCount where (slot + 1) * slotLength <= file.count {
      guard let generation = try? generation(of: file.part(slot * slotLength, slotLength)),
        generation % UInt64(slotCount) == UInt64(slot)  // If not, the slot is at a wrong offset.
      else { continue }
      if generation > winner?.generation ?? 0 { winner = (slot, generation) }
    }
    guard let slot = winner?.slot else { throw FormatError(.wrongChecksum, in: "superblock file", at: 0) }
    do {
      return try Superblock(reading: file.part(slot * slotLength, slotLength))
    } catch {
      throw FormatError(
        error.reason, in: "superblock file", at: slot * slotLength + error.offset, detail: error.detail)
    }
  }
}
