import PerdurePredicates
import Testing

@Suite("Hostile text") struct HostileTextTests {
  @Test(
    "Nesting without end is an error, not a stack overflow",
    arguments: [
      "(", "NOT ", "{", "-", "abs(", "a[", "SUBQUERY(", "TERNARY(", "!(", "ANY (", "a[0", "$x.", "#", "a.",
      "'", "1+",
      "TERNARY(a==1 AND (", "1**", "a == (", "((a)[", "CAST(", "{(", "a.@count.", "((1)+",
    ])
  func nesting(_ unit: String) {
    for text in [
      String(repeating: unit, count: 100_000), "a == " + String(repeating: unit, count: 100_000) + "1",
    ] {
      #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(format: text) }
    }
  }

  @Test("Chains that grow the tree to the left are limited, flat ones are not")
  func chains() throws {
    for unit in ["+1", "[0]", ".@count", " UNION b"] {
      let text = "a" + String(repeating: unit, count: 100_000) + " == 1"
      let error = #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(format: text) }
      #expect(error?.code == .tooDeep)
    }
    let flat = Array(repeating: "a == 1", count: 10_000).joined(separator: " OR ")
    #expect(try FetchPredicate(format: flat).predicateFormat == flat)
    let path = "a" + String(repeating: ".b", count: 10_000) + " == 1"
    #expect(try FetchPredicate(format: path).predicateFormat == path)
    let list = "a IN {" + Array(repeating: "1", count: 10_000).joined(separator: ", ") + "}"
    #expect(try FetchPredicate(format: list).predicateFormat == list)
  }

  @Test("Nesting up to the limit is read")
  func allowedNesting() throws {
    let text = String(repeating: "(", count: 99) + "a == 1" + String(repeating: ")", count: 99)
    #expect(try FetchPredicate(format: text).predicateFormat == "a == 1")
  }
}
