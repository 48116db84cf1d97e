import PerdureCompression
import PerdureFormat

/// Whether and how values are compressed when they are written. Each record contains the form in
/// which its value is stored, so the options may differ at every opening.
public struct CompressionOptions: Hashable, Sendable {
  /// How a value is stored.
  public enum Mode: Hashable, Sendable {
    /// The value is stored unchanged.
    case off
    /// The value is compressed by itself. This helps if values have a kilobyte or more and contain
    /// repeated parts.
    case eachValue
    /// The value is compressed with a dictionary of the common parts of the keyspace's values. This
    /// helps even if each value is short. Until the keyspace has a dictionary, each value is
    /// compressed by itself.
    case dictionary
  }

  /// The mode for all keyspaces that `modes` does not contain.
  ///
  /// Default: off. Why: unchanged values are read fastest, and whether values become shorter
  /// depends on the program.
  public var mode = Mode.off

  /// The modes for single keyspaces, by keyspace name.
  ///
  /// Default: none. Why: see `mode`.
  public var modes: [String: Mode] = [:]

  /// The minimum length of a value that is compressed. Shorter values are stored unchanged.
  ///
  /// Unit: bytes. Range: 16 to 1,048,576 (1 MiB). Default: 48. Why: for shorter values, the padding
  /// of records uses up most of the saving.
  public var valueBytesMin = 48

  /// The maximum length of a dictionary.
  ///
  /// Unit: bytes. Range: 1,024 to 65,535. Default: 16 KiB. Why: it fits in the nearest processor
  /// caches while values are read. A dictionary that is four times as long makes values a tenth
  /// shorter, but reading slower.
  public var dictionaryBytes = 16 << 10

  /// Whether dictionaries are trained automatically. The first dictionary of a keyspace is trained
  /// when enough values were written. Another dictionary is trained when values compress clearly
  /// worse than before. Training starts after a commit, about once in many thousands of commits. It
  /// takes some tenths of a second on a background thread.
  ///
  /// Default: true. Why: a dictionary that must be requested is easily forgotten. If this option is
  /// false, only `Store.trainDictionary(for:)` trains dictionaries.
  public var trainsAutomatically = true

  /// Whether compaction compresses old records in groups of about 64 KiB. A record is old if its
  /// segment was compacted before, or is in the older three quarters of the log. Values that are
  /// already packed stay packed. Manual compaction (`Store.compact(progress:)`) groups a segment of
  /// old records if the segment becomes at least a twentieth shorter. It estimates the new length
  /// from a sample, before it writes a file. Background compaction groups only segments that it
  /// rewrites for another reason. A grouped segment stays grouped when it is rewritten, even if
  /// this option is false at that time.
  ///
  /// The graph layer keeps a copy of each grouped row that it reads, until its view of the store is
  /// replaced.
  ///
  /// Default: false. Why: groups of small values of one kind take half the space or less. But the
  /// first read in a group unpacks the whole group, which takes about 20 microseconds.
  public var groupsColdRecords = false

  /// The size of the cache of unpacked groups. It also applies to a store that is opened for
  /// reading.
  ///
  /// Unit: bytes. Range: 0 to 1,073,741,824 (1 GiB). Default: 16 MiB. Why: 256 groups are enough
  /// for walks and repeated reads, and old records are rarely read.
  public var groupCacheBytes = 16 << 20

  /// The length of groups, in unpacked bytes. Tests use shorter groups.
  package var groupLengthTarget = FormatLimits.groupLengthTarget

  /// Creates options with all defaults.
  public init() {}

  /// Options that compress every value with a dictionary of its keyspace.
  public static var dictionaries: CompressionOptions {
    var options = CompressionOptions()
    options.mode = .dictionary
    return options
  }

  /// Whether any value may be compressed when it is written.
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
