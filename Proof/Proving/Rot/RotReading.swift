import PerdureFormat
import PerdureLog

/// Reads everything in a store that may be damaged, and compares it with the required content.
struct RotReading {
  private let store: Store
  private let original: RotStore
  private let canary: RotCanary?
  private let hear: (StoreError) throws -> Void
  private var hasErrors = false

  /// Checks that all values before an error are right, and that a read without an error skips
  /// nothing.
  ///
  /// - Parameter hear: Receives the errors.
  /// - Returns: Whether errors occurred.
  static func check(
    _ store: Store, _ original: RotStore, _ canary: RotCanary?, _ hear: (StoreError) throws -> Void
  ) throws -> Bool {
    try withoutActuallyEscaping(hear) { hear in
      var reading = RotReading(store: store, original: original, canary: canary, hear: hear)
      try reading.walk()
      if reading.hasErrors { try reading.readEach() }
      return reading.hasErrors
    }
  }

  private init(
    store: Store, original: RotStore, canary: RotCanary?, hear: @escaping (StoreError) throws -> Void
  ) {
    (self.store, self.original, self.canary, self.hear) = (store, original, canary, hear)
  }

  private mutating func isRead(_ body: () throws -> Void) throws -> Bool {
    do { try body() } catch let error as StoreError {
      try hear(error)
      hasErrors = true
      return false
    }
    return true
  }

  /// Reads every keyspace and every index, even after an error in another one.
  private mutating func walk() throws {
    let snapshot = store.snapshot()
    let keyspaces = try store.keyspaces
    guard Set(keyspaces.map(\.name)) == Set(original.walks.keys) else {
      throw Violation("keyspaces are missing")
    }
    for keyspace in keyspaces {
      var seen: [RotStore.Row] = []
      let isWhole = try isRead {
        try CrashOracle.visit(keyspace, of: snapshot) { seen.append(RotStore.Row(key: $0, value: $1)) }
      }
      try check(seen, isWhole, against: original.walks[keyspace.name] ?? [], "a walk")
    }
    let indexes = try store.indexes
    guard Set(indexes.map(\.index.name)) == Set(original.entries.keys) else {
      throw Violation("indexes are missing")
    }
    for (index, _) in indexes {
      var seen: [RotStore.Entry] = []
      let isWhole = try isRead { try RotStore.visitEntries(of: index, snapshot) { seen.append($0) } }
      try check(seen, isWhole, against: original.entries[index.name] ?? [], "a derived index")
    }
  }

  /// Checks that the visited entries are the first ones of the required entries, and all of them if
  /// no error occurred.
  private func check<Element: Equatable>(
    _ seen: [Element], _ isWhole: Bool, against right: [Element], _ what: String
  ) throws {
    var seen = seen
    if canary == .wrongBesideErrors, !isWhole, seen.count > 1 { seen.removeFirst() }
    guard seen.elementsEqual(right.prefix(seen.count)) else {
      let first = zip(seen, right).first { $0 != $1 }
      throw Violation(
        "\(what) returns a value that it never had, or skips one: "
          + (first.map { "\($0), not \($1)" } ?? "\(seen.count) of \(right.count)"))
    }
    guard !isWhole || seen.count == right.count else {
      throw Violation("\(what) ends without an error after \(seen.count) of \(right.count)")
    }
  }

  /// Reads each key alone, because undamaged values must stay readable if other values are damaged.
  private mutating func readEach() throws {
    let snapshot = store.snapshot()
    let keyspaces = Dictionary(uniqueKeysWithValues: try store.keyspaces.map { ($0.name, $0) })
    for (key, value) in original.content {
      guard let keyspace = keyspaces[key.keyspace] else { throw Violation("\(key.keyspace) is missing") }
      _ = try isRead {
        let found = try snapshot.value(of: key.key, in: keyspace)
        guard found == value else { throw Violation("\(key) has a wrong value, or none") }
      }
    }
  }
}

extension RotPart {
  /// The number of the segment that contains the part; 0 if it is not in a segment.
  var segment: UInt64 {
    if case .segment(let number)? = StoreFileName(file) { number } else { 0 }
  }

  /// Whether every opening of the store reads the part, and must detect damage in it. False for the
  /// mark: it is the last frame, so a damaged mark looks like a torn tail.
  var isReadByOpening: Bool { isTail && kind != .mark }

  /// Whether a verification must detect damage in the part.
  var isVerified: Bool {
    switch kind {
    case .frameHeader, .liveRecord, .deadRecord, .definition, .groups, .groupTable, .offsetMap, .blob: true
    case .indexNode, .keyBlock: true
    default: false
    }
  }

  /// The methods that check whether a flip of one bit is detected.
  ///
  /// - Parameter choice: A random number. It selects the bits that are also checked by opening the
  ///   store.
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

  /// One bit in this many is checked by opening the store, if another method also checks it.
  private func opensOneIn(_ bit: Int) -> UInt64 {
    switch kind {
    case .definition: 1
    // The first and last bytes are the fields and the checksum. The checksum also covers the bytes
    // between them, which have no meaning.
    case .superblock: bit < 8 * 128 || bit >= 8 * 4092 ? 1 : 64
    case .offsetMap, .groupTable: 8
    case .indexNode, .keyBlock: 16
    default: 1024
    }
  }
}

/// Checks of structures with one checksum, by the functions of the format.
enum RotPages {
  /// Whether the first use of a rewritten segment's map and groups detects the damage.
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

  /// Checks that a damaged slot has no effect. If the newest slot is damaged, the slot before it is
  /// used instead.
  static func checkSuperblock(_ bytes: [UInt8], before: [UInt8]) throws {
    let found = try bytes.withUnsafeBytes { try Superblock.newest(in: $0) }
    let newest = try before.withUnsafeBytes { try Superblock.newest(in: $0) }
    guard found == newest || found.generation == newest.generation - 1 else {
      throw Violation("a damaged slot is used as a valid one")
    }
  }
}

/// Checksums that make wrong bytes seem valid, for the canaries.
enum RotChecksum {
  /// The checksum that a changed record must have.
  ///
  /// CRCs are linear. The difference of two checksums is the same for any address, so zeros replace
  /// the unknown address.
  ///
  /// - Parameter original: The record as it was written.
  static func ofRecord(_ bytes: [UInt8], was original: [UInt8]) -> [UInt8] {
    let stored = original.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self).littleEndian }
    let zeros = stored == sum(original, zeros: 0) ? 0 : 8
    let sum = stored ^ sum(original, zeros: zeros) ^ sum(bytes, zeros: zeros)
    return withUnsafeBytes(of: sum.littleEndian) { Array($0) }
  }

  private static func sum(_ bytes: [UInt8], zeros: Int) -> UInt32 {
    (bytes[4...] + [UInt8](repeating: 0, count: zeros)).withUnsafeBytes { Checksum.crc32c($0) }
  }
}
