/// The keys of a race, and their values.
enum RaceKeys {
  /// The keys of an index: it leads from labels to them.
  static let rows = 0..<5
  static let names = 5..<10
  /// The keys with unique labels: a unique index is over them.
  static let badges = 10..<15
  static let all = 0..<15

  /// The number of labels of a key.
  static func labelCount(for key: Int) -> UInt64 { badges.contains(key) ? 12 : 4 }

  /// The lowest byte of a tag; nil of nothing.
  static func label(of tag: UInt64) -> UInt8? { tag == 0 ? nil : UInt8(truncatingIfNeeded: tag) }

  /// A tag that no other write has.
  static func tag(_ write: UInt64, of writer: Int, label: UInt64) -> UInt64 {
    UInt64(writer + 1) << 40 | write << 8 | label
  }
}

/// One transaction, as recorded by its thread.
package struct RaceTransaction: Sendable {
  package enum Outcome: Hashable, Sendable {
    /// With this number.
    case committed(UInt64)
    case refused
    /// It wrote nothing.
    case readOnly
  }

  /// The tag found or put: 0 for none.
  package struct Access: Hashable, Sendable {
    package var key: Int
    package var tag: UInt64

    package init(_ key: Int, _ tag: UInt64) { (self.key, self.tag) = (key, tag) }
  }

  /// Where an index leads from a label: keys, ascending.
  package struct Entries: Hashable, Sendable {
    package var label: UInt8
    package var keys: [Int]

    package init(_ label: UInt8, _ keys: [Int]) { (self.label, self.keys) = (label, keys) }
  }

  /// Ticks of one clock for all: before its snapshot was asked for, when it was there, and when the
  /// end was known.
  package var began: UInt64 = 0
  package var started: UInt64 = 0
  package var ended: UInt64 = 0
  /// The last commit that it sees.
  package var snapshot: UInt64 = 0
  /// Its reads before its writes.
  package var reads: [Access] = []
  /// Its reads of the index before its writes.
  package var entries: [Entries] = []
  package var writes: [Access] = []
  package var outcome = Outcome.readOnly
  /// Whether all that it read was a condition of its commit.
  package var isGuarded = false
  /// Keys that its commit requires to exist, with any value.
  package var needed: [Int] = []

  package init() {}

  var commit: UInt64? {
    if case .committed(let number) = outcome { number } else { nil }
  }
}
