import PerdureLog
import PerdureTestSupport

/// The file and the byte offsets that errors about damage to one file may name.
struct RotPlaces {
  let file: String
  /// The damaged bytes and all bytes under the same checksums; nil: the file was removed.
  let ranges: [Range<Int>]?

  /// Checks that an error reports corruption, an unsupported format or an unavailable index. The
  /// error must name the file, and a byte in `ranges` unless the file was removed.
  func check(_ error: StoreError) throws {
    guard [.corruption, .unsupportedFormat, .indexUnavailable].contains(error.code) else {
      throw Violation("the error does not report damage: \(error)")
    }
    try check(error.place, "\(error)")
  }

  func check(_ place: String?, _ what: String) throws {
    guard let place, place.hasPrefix(file) else {
      throw Violation("the error does not name the file: \(what)")
    }
    guard let ranges else { return }
    guard place.hasPrefix(file + ", byte "), let byte = place.split(separator: " ").last.flatMap({ Int($0) })
    else { throw Violation("the error names no byte: \(what)") }
    guard ranges.contains(where: { $0.contains(byte) }) else {
      throw Violation("the error names byte \(byte), which is not damaged: \(what)")
    }
  }

  /// Runs a read that must detect the damage.
  func mustFail(_ body: () throws -> Void) throws {
    do { try body() } catch let error as StoreError { return try check(error) }
    throw Violation("the damage is not detected")
  }
}

/// Reads the parts of a store.
struct RotReader {
  let snapshot: Snapshot
  private let store: Store
  private var keyspaces: [String: Keyspace] = [:]
  private var indexes: [String: DerivedIndex] = [:]

  init(_ store: Store) throws {
    self.store = store
    snapshot = store.snapshot()
    for keyspace in try store.keyspaces { keyspaces[keyspace.name] = keyspace }
    for (index, _) in try store.indexes { indexes[index.name] = index }
  }

  func keyspace(_ name: String) throws -> Keyspace {
    guard let keyspace = keyspaces[name] else { throw Violation("\(name) is missing") }
    return keyspace
  }

  func value(of key: CrashKey) throws -> [UInt8]? {
    try snapshot.value(of: key.key, in: keyspace(key.keyspace))
  }

  /// Reads all bytes of a part, if a read of the store covers them. Checksums cover these bytes, so
  /// the read must fail if one of them is damaged.
  ///
  /// - Returns: False if no read covers the part. Nothing is read then.
  func read(_ part: RotPart) throws -> Bool {
    switch part.kind {
    case .frameHeader, .mark, .deadRecord, .recordPadding, .definition:
      try store.readFrame(at: part.frame, ofSegment: part.segment)
    case .liveRecord, .groups, .blob, .offsetMap, .groupTable, .segmentPadding, .indexNode, .keyBlock:
      if let entries = part.entries { return try read(entries) }
      guard let key = part.key else { return false }
      _ = try value(of: key)
    case .superblock, .segmentHeader, .footer, .indexHeader, .rootBlock: return false
    case .room, .freeUnits, .reserve, .readers, .lock: return false
    }
    return true
  }

  private func read(_ entries: RotPart.Entries) throws -> Bool {
    guard let index = indexes[entries.index] else { throw Violation("\(entries.index) is missing") }
    try snapshot.forEachEntry(in: index, range: .prefix(entries.key)) { _, _ in true }
    return true
  }
}
