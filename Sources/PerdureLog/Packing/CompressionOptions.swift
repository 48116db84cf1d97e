import PerdureCompression
import PerdureFormat

/// Whether and how values are compressed when they are written. Reading knows by itself how each value was
/// written, so a store may change its mind at every opening.
public struct CompressionOptions: Hashable, Sendable {
  /// What is done with a value.
  public enum Mode: Hashable, Sendable {
    /// It is stored as it is.
    case off
    /// It is compressed by itself: for values of a kilobyte and more that repeat themselves.
    case eachValue
    /// It is compressed with a dictionary of what the values of its keyspace have in common, also when each
    /// is short. Until the keyspace has one, by itself.
    case dictionary
  }

  /// What is done with the values of keyspaces that `modes` does not name.
  ///
  /// Default: off. Why: values in place are read fastest, and only the program knows whether its own shrink.
  public var mode = Mode.off

  /// What is done with the values of certain keyspaces, by name.
  ///
  /// Default: none. Why: see `mode`.
  public var modes: [String: Mode] = [:]

  /// Shorter values are stored as they are.
  ///
  /// Unit: bytes. Range: 16 to 1,048,576 (1 MiB). Default: 48. Why: what little a shorter value could save,
  /// the padding of records mostly eats.
  public var valueBytesMin = 48

  /// The longest dictionary that is made.
  ///
  /// Unit: bytes. Range: 1,024 to 65,535. Default: 16 KiB. Why: it stays in the nearest caches of a processor
  /// while values are read; four times as much makes values a tenth shorter, and reading slower.
  public var dictionaryBytes = 16 << 10

  /// Whether dictionaries are made without being asked for: the first when enough was written, another when
  /// values shrink clearly less than they did. It happens at the end of a call that writes, about once in
  /// many thousands, and takes that call some tenths of a second.
  ///
  /// Default: true. Why: a dictionary that nobody thinks of helps nobody. Say false to choose the moments
  /// yourself, with `Store.trainDictionary(for:)`.
  public var trainsAutomatically = true

  /// Whether compaction compresses records that have lived long, in groups of about 64 KiB: those of a
  /// segment that was compacted before, or that is in the older three quarters of the log. Values that are
  /// packed already stay so. Compacting by hand (`Store.compact(progress:)`) does it with all of these
  /// segments that become a twentieth shorter, judged by a sample before anything is written; the
  /// background with those that it rewrites anyway. A segment that stands in groups stays so when it is
  /// rewritten, whatever this says then.
  ///
  /// The graph keeps a copy of each cold row that it passes until its view of the store is replaced.
  ///
  /// Default: false. Why: groups of small values of one kind are 2 times shorter and more, but the first
  /// read in a group has to open all of it, which takes some 20 microseconds.
  public var groupsColdRecords = false

  /// How much of such groups is kept in memory as it is unpacked, for the next reads in them. Of a store
  /// that is opened for reading too.
  ///
  /// Unit: bytes. Range: 0 to 1,073,741,824 (1 GiB). Default: 16 MiB. Why: 256 groups, so that walks and
  /// what is read again and again find theirs; what is cold is not read often.
  public var groupCacheBytes = 16 << 20

  /// How long groups become, in bytes as they are unpacked; tests have shorter ones.
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
