import PerdureLog
import PerdureTestSupport

/// What errors about damage to one file may name.
struct RotPlaces {
  let file: String
  /// The damaged bytes, with those under the same checksum; nil: the file was removed.
  let ranges: [Range<Int>]?

  /// An error reports corruption, or the part that is missing because of it, and the place: the
  /// file, and a damaged byte.
  func check(_ error: StoreError) throws {
    guard [.corruption, .unsupportedFormat, .indexUnavailable].contains(error.code) else {
      throw Violation("the error does not say that something is damaged: \(error)")
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

  /// Runs what must come to the damage.
  func mustFail(_ body: () throws -> Void) throws {
    do { try body() } catch let error as StoreError { return try check(error) }
    throw Violation("damage that nothing notices")
  }
}

/// Reads what leads to a part of a store.
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
    guard let keyspace = keyspaces[name] else { throw Violation("\(name) is not there") }
    return keyspace
  }

  func value(of key: CrashKey) throws -> [UInt8]? {
    try snapshot.value(of: key.key, in: keyspace(key.keyspace))
  }

  /// Reads a part in the way that comes to it whatever else is read; all of its bytes are under
  /// checksums, so that this fails when one is damaged.
  ///
  /// - Returns: Whether there is such a way.
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
    guard let index = indexes[entries.index] else { throw Violation("\(entries.index) is not there") }
    try snapshot.forEachEntry(in: index, range: .prefix(entries.key)) { _, _ in true }
    return true
  }
}
