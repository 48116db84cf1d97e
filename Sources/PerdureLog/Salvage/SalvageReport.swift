import PerdureFormat

/// The records and damages that a salvage found, and the values that it restored.
public struct SalvageReport: Sendable {
  /// A damaged place in the store.
  public struct Damage: Sendable, Hashable, CustomStringConvertible {
    /// The kind of damage.
    public enum Reason: String, Sendable, CaseIterable {
      /// No copy of the superblock is intact.
      case superblock = "no copy of the superblock is intact"
      /// A segment's header is damaged. Its frames were searched nevertheless.
      case segmentHeader = "the segment's header is damaged"
      /// A segment of the log is missing.
      case segmentMissing = "the segment is missing"
      /// The file ends before the end of the log.
      case truncated = "the file is too short"
      /// The medium does not return these bytes, or the entry is not a file.
      case unreadable = "the medium cannot be read"
      /// Frames are expected here, but the bytes are not valid frames.
      case frames = "the bytes are not valid frames"
      /// Records of a frame are damaged or moved.
      case records = "records are damaged"
      /// A group of records does not match its checksum. Its records were searched nevertheless.
      case group = "a group of records is damaged"
      /// A blob file that the newest record of a key names is missing or damaged.
      case blob = "a blob file is missing or damaged"
      /// The file of a rewritten segment ends too early, or its last bytes are damaged. Records may
      /// be missing.
      case segmentEnd = "the end of a rewritten segment is damaged"
      /// The newest checkpoint notes a later generation of the segment, so an older file was put
      /// back.
      case outdated = "the segment is of an older generation than the checkpoint says"
      /// The file belongs to another store, or has a wrong name.
      case foreign = "the file belongs to another store, or has a wrong name"
      /// A keyspace or an index is in use, but its definition is missing.
      case definition = "a definition is missing"
      /// A value was packed with a dictionary that is missing or damaged.
      case dictionary = "the dictionary of a packed value is missing"
    }

    /// The file's name, without the directory.
    public let file: String
    /// The offset in the file at which the damage begins. For records in groups, it is an offset in
    /// the unpacked groups (except for `unreadable` and `group`, which concern the file).
    public let offset: UInt64
    /// The length of the damage in bytes; 0 if it is unknown.
    public let length: UInt64
    /// The kind of damage.
    public let reason: Reason

    /// The file and the damaged bytes; the file alone if their number is unknown.
    package var place: String { length == 0 ? file : "\(file), bytes \(offset) to \(offset + length)" }

    /// One line for a log.
    public var description: String { "\(place): \(reason.rawValue)" }
  }

  /// The restored records of a keyspace.
  public struct Contents: Sendable, Hashable {
    /// The keyspace's name in the new store.
    public internal(set) var keyspace: String
    /// Whether the name was generated, because the definition is missing.
    public internal(set) var isNameLost = false
    /// The number of restored keys.
    public internal(set) var keys = 0
    /// The number of these keys that may have had a newer value, or may have been removed. For each
    /// of them, the newest value is lost, or the restored record was found before or in a damaged
    /// place, or in a segment of an older generation.
    public internal(set) var keysMaybeOlder = 0
  }

  /// A key that may have had a newer value than the restored one, or may have been removed.
  public struct OlderKey: Sendable, Hashable {
    /// The keyspace's name in the new store.
    public let keyspace: String
    /// The key; in a dense keyspace, the eight bytes of the id, little-endian.
    public let key: [UInt8]
    /// The id; nil in a keyspace of byte strings.
    public let id: UInt64?
    /// Whether a newer value certainly existed and is lost: its blob file or dictionary is missing
    /// or damaged.
    public let isCertain: Bool
  }

  /// The damaged places, in the order of the log; at most `damagesListedMax` of them.
  public internal(set) var damages: [Damage] = []
  /// The number of damaged places.
  public internal(set) var damageCount = 0
  /// The maximum number of damaged places in `damages`.
  public static let damagesListedMax = 10_000
  /// The keys that `keysMaybeOlder` counts, in the order in which they were restored; at most
  /// `keysListedMax`.
  public internal(set) var olderKeys: [OlderKey] = []
  /// The maximum number of keys in `olderKeys`.
  public static let keysListedMax = 10_000
  /// The contents of the new store, by keyspace, in the order of the keyspaces' numbers.
  public internal(set) var contents: [Contents] = []
  /// The number of derived indexes whose definitions were restored. They are built when the new
  /// store is opened.
  public internal(set) var indexes = 0
  /// The reason why the damaged store could not be locked; nil if it was locked, or if its volume
  /// is read-only. After a failure, a writer may have had the store open during the salvage. The
  /// commits of such a writer can look like damage.
  public internal(set) var lockFailure: String?
  /// The number of segments read.
  public internal(set) var segments = 0
  /// The number of frames with a valid header.
  public internal(set) var frames = 0
  /// The number of complete records found, including older versions and tombstones.
  public internal(set) var records = 0
  /// The number of these records that only their own checksum confirms. If a value contains the
  /// bytes of a record, and the bytes around it are damaged, these bytes cannot be distinguished
  /// from a record.
  public internal(set) var recordsUnanchored = 0
  /// The number of records not restored because their commit was not finished, as after a power
  /// cut.
  public internal(set) var recordsUnfinished = 0
  /// The number of damaged bytes that are not counted as damage, because they belong to a commit
  /// that was not finished. If neither a later frame nor the superblock proves that a damaged
  /// commit was finished, it looks like an unfinished one. It may have been acknowledged
  /// nevertheless.
  public internal(set) var bytesUnfinished: UInt64 = 0
  /// Sequence numbers of partly restored commits, ascending.
  public internal(set) var commitsIncomplete: [UInt64] = []
  /// Sequence numbers of commits without a known restored record, ascending. Records found where a
  /// frame's header is damaged may belong to these commits.
  public internal(set) var commitsLost: [ClosedRange<UInt64>] = []
  /// The sequence number of the last commit found.
  public internal(set) var lastSequence: UInt64 = 0

  /// Whether no damage was found: the new store has the contents of the old one.
  public var isClean: Bool { damageCount == 0 }
  /// The number of restored keys, in all keyspaces.
  public var keys: Int { contents.reduce(0) { $0 + $1.keys } }
  /// The number of these keys that may have had a newer value, or may have been removed.
  public var keysMaybeOlder: Int { contents.reduce(0) { $0 + $1.keysMaybeOlder } }

  mutating func addOlder(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace, _ place: Int, isCertain: Bool
  ) {
    contents[place].keysMaybeOlder += 1
    guard olderKeys.count < Self.keysListedMax else { return }
    olderKeys.append(
      OlderKey(
        keyspace: contents[place].keyspace, key: Array(key),
        id: keyspace.kind == .dense ? key.integer(at: 0) : nil, isCertain: isCertain))
  }

  mutating func add(_ reason: Damage.Reason, in file: String, _ offset: Int, _ length: Int) {
    damageCount += 1
    guard damages.count < Self.damagesListedMax else { return }
    damages.append(Damage(file: file, offset: UInt64(offset), length: UInt64(length), reason: reason))
  }
}
