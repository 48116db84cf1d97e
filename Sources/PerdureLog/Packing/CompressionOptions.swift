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
    /// It is compressed with a dictionary of what the values of its keyspace have in common, also when each is
    /// short. Until the keyspace has one, by itself.
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
  /// Unit: bytes. Range: 16 to 1,048,576 (1 MiB). Default: 48. Why: what little a shorter value could save, the
  /// padding of records mostly eats.
  public var valueBytesMin = 48

  /// The longest dictionary that is made.
  ///
  /// Unit: bytes. Range: 1,024 to 65,535. Default: 16 KiB. Why: it stays in the nearest caches of a processor
  /// while values are read; four times as much makes values a tenth shorter, and reading slower.
  public var dictionaryBytes = 16 << 10

  /// Whether dictionaries are made without being asked for: the first when enough was written, another when
  /// values shrink clearly less than they did. It happens at the end of a call that writes, about once in many
  /// thousands, and takes that call some tenths of a second.
  ///
  /// Default: true. Why: a dictionary that nobody thinks of helps nobody. Say false to choose the moments
  /// yourself, with `Store.trainDictionary(for:)`.
  public var trainsAutomatically = true

  /// All defaults.
  public init() {}

  /// Every value with a dictionary of its keyspace.
  public static var dictionaries: CompressionOptions {
    var options = CompressionOptions()
    options.mode = .dictionary
    return options
  }

  /// Whether anything may be compressed at all.
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
  }
}
