/// One damage to one store, as the words of `ProofPlan.part` name it.
struct RotChoice: Sendable {
  enum Kind: String, Sendable {
    case bits, smallest, large, salvage, tails, graphs
  }

  /// The number of the store, which is greater than 0 only in a long proof.
  var round: Int
  var kind: Kind
  /// The number of the part of the store, or of the damage.
  var number: Int
  /// The number of the bit within the part of the store.
  var bit = 0

  static let form = "store|bits|part|bit, or store|smallest, large, salvage, tails or graphs|number"

  /// Parses the words; nil for words of another form.
  init?(_ words: [String]) {
    guard words.count >= 3, let kind = Kind(rawValue: words[1]), words.count == (kind == .bits ? 4 : 3),
      let round = Int(words[0]), let number = Int(words[2]), round >= 0, number >= 0
    else { return nil }
    (self.round, self.kind, self.number) = (round, kind, number)
    guard kind == .bits else { return }
    guard let bit = Int(words[3]) else { return nil }
    self.bit = bit
  }
}

/// A violation, and the words that repeat its case; nil if the case is unknown.
package struct RotFinding: Sendable {
  package var what: String
  package var part: String?

  package init(what: String, part: String?) { (self.what, self.part) = (what, part) }
}

/// The result of one kind of damage.
package struct RotResult: Sendable {
  package var count: Int
  package var report: [String]
  package var findings: [RotFinding]

  package init(count: Int = 0, report: [String] = [], findings: [RotFinding] = []) {
    (self.count, self.report, self.findings) = (count, report, findings)
  }
}
