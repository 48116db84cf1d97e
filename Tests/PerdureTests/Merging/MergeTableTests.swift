import Foundation
import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("Merge policies: the table")
struct MergeTableTests {
  @Test("Each policy has the table's result for each kind of conflict", arguments: StandardPolicy.allCases)
  func cells(_ policy: StandardPolicy) throws {
    let column = try #require(StandardPolicy.allCases.firstIndex(of: policy))
    for kind in ConflictKind.allCases {
      let found =
        kind.isAboutOrder
        ? try OrderedConflict(policy.policy).play(kind) : try ConflictScene(policy.policy).play(kind)
      #expect(found == kind.expected[column], "\(kind.rawValue), \(policy)")
    }
  }

  @Test("Decision D14 contains the tested table")
  func printed() throws {
    let root = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    let document = root.appendingPathComponent("docs/decisions/0014-three-way-merging.md")
    let text = try String(contentsOf: document, encoding: .utf8)
    let parts = text.components(separatedBy: "<!-- merging -->\n")
    let printed = try #require(parts.dropFirst().first).components(separatedBy: "\n<!-- /merging -->")[0]
    #expect(printed == ConflictKind.table, "\(ConflictKind.table)")
  }
}
