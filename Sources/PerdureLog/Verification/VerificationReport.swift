/// The extent and the findings of a verification.
public struct VerificationReport: Sendable {
  /// A finding.
  public struct Finding: Sendable, CustomStringConvertible {
    /// The invariants that a verification checks; numbers are stable.
    public enum Invariant: Int, Sendable, CaseIterable {
      /// V1: every frame of the log reads, in order, up to the log's end.
      case log = 1
      /// V2: every index address leads to a record of that keyspace and key, with a right checksum
      ///     and a value
      /// that unpacks.
      case address = 2
      /// V3: the index is what replaying the log gives.
      case index = 3
      /// V4: each derived index is what its definition gives for the records.
      case derivedIndex = 4
      /// V5: no unique index holds a key twice.
      case unique = 5
      /// V6: every blob file that a record names is there, whole and right.
      case blob = 6
      /// V7: the keys of every tree ascend, and there are as many as it says.
      case order = 7
      /// V8: the superblock that the next opening will believe is the one written last, and
      ///     promises nothing
      /// that the log does not have.
      case superblock = 8
      /// V9: keyspaces and indexes are those that the log defines.
      case catalog = 9
      /// V10: the checkpoint that the superblock names reads as it was written, and leads to every
      ///      record before
      /// its place that the index leads to.
      case checkpoint = 10
      /// V11: the counts of live and dead bytes of each segment, also those at the end of a
      ///      rewritten one, are
      /// what the log gives.
      case usage = 11
    }

    /// Which invariant does not hold.
    public let invariant: Invariant
    /// The place.
    public let place: String
    /// The damage found there.
    public let message: String

    /// One line for a log.
    public var description: String { "V\(invariant.rawValue) at \(place): \(message)" }
  }

  /// The findings; empty for an intact store. At most `findingsListedMax` of them are listed.
  public internal(set) var findings: [Finding] = []
  /// How many findings break each invariant, the findings that are not listed included.
  public private(set) var findingCounts: [Finding.Invariant: Int] = [:]
  /// How many findings there are.
  public var findingCount: Int { findingCounts.values.reduce(0, +) }
  /// The most findings that are listed.
  public static let findingsListedMax = 10_000
  /// Commits whose frames were read: all up to the first that does not read.
  public internal(set) var commits: UInt64 = 0
  /// Records whose address and checksum were checked.
  public internal(set) var records = 0
  /// Entries of derived indexes that were compared.
  public internal(set) var indexEntries = 0
  /// Blob files that were read.
  public internal(set) var blobs = 0

  /// The first unreadable record of each place, its index in `findings`, and the number of records
  /// there.
  private var unreadable: [String: (finding: Finding, position: Int?, count: Int)] = [:]

  /// Whether nothing was found.
  public var isClean: Bool { findingCounts.isEmpty }

  /// Counts findings that break an invariant.
  mutating func count(_ invariant: Finding.Invariant, _ number: Int) {
    if number > 0 { findingCounts[invariant, default: 0] += number }
  }

  mutating func add(_ invariant: Finding.Invariant, at place: String, _ message: String) {
    count(invariant, 1)
    guard findings.count < Self.findingsListedMax else { return }
    findings.append(Finding(invariant: invariant, place: place, message: message))
  }

  /// Adds an unreadable record. Unreadable records of one group are one finding.
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
