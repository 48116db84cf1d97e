import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// The options with which a history opens its store. They are numbers, so that they can be printed,
/// parsed and simplified.
package struct HistoryOptions: Hashable, Sendable {
  /// The capacity of a segment. It is used only when the store is created.
  package var segmentBytes = 64 << 10
  package var blobThreshold = 4096
  /// 0: off. 1: each value is compressed alone. 2: values are compressed with dictionaries.
  package var compression = 0
  package var valueBytesMin = 48
  package var dictionaryBytes = 4096
  /// The target length of groups; 0 for no groups.
  package var groupBytes = 0
  package var groupCacheBytes = 16 << 10
  /// 0: only on request. 1: also at every close. 2: also in the background.
  package var checkpoints = 0
  package var compactsAutomatically = 0
  package var durability = Durability.relaxed.rawValue
  package var checksIndex = 0
  package var reserveBytes = 0
  /// The unsynced bytes at which a background sync begins, and the maximum space that the log
  /// reserves; 0 for the defaults.
  package var syncAheadBytes = 0

  package init() {}

  private static let fields: [any WritableKeyPath<HistoryOptions, Int> & Sendable] = [
    \.segmentBytes, \.blobThreshold, \.compression, \.valueBytesMin, \.dictionaryBytes, \.groupBytes,
    \.groupCacheBytes, \.checkpoints, \.compactsAutomatically, \.durability, \.checksIndex, \.reserveBytes,
    \.syncAheadBytes,
  ]

  var words: [Int] { Self.fields.map { self[keyPath: $0] } }

  init(_ words: inout HistoryWords) throws {
    for field in Self.fields { self[keyPath: field] = try words.next() }
  }

  /// For each number, the options with this number set to its default. Used for shrinking.
  var simpler: [HistoryOptions] {
    let plain = HistoryOptions()
    return Self.fields.compactMap { field in
      guard self[keyPath: field] != plain[keyPath: field] else { return nil }
      var simpler = self
      simpler[keyPath: field] = plain[keyPath: field]
      return simpler
    }
  }

  static func random(_ random: inout SeededGenerator) -> HistoryOptions {
    var options = HistoryOptions()
    options.segmentBytes = random.pick([4096, 4096, 8192, 16 << 10, 64 << 10, 256 << 10])
    options.blobThreshold = random.pick([1024, 2048, 4096, 1 << 20])
    options.compression = random.pick(0...2)
    options.valueBytesMin = random.pick([16, 48, 200])
    options.dictionaryBytes = random.pick([1024, 4096, 16 << 10])
    options.groupBytes = random.chance(40) ? random.pick([512, 4096, 64 << 10]) : 0
    options.groupCacheBytes = random.pick([0, 1024, 16 << 10, 1 << 20])
    options.checkpoints = random.pick(0...2)
    options.compactsAutomatically = random.pick(0...1)
    options.durability = random.pick(Durability.allCases).rawValue
    options.checksIndex = random.chance(20) ? 1 : 0
    options.reserveBytes = random.chance(20) ? 128 << 10 : 0
    options.syncAheadBytes = random.pick([0, 0, 500, 8192])
    return options
  }

  func storeOptions(on fileSystem: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = segmentBytes
    options.blobThresholdBytes = blobThreshold
    options.compression.mode = [.off, .eachValue, .dictionary][compression]
    options.compression.valueBytesMin = valueBytesMin
    options.compression.dictionaryBytes = dictionaryBytes
    // A dictionary that the store trains by itself uses a sequence number that the model cannot
    // predict.
    options.compression.trainsAutomatically = false
    options.compression.groupsColdRecords = groupBytes > 0
    if groupBytes > 0 { options.compression.groupLengthTarget = groupBytes }
    options.compression.groupCacheBytes = groupCacheBytes
    if checkpoints < 2 { options.checkpoints = .manual } else { options.checkpoints.tailBytes = 4096 }
    if checkpoints > 0 { options.checkpoints.closeTailBytes = 0 }
    options.compactsAutomatically = compactsAutomatically > 0
    options.durability = Durability(rawValue: durability) ?? .powerLoss
    options.checksIndexAtOpening = checksIndex > 0
    options.reserveBytes = reserveBytes
    if syncAheadBytes > 0 {
      options.syncAheadBytes = UInt64(syncAheadBytes)
      options.logRoom = .always(upTo: UInt64(syncAheadBytes))
    }
    return options
  }
}
