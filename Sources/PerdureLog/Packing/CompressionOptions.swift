import PerdureCompression
import PerdureFormat

/// Whether and how values are compressed when they are written. Reading knows by itself how each
/// value was written, so a store may change its mind at every opening.
public struct CompressionOptions: Hashable, Sendable {
  /// How a value is stored.
  public enum Mode: Hashable, Sendable {
    /// It is stored as it is.
    case off
    /// It is compressed by itself: for values of a kilobyte and more that repeat themselves.
    case eachValue
    /// It is compressed with a dictionary of the common parts of the keyspace's values, even if
    /// each value is short. Until the keyspace has a dictionary, the value is compressed alone.
    case dictionary
  }

  /// How values of keyspaces not named in `modes` are stored.
  ///
  /// Default: off. Why: values in place are read fastest, and only the program knows whether its
  /// values shrink.
  public var mode = Mode.off

  /// How values of certain keyspaces are stored, by keyspace name.
  ///
  /// Default: none. Why: see `mode`.
  public var modes: [String: Mode] = [:]

  /// Shorter values are stored as they are.
  ///
  /// Unit: bytes. Range: 16 to 1,048,576 (1 MiB). Default: 48. Why: what little a shorter value
  /// could save, the padding of records mostly eats.
  public var valueBytesMin = 48

  /// The longest dictionary that is made.
  ///
  /// Unit: bytes. Range: 1,024 to 65,535. Default: 16 KiB. Why: it fits in the nearest processor
  /// caches while values are read; four times as much makes values a tenth shorter, and reading
  /// slower.
  public var dictionaryBytes = 16 << 10

  /// Whether dictionaries are trained automatically: the first when enough was written, another
  /// when values shrink clearly less than before. It happens at the end of a call that writes,
  /// about once in many thousands, and takes that call some tenths of a second.
  ///
  /// Default: true. Why: a dictionary that must be requested is easily forgotten. Set false to
  /// choose the moments yourself, with `Store.trainDictionary(for:)`.
  public var trainsAutomatically = true

  /// Whether compaction compresses old records in groups of about 64 KiB. A record is old if its
  /// segment was compacted before, or is in the older three quarters of the log. Values that are
  /// packed already stay so. Manual compaction (`Store.compact(progress:)`) groups all these
  /// segments that become at least a twentieth shorter, judged by a sample before anything is
  /// written. Background compaction groups only segments that it rewrites anyway. A grouped segment
  /// stays grouped when it is rewritten, whatever the option's value then.
  ///
  /// The graph keeps a copy of each cold row that it passes until its view of the store is
  /// replaced.
  ///
  /// Default: false. Why: groups of small values of one kind are 2 times shorter and more, but the
  /// first read in a group unpacks all of it, which takes about 20 microseconds.
  public var groupsColdRecords = false

  /// The size of the cache of unpacked groups. Of a store that is opened for reading too.
  ///
  /// Unit: bytes. Range: 0 to 1,073,741,824 (1 GiB). Default: 16 MiB. Why: 256 groups are enough
  /// for walks and repeated reads; old records are rarely read.
  public var groupCacheBytes = 16 << 20

  /// The length of groups, in unpacked bytes; tests have shorter ones.
  package var groupLengthTarget = FormatLimits.groupLengthTarget

  /// All defaults.
  public init() {}

  /// Every value with a dictionary of its keyspace.
  public static var dictionaries: CompressionOptions {
    var options = CompressionOptions()
    options.mode = .dictionary
    return options
  }

  /// Whether anything may be compressed when it is written.
  var isUsed: Bool { mode != .off || modes.values.contains { $0 != .off } }

  func mode(of keyspace: Keyspace) -> Mode { modes.isEmpty ? mode : modes[keyspace.name] ?? mode }

  func validate() throws {
    guard (16...FormatLimits.inlineValueLengthMax).contains(valueBytesMin) else {
      throw StoreError(
        .invalidArgument, "compression.valueBytesMin is \(valueBytesMin); give 16 to 1048576")
    }
    guard (1024...LZ4DictionaryEncoder.lengthMax).contains(dictionaryBytes) else {
      throw StoreError(
        .invalidArgument, "compression.dictionaryBytes is \(dictionaryBytes); give 1024 to 65535")
    }
    guard (0...1 << 30).contains(groupCacheBytes) else {
      throw StoreError(
        .invalidArgument, "compression.groupCacheBytes is \(groupCacheBytes); give 0 to 1073741824")
    }
  }
}
