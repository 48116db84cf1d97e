import PerdureFormat

/// The newest intact record of each key in the log read so far: its address word, or a word that
/// marks the key as removed.
///
/// The words contain offsets in the current files. A state can be marked and restored, because
/// added records may turn out to belong to an unfinished commit.
struct SalvageIndex: ~Copyable {
  /// The newest record of a key whose value is lost: the blob file or the dictionary is missing or
  /// damaged.
  struct LostValue {
    var word: UInt64
    /// Nil if the value was packed with a dictionary.
    var blobNumber: UInt64?
  }

  struct Keys {
    /// All keys are stored as byte strings here, including ids.
    var tree = OrderedTree()
    var allAreIDs = true
  }

  struct State {
    fileprivate(set) var keyspaces: [UInt32: Keys] = [:]
    /// The records of keyspace 0.
    fileprivate(set) var catalog: [[UInt8]: [UInt8]] = [:]
    /// The lost values, by keyspace and key.
    fileprivate(set) var lostValues: [UInt32: [[UInt8]: LostValue]] = [:]

    /// The bytes of a dictionary, if its definition was found.
    func dictionary(_ number: Int) -> [UInt8]? {
      let key = CatalogRecord.dictionaryKey(number)
      guard let value = catalog[key] else { return nil }
      return try? value.withUnsafeBytes { try CatalogRecord.dictionaryEntry(number, $0) }.bytes
    }
  }

  private let arena = NodeArena()
  private(set) var state = State()

  /// The bit in a tree's word for a key whose newest record is a tombstone. No address has this
  /// bit.
  private static let gone: UInt64 = 1 << 63

  /// Returns the current state, to which `goBack(to:)` can return.
  mutating func mark() -> State {
    arena.reclaim(oldestPinnedVersion: arena.publish())
    return state
  }

  /// Restores a marked state.
  mutating func goBack(to marked: State) {
    arena.abandon()
    state = marked
  }

  /// Adds a record that is newer than all records before it.
  ///
  /// - Parameter isDoubtful: Whether the record may have been moved to this offset. If true, a
  ///   value counts only if no other record of its key is known, and a tombstone only if it shadows
  ///   the known record.
  /// - Parameter isReadable: Whether its value can be read: its blob file is intact, or the
  ///   dictionary that it was packed with is present.
  mutating func apply(_ record: Record, at word: UInt64, isDoubtful: Bool, isReadable: Bool) {
    let keyspace = record.header.keyspace
    var keys = state.keyspaces.removeValue(forKey: keyspace) ?? Keys()
    defer { state.keyspaces[keyspace] = keys }
    keys.allAreIDs = keys.allAreIDs && record.header.keyLength == 8
    let known = keys.tree.get(record.key)
    if record.header.kind == .tombstone {
      guard Self.tombstone(record, counts: known, isDoubtful: isDoubtful) else { return }
      _ = keys.tree.put(record.key, word | Self.gone, in: arena)
    } else {
      if isDoubtful && known != nil { return }
      if !isReadable {
        let number = record.header.kind == .blob ? try? BlobReference(in: record).number : nil
        state.lostValues[keyspace, default: [:]][Array(record.key)] = LostValue(
          word: word, blobNumber: number)
        return
      }
      _ = keys.tree.put(record.key, word, in: arena)
      if keyspace == 0 { state.catalog[Array(record.key)] = Array(record.value) }
    }
    // The key is copied only if the keyspace has lost values.
    if state.lostValues[keyspace] != nil { state.lostValues[keyspace]?[Array(record.key)] = nil }
  }

  /// Whether a record's key has a newer record whose value is lost.
  func isValueLost(_ record: Record) -> Bool {
    guard let keys = state.lostValues[record.header.keyspace] else { return false }
    return keys[Array(record.key)] != nil
  }

  /// Whether a tombstone applies to the known record of its key. A tombstone names the record that
  /// it shadows. So a tombstone that was moved after a newer record does not remove that newer
  /// record.
  private static func tombstone(_ record: Record, counts known: UInt64?, isDoubtful: Bool) -> Bool {
    let shadowed = RecordAddress(rawValue: record.value.integer(at: 0))
    if isDoubtful { return known == shadowed.rawValue }
    guard let known, known & gone == 0, shadowed.rawValue != 0 else { return true }
    return RecordAddress(rawValue: known).position <= shadowed.position
  }

  /// Whether the record at `word` is the record to restore for its key.
  func isNewest(_ word: UInt64, _ record: Record) -> Bool {
    state.keyspaces[record.header.keyspace]?.tree.get(record.key) == word
  }
}
