/// The keys of a race, and their values.
enum RaceKeys {
  /// The keys with a non-unique index. The index maps labels to these keys.
  static let rows = 0..<5
  static let names = 5..<10
  /// The keys with a unique index of their labels.
  static let badges = 10..<15
  static let all = 0..<15

  /// The number of labels of a key.
  static func labelCount(for key: Int) -> UInt64 { badges.contains(key) ? 12 : 4 }

  /// The label: the lowest byte of a tag; nil for tag 0, which means an absent value.
  static func label(of tag: UInt64) -> UInt8? { tag == 0 ? nil : UInt8(truncatingIfNeeded: tag) }

  /// Makes a tag that no other write has.
  static func tag(_ write: UInt64, of writer: Int, label: UInt64) -> UInt64 {
    UInt64(writer + 1) << 40 | write << 8 | label
  }
}

/// One transaction, recorded by its thread.
package struct RaceTransaction: Sendable {
  package enum Outcome: Hashable, Sendable {
    /// The transaction committed with this sequence number.
    case committed(UInt64)
    case refused
    /// The transaction has no writes.
    case readOnly
  }

  /// A key, and the tag that was read or written; 0 for an absent value.
  package struct Access: Hashable, Sendable {
    package var key: Int
    package var tag: UInt64

    package init(_ key: Int, _ tag: UInt64) { (self.key, self.tag) = (key, tag) }
  }

  /// The keys that the index has for a label, in ascending order.
  package struct Entries: Hashable, Sendable {
    package var label: UInt8
    package var keys: [Int]

    package init(_ label: UInt8, _ keys: [Int]) { (self.label, self.keys) = (label, keys) }
  }

  /// Ticks of a clock that all threads share: before the transaction requested its snapshot, after
  /// it received the snapshot, and after its result was known.
  package var began: UInt64 = 0
  package var started: UInt64 = 0
  package var ended: UInt64 = 0
  /// The sequence number of the transaction's snapshot.
  package var snapshot: UInt64 = 0
  /// The transaction's reads. All of them precede its writes.
  package var reads: [Access] = []
  /// The transaction's reads of the index. All of them precede its writes.
  package var entries: [Entries] = []
  package var writes: [Access] = []
  package var outcome = Outcome.readOnly
  /// Whether all reads of the transaction were preconditions of its commit.
  package var isGuarded = false
  /// The keys that must exist for the commit, with any value.
  package var needed: [Int] = []

  package init() {}

  var commit: UInt64? {
    if case .committed(let number) = outcome { number } else { nil }
  }
}
