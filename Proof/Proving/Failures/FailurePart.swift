package import PerdureTestSupport

/// One failure of one program, in words: `program|kind|number|once or for ever`.
package struct FailurePart: Sendable {
  package static let form = "program|kind|number|once or for ever"

  package let workload: String
  package let kind: FailureKind
  package let nth: Int
  package let repeats: Bool

  package init(_ workload: String, _ kind: FailureKind, nth: Int, repeats: Bool) {
    (self.workload, self.kind, self.nth, self.repeats) = (workload, kind, nth, repeats)
  }

  /// Parses the words of a part; nil for words of another form.
  package init?(_ words: [String]) {
    guard words.count == 4, let kind = FailureKind(rawValue: words[1]), let nth = Int(words[2]), nth > 0,
      ["once", "for ever"].contains(words[3])
    else { return nil }
    self.init(words[0], kind, nth: nth, repeats: words[3] == "for ever")
  }

  package var words: String { "\(workload)|\(kind.rawValue)|\(nth)|\(repeats ? "for ever" : "once")" }
}
