import Perdure
import PerdureLog

/// One finding of the engine's verification or of the graph's verification, or damage in a store
/// that cannot be opened.
struct ShownFinding: Equatable {
  /// The name of the broken invariant, such as "V2".
  var invariant: String
  var place: String
  var message: String
}

extension ShownFinding {
  init(_ finding: VerificationReport.Finding) {
    self.init(
      invariant: "V\(finding.invariant.rawValue)", place: finding.place, message: finding.message)
  }

  init(_ finding: GraphVerificationReport.Finding) {
    self.init(invariant: "G\(finding.invariant)", place: finding.place, message: finding.message)
  }

  /// Describes damage in a store that cannot be opened. The finding names the invariant that the
  /// damage breaks.
  init(_ damage: SalvageReport.Damage) {
    let invariant =
      switch damage.reason {
      case .superblock: "V8"
      case .blob: "V6"
      case .definition: "V9"
      case .dictionary: "V2"
      default: "V1"
      }
    self.init(invariant: invariant, place: damage.place, message: damage.reason.rawValue)
  }
}

/// The findings that break one invariant.
struct FindingGroup: Equatable {
  let invariant: String
  /// The number of findings. It can be greater than the number of listed findings, because a report
  /// limits its list.
  let count: Int
  let findings: [ShownFinding]

  /// Groups findings, in the order in which the invariants first appear. Invariants that appear
  /// only in `counts` follow, sorted by name.
  ///
  /// - Parameter counts: The number of findings for each invariant. If nil, the listed findings are
  ///   counted.
  static func groups(_ findings: [ShownFinding], counts: [String: Int]? = nil) -> [FindingGroup] {
    var order: [String] = []
    var byInvariant: [String: [ShownFinding]] = [:]
    for finding in findings {
      if byInvariant[finding.invariant] == nil { order.append(finding.invariant) }
      byInvariant[finding.invariant, default: []].append(finding)
    }
    order += (counts ?? [:]).keys.filter { byInvariant[$0] == nil }.sorted()
    return order.map { name in
      let listed = byInvariant[name] ?? []
      return FindingGroup(invariant: name, count: counts?[name] ?? listed.count, findings: listed)
    }
  }

  /// For example "V6 (blob files): 3 findings".
  var title: String {
    let words = Invariants.title(of: invariant).map { " (\($0))" } ?? ""
    return "\(invariant)\(words): \(counted(count, "finding"))"
  }

  /// One line for each of the first `limit` findings, and one with the number of the others, if
  /// any.
  func lines(limit: Int) -> [String] {
    let shown = findings.prefix(limit)
    let rest = count - shown.count
    return shown.map { "  at \($0.place): \($0.message)" } + (rest > 0 ? ["  and \(rest) more"] : [])
  }
}
