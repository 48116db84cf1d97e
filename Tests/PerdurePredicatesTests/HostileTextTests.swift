import Foundation
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Hostile text of predicates") struct HostileTextTests {
  @Test(
    "Nesting that is too deep throws an error instead of overflowing the stack",
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

  @Test("The length of chains that make the tree deeper is limited; the length of flat lists is not")
  func chains() throws {
    for unit in ["+1", "[0]", ".@count", " UNION b"] {
      let text = "a" + String(repeating: unit, count: 100_000) + " == 1"
      let error = #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(format: text) }
      #expect(error?.code == .tooDeep)
    }
    let flat = Array(repeating: "a == 1", count: 10_000).joined(separator: " OR ")
    #expect(try FetchPredicate(format: flat).predicateFormat == flat)
    let path = "a" + String(repeating: ".b", count: 198) + " == 1"
    #expect(try FetchPredicate(format: path).predicateFormat == path)
    let long = "a" + String(repeating: ".b", count: 10_000) + " == 1"
    let error = #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(format: long) }
    #expect(error?.code == .tooDeep)
    let list = "a IN {" + Array(repeating: "1", count: 10_000).joined(separator: ", ") + "}"
    #expect(try FetchPredicate(format: list).predicateFormat == list)
  }

  @Test("Nesting up to the limit is parsed")
  func allowedNesting() throws {
    let text = String(repeating: "(", count: 49) + "a == 1" + String(repeating: ")", count: 49)
    #expect(try FetchPredicate(format: text).predicateFormat == "a == 1")
  }
}

extension HostileTextTests {
  @Test("Damaged text throws an error or gives a tree that can be printed and evaluated")
  func mutations() {
    var trees = RandomTrees(SeededGenerator.forTest("hostile text"), isWild: true)
    let object = TestCompany().ada
    var read = 0
    for _ in 0..<10_000 {
      var bytes = Array(trees.predicate(3).predicateFormat.utf8)
      for _ in 0..<Int.random(in: 1...4, using: &trees.generator) { Self.mutate(&bytes, &trees.generator) }
      guard let predicate = try? FetchPredicate(format: String(decoding: bytes, as: UTF8.self), "a", 1, 2.5)
      else {
        _ = try? FetchPredicate(format: String(decoding: bytes, as: UTF8.self))
        continue
      }
      read += 1
      Self.use(predicate, object)
    }
    for _ in 0..<10_000 {
      var bytes = Array(trees.predicate(3).predicateFormat.utf8)
      Self.mutate(&bytes, &trees.generator)
      if let predicate = try? FetchPredicate(format: String(decoding: bytes, as: UTF8.self)) {
        read += 1
        Self.use(predicate, object)
      }
    }
    #expect(read > 500)
  }

  private static func use(_ predicate: FetchPredicate, _ object: TestObject) {
    _ = try? FetchPredicate(format: predicate.predicateFormat)
    _ = try? predicate.evaluate(with: object)
    _ = predicate.simplified().hashValue
  }

  private static func mutate(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
    let place = Int.random(in: 0...bytes.count, using: &generator)
    switch Int.random(in: 0..<4, using: &generator) {
    case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &generator)
    case 1 where place < bytes.count: bytes.remove(at: place)
    case 2: bytes.removeSubrange(place...)
    default: bytes.insert(contentsOf: Array(generator.pick(pieces).utf8), at: place)
    }
  }

  private static let pieces = [
    "(", ")", "{", "}", "\"", "'", "%@", "%K", "%d", "@count", "$x", "#", "\\", "NOT ", " AND ", "ANY ", "[",
    "]", ".", "-", "**",
    "SUBQUERY(", "9999999999", "1e400", "\u{0}", "é", ":", "==", "SELF", ",", "0x", "@sum.",
  ]

  @Test("Text of the maximum depth is parsed, printed and evaluated on a small stack")
  func smallStack() async {
    let finished = await withCheckedContinuation { continuation in
      let thread = Thread {
        var depths: [Int] = []
        for (open, close) in [
          ("(", ")"), ("abs:(", ")"), ("{", "}"), ("TERNARY(1 == (", "), 1, 2)"), ("NOT (1 == ", ")"),
        ] {
          for depth in [12, 23, 46] {
            let text =
              "1 == " + String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            guard let predicate = try? FetchPredicate(format: text) else { continue }
            Self.use(predicate, TestObject(1))
            depths.append(depth)
          }
        }
        continuation.resume(returning: depths)
      }
      thread.stackSize = 512 << 10
      thread.start()
    }
    #expect(finished.filter { $0 == 46 }.count >= 2)
  }
}
