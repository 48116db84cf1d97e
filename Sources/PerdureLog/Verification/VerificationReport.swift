/// The extent and the findings of a verification.
public struct VerificationReport: Sendable {
  /// A violation that was found.
  public struct Finding: Sendable, CustomStringConvertible {
    /// The invariants that a verification checks. The numbers are stable.
    public enum Invariant: Int, Sendable, CaseIterable {
      /// V1: every frame of the log can be read, in order, up to the log's end.
      case log = 1
      /// V2: every address in the index is the address of a record with that keyspace and key. The
      /// record's checksum is correct, and its value can be unpacked.
      case address = 2
      /// V3: the index equals the result of replaying the log.
      case index = 3
      /// V4: each derived index has exactly the entries that its definition gives for the records.
      case derivedIndex = 4
      /// V5: no unique index contains a key twice.
      case unique = 5
      /// V6: every blob file that a record references exists, complete and undamaged.
      case blob = 6
      /// V7: every node of the index is undamaged, the keys of every tree ascend, and their number
      /// equals the tree's count.
      case order = 7
      /// V8: the superblock that the next opening will use is the newest one, and promises no more
      /// commits than the log contains.
      case superblock = 8
      /// V9: the store has exactly the keyspaces, indexes and dictionaries that the log defines.
      case catalog = 9
      /// V10: the checkpoint that the superblock references is undamaged. If the index has a record
      /// before the checkpoint's position, the checkpoint also has that record.
      case checkpoint = 10
      /// V11: the counts of live and dead bytes of each segment equal the counts that are computed
      /// from the log. This includes the counts at the end of a rewritten segment.
      case usage = 11
    }

    /// The violated invariant.
    public let invariant: Invariant
    /// The location of the violation.
    public let place: String
    /// A description of the violation.
    public let message: String

    /// One line for a log.
    public var description: String { "V\(invariant.rawValue) at \(place): \(message)" }
  }

  /// The findings, at most `findingsListedMax` of them; empty for an intact store.
  public internal(set) var findings: [Finding] = []
  /// The number of findings for each violated invariant, including those that are not listed.
  public private(set) var findingCounts: [Finding.Invariant: Int] = [:]
  /// The total number of findings.
  public var findingCount: Int { findingCounts.values.reduce(0, +) }
  /// The maximum number of listed findings.
  public static let findingsListedMax = 10_000
  /// The number of commits whose frames were read, up to the first unreadable frame.
  public internal(set) var commits: UInt64 = 0
  /// The number of records whose address and checksum were checked.
  public internal(set) var records = 0
  /// The number of entries of derived indexes that were compared.
  public internal(set) var indexEntries = 0
  /// The number of blob files that were read.
  public internal(set) var blobs = 0

  /// For each place: the first finding of an unreadable record, its index in `findings`, and the
  /// number of such records.
  private var unreadable: [String: (finding: Finding, position: Int?, count: Int)] = [:]

  /// Whether no violation was found.
  public var isClean: Bool { findingCounts.isEmpty }

  /// Counts findings of an invariant.
  mutating func count(_ invariant: Finding.Invariant, _ number: Int) {
    if number > 0 { findingCounts[invariant, default: 0] += number }
  }

  mutating func add(_ invariant: Finding.Invariant, at place: String, _ message: String) {
    count(invariant, 1)
    guard findings.count < Self.findingsListedMax else { return }
    findings.append(Finding(invariant: invariant, place: place, message: message))
  }

  /// Adds an unreadable record. Records with the same place and message, such as those of one
  /// group, are one finding.
  mutating func addRecord(at place: String, _ message: String) {
    let finding = Finding(invariant: .address, place: place, message: message)
    if let known = unreadable[place], known.finding.message == message {
      unreadable[place]?.count += 1
      guard let position = known.position else { return }
      let count = known.count + 1
      findings[position] = Finding(
        invariant: .address, place: place, message: "\(message) (\(count) records)")
      return
    }
    let position = findings.count < Self.findingsListedMax ? findings.count : nil
    if unreadable.count < Self.findingsListedMax { unreadable[place] = (finding, position, 1) }
    add(.address, at: place, message)
  }
}
