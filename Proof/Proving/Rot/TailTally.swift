/// The outcome of reading a store in which intact records are at wrong offsets.
package enum TailOutcome: String, CaseIterable, Sendable {
  case refused = "did not open"
  case errors = "reported errors"
  case right = "were read correctly"
  case older = "returned an older version that only a verification detects"
}

/// Counts outcomes by kind of damage.
package struct TailTally: Sendable {
  private var outcomes: [String: [TailOutcome: Int]] = [:]

  package init() {}

  package mutating func add(_ outcome: TailOutcome, of kind: String) {
    outcomes[kind, default: [:]][outcome, default: 0] += 1
  }

  /// The number of stores with an outcome, of all kinds whose name begins with `prefix`.
  package func count(_ outcome: TailOutcome, _ prefix: String = "") -> Int {
    outcomes.reduce(0) { $0 + ($1.key.hasPrefix(prefix) ? $1.value[outcome] ?? 0 : 0) }
  }

  /// A line for each kind of damage.
  ///
  /// - Parameter what: The stores that were damaged.
  package func report(_ what: String) -> [String] {
    outcomes.sorted { $0.key < $1.key }.map { kind, outcomes in
      let counts = TailOutcome.allCases.map { "\(outcomes[$0] ?? 0) \($0.rawValue)" }
      return "\(what), \(kind): \(counts.joined(separator: ", "))"
    }
  }
}
