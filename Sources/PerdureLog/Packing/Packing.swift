import PerdureCompression
import PerdureFileIO
import PerdureFormat

/// The compression state of an open store: the newest dictionary of each keyspace, and its measured
/// effect.
// Unchecked: its state is guarded by `lock`.
final class Packing: @unchecked Sendable {
  let options: CompressionOptions
  /// The encoder without a dictionary.
  let plain = LZ4DictionaryEncoder(UnsafeRawBufferPointer(start: nil, count: 0))
  private let lock = Lock()
  /// The newest dictionary of each keyspace, by keyspace id.
  private var newest: [UInt32: PackingDictionary] = [:]
  private var records: [UInt32: PackingRecord] = [:]
  private var counts = PackingCounts()
  private var isTraining = false

  init(_ options: CompressionOptions) { self.options = options }

  /// Adds the new dictionaries of the catalog. Only the committer calls this.
  func adopt(_ catalog: Catalog) {
    lock.withLock {
      for entry in catalog.dictionaries.dropFirst(counts.dictionaries) {
        newest[entry.keyspace] = PackingDictionary(entry)
        records[entry.keyspace] = PackingRecord()
      }
      counts.dictionaries = catalog.dictionaries.count
    }
  }

  var current: PackingCounts { lock.withLock { counts } }

  func dictionary(of keyspace: Keyspace) -> PackingDictionary? { lock.withLock { newest[keyspace.id] } }

  /// Records the values that a committed transaction packed.
  ///
  /// - Returns: A keyspace that needs a new dictionary. The caller trains the dictionary, and then
  ///   calls `finishTraining`. Nil if there is no such keyspace, if a training is running, or if
  ///   the options turn automatic training off.
  func note(_ tallies: [PackingTally]) -> Keyspace? {
    lock.withLock {
      var due: Keyspace?
      for tally in tallies {
        counts.valueBytes += tally.valueBytes
        counts.storedBytes += tally.storedBytes
        guard options.mode(of: tally.keyspace) == .dictionary else { continue }
        let isDue = records[tally.keyspace.id, default: PackingRecord()].note(
          tally, with: newest[tally.keyspace.id]?.perMille, options)
        if isDue { due = tally.keyspace }
      }
      guard let due, options.trainsAutomatically, !isTraining else { return nil }
      isTraining = true
      return due
    }
  }

  /// - Parameter failure: The reason why the training failed; nil if it succeeded, with or without
  ///   a new dictionary.
  func finishTraining(of keyspace: Keyspace, madeOne: Bool, failure: String?) {
    lock.withLock {
      isTraining = false
      counts.trainingFailure = failure
      if !madeOne { records[keyspace.id, default: PackingRecord()].waitLonger() }
    }
  }
}

/// Counts since the store was opened. Only `dictionaries` counts all dictionaries of the store.
struct PackingCounts {
  var dictionaries = 0
  /// The number of bytes of values before compression, and after it.
  var valueBytes: UInt64 = 0
  var storedBytes: UInt64 = 0
  var trainingFailure: String?
}

/// A dictionary that is ready for packing.
final class PackingDictionary: Sendable {
  let number: Int
  /// The stored size of the samples, in bytes for each 1,000 bytes of samples.
  let perMille: Int
  let encoder: LZ4DictionaryEncoder

  init(_ entry: DictionaryEntry) {
    number = entry.number
    perMille = entry.perMille
    encoder = entry.bytes.withUnsafeBytes { LZ4DictionaryEncoder($0) }
  }
}

/// The number of bytes of a keyspace's values before packing, and after it.
struct PackingTally {
  var keyspace: Keyspace
  var valueBytes: UInt64 = 0
  var storedBytes: UInt64 = 0
}

/// Decides when a keyspace gets its first dictionary, and when it gets another one.
struct PackingRecord {
  private var valueBytes: UInt64 = 0
  private var storedBytes: UInt64 = 0
  /// The factor that lengthens the wait for the next training after a training without gain.
  private var patience: UInt64 = 1

  /// The number of value bytes that are needed for each byte of a first dictionary, so that common
  /// parts can be found.
  private static let samplesPerByte: UInt64 = 64
  /// The number of value bytes written for each byte of a dictionary before the effect of the
  /// dictionary is assessed.
  private static let judgedPerByte: UInt64 = 1024

  /// - Parameter perMille: The stored size of the samples of the dictionary in use; nil without a
  ///   dictionary.
  /// - Returns: Whether the keyspace needs a new dictionary now.
  mutating func note(_ tally: PackingTally, with perMille: Int?, _ options: CompressionOptions) -> Bool {
    valueBytes += tally.valueBytes
    storedBytes += tally.storedBytes
    let perByte = perMille == nil ? Self.samplesPerByte : Self.judgedPerByte
    guard valueBytes >= UInt64(options.dictionaryBytes) * perByte * patience else { return false }
    guard let perMille else { return true }
    let isDue = Self.hasFallen(Int(storedBytes * 1000 / valueBytes), from: perMille)
    if !isDue { (valueBytes, storedBytes) = (0, 0) }
    return isDue
  }

  /// Whether values compress clearly worse than the dictionary's samples: more than a fifth of the
  /// saving is lost.
  static func hasFallen(_ perMille: Int, from promised: Int) -> Bool {
    (1000 - perMille) * 5 < (1000 - promised) * 4
  }

  /// Lengthens the wait after a training that made no dictionary.
  mutating func waitLonger() {
    (valueBytes, storedBytes) = (0, 0)
    patience = min(patience * 4, 1 << 20)
  }
}
