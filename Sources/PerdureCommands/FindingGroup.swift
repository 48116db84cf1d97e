import Perdure
import PerdureLog

/// One finding, whichever part of the verification found it.
struct ShownFinding: Equatable {
  /// The invariant: "V2".
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

  /// A damage of a store that does not open, under the invariant that an open store would break.
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
  /// How many there are. A report of very many does not list all of them.
  let count: Int
  let findings: [ShownFinding]

  /// Groups findings, in the order in which the invariants first appear.
  ///
  /// - Parameter counts: How many findings each invariant has; nil to count those that are listed.
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

  /// "V6 (blob files): 3 findings"
  var title: String {
    let words = Invariants.title(of: invariant).map { " (\($0))" } ?? ""
    return "\(invariant)\(words): \(counted(count, "finding"))"
  }

  /// A line for each of the first findings, and one for the number of the others.
  func lines(limit: Int) -> [String] {
    let shown = findings.prefix(limit)
    let rest = count - shown.count
    return shown.map { "  at \($0.place): \($0.message)" } + (rest > 0 ? ["  and \(rest) more"] : [])
  }
}
