import PerdureFormat
import PerdureLog

/// Reads all that is in a damaged store, and holds it against what has to be there.
enum RotReading {
  /// Whatever is read is right, and whatever is not read is an error of ours: nothing is passed over.
  ///
  /// - Parameter hear: Is given the errors.
  /// - Returns: Whether there were errors.
  static func check(_ store: Store, _ original: RotStore, _ hear: (StoreError) throws -> Void) throws -> Bool
  {
    var hasErrors = false
    func isRead(_ body: () throws -> Void) throws -> Bool {
      do { try body() } catch let error as StoreError {
        try hear(error)
        hasErrors = true
        return false
      }
      return true
    }
    var walked = 0
    let isWhole = try isRead {
      for (key, value) in try CrashOracle.content(of: store) {
        guard original.content[key] == value else { throw Violation("\(key) has a value that it never had") }
        walked += 1
      }
    }
    if isWhole, walked != original.content.count { throw Violation("a walk passes over keys in silence") }
    var entries: [RotStore.Entry] = []
    if try isRead({ try RotStore.visitEntries(of: store) { entries.append($0) } }),
      entries != original.entries
    {
      throw Violation("a derived index has other entries")
    }
    guard hasErrors else { return false }
    // One by one what is not damaged can be read.
    let snapshot = store.snapshot()
    let keyspaces = Dictionary(uniqueKeysWithValues: try store.keyspaces.map { ($0.name, $0) })
    for (key, value) in original.content {
      guard let keyspace = keyspaces[key.keyspace] else { throw Violation("\(key.keyspace) is not there") }
      _ = try isRead {
        let found = try snapshot.value(of: key.key, in: keyspace)
        guard found == value else { throw Violation("\(key) has a wrong value, or none") }
      }
    }
    return hasErrors
  }
}

extension RotPart {
  /// The number of the segment that it is in.
  var segment: UInt64 {
    if case .segment(let number)? = StoreFileName(file) { number } else { 0 }
  }

  /// Whether every opening of the store reads it and has to find it damaged. (Behind a mark the log has ended.)
  var isReadByOpening: Bool { isTail && kind != .mark }

  /// Whether a verification has to find it damaged.
  var isVerified: Bool {
    switch kind {
    case .frameHeader, .liveRecord, .deadRecord, .definition, .groups, .groupTable, .offsetMap, .blob: true
    case .indexNode, .keyBlock: true
    default: false
    }
  }

  /// How a bit of it is looked at.
  ///
  /// - Parameter choice: A random number, for what is not done to every bit.
  func methods(ofBit bit: Int, choice: UInt64) -> [RotMethod] {
    var methods: [RotMethod]
    switch kind {
    case .frameHeader, .mark, .deadRecord, .recordPadding, .definition: methods = [.frame]
    case .liveRecord: methods = [.record, .frame]
    case .groups, .blob: methods = key == nil ? [] : [.record]
    case .indexNode, .keyBlock, .offsetMap, .groupTable, .superblock: methods = [.page]
    case .segmentHeader, .footer, .segmentPadding, .indexHeader, .rootBlock: methods = []
    case .room, .freeUnits, .reserve, .readers, .lock: methods = []
    }
    if methods.isEmpty || isTail || choice % opensOneIn(bit) == 0 { methods.append(.opening) }
    return methods
  }

  /// Of how many bits one is looked at by opening the store, where that is not the only way.
  private func opensOneIn(_ bit: Int) -> UInt64 {
    switch kind {
    case .definition: 1
    // Fields and checksum; the rest of a slot is under the checksum and means nothing.
    case .superblock: bit < 8 * 128 || bit >= 8 * 4092 ? 1 : 64
    case .offsetMap, .groupTable: 8
    case .indexNode, .keyBlock: 16
    default: 1024
    }
  }
}

/// What is checked as a whole, with the checks of the format.
enum RotPages {
  /// Whether the first use of a rewritten segment's map and groups finds the damage.
  static func isNoticed(inMapOf bytes: [UInt8], _ part: RotPart) throws -> Bool {
    try bytes.withUnsafeBytes { bytes in
      let header = try SegmentHeader(reading: bytes)
      let footer = try RewrittenFooter(
        reading: UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - RewrittenFooter.length)...]),
        store: header.store, number: part.segment, fileLength: bytes.count)
      do { _ = try footer.verifiedMap(in: bytes) } catch { return true }
      return false
    }
  }

  /// A slot that is damaged makes no difference, but for the newest: then the one before counts.
  static func checkSuperblock(_ bytes: [UInt8], before: [UInt8]) throws {
    let found = try bytes.withUnsafeBytes { try Superblock.newest(in: $0) }
    let newest = try before.withUnsafeBytes { try Superblock.newest(in: $0) }
    guard found == newest || found.generation == newest.generation - 1 else {
      throw Violation("a damaged slot is believed")
    }
  }
}

/// For the canaries, which make wrong bytes look right.
enum RotChecksum {
  /// The checksum that a record must have.
  static func ofRecord(_ bytes: [UInt8]) -> [UInt8] {
    let sum = bytes.withUnsafeBytes { Checksum.crc32c(UnsafeRawBufferPointer(rebasing: $0[4...])) }
    return withUnsafeBytes(of: sum.littleEndian) { Array($0) }
  }
}
