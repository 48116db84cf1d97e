// The examples of TheEngine in PerdureLog.docc. The lines between two marks equal the code block
// with that number. Change both together.

import Foundation
import PerdureLog
import PerdureTestSupport
import Testing

private enum EngineExample {
  static func run(_ folder: String) throws {
    let path = folder + "/Pages.perdure"
    // TheEngine 1
    let store = try Store(at: path)
    let pages = try store.keyspace("pages", .bytes)
    let visits = try store.keyspace("visits", .dense)
    try store.write { transaction in
      try transaction.put(Array("<h1>Home</h1>".utf8), key: Array("/index".utf8), in: pages)
      try transaction.put([0], id: 1, in: visits)
    }
    // end
    try read(store, pages)
    try change(store, pages, visits)
    try store.close()
    let (monday, restored) = (folder + "/Monday.perdure", folder + "/Restored.perdure")
    try look(path, monday, restored)
  }

  private static func read(_ store: Store, _ pages: Keyspace) throws {
    // TheEngine 2
    let snapshot = store.snapshot()
    let page = try snapshot.value(key: Array("/index".utf8), in: pages)
    var count = 0
    try snapshot.forEach(in: pages, range: .prefix(Array("/".utf8))) { (key: RawSpan, value: RawSpan) in
      count += value.byteCount
      return true  // false ends the walk
    }
    // end
    #expect(page.map { String(decoding: $0, as: UTF8.self) } == "<h1>Home</h1>")
    #expect(count == 13 && snapshot.count(in: pages) == 1)
  }

  private static func change(_ store: Store, _ pages: Keyspace, _ visits: Keyspace) throws {
    // TheEngine 3
    let (total, sequence) = try store.transaction(attemptsMax: 16) { transaction in
      let old = try transaction.value(id: 1, in: visits)?.first ?? 0
      try transaction.put([old + 1], id: 1, in: visits)
      return old + 1
    }
    // end
    #expect(total == 1 && sequence == store.snapshot().sequence)
    // TheEngine 4
    let key = Array("/about".utf8)
    do {
      try store.write { transaction in
        transaction.require(.unchanged(pages, .bytes(key), nil))  // only if there is no such page
        try transaction.put(Array("<h1>About</h1>".utf8), key: key, in: pages)
      }
    } catch let error as StoreError where error.isRetryable {
      // Another commit was faster: read again, and decide again.
    }
    // end
    #expect(try store.snapshot().contains(.bytes(key), in: pages))
    // TheEngine 5
    for number in 2...100 as ClosedRange<UInt64> {
      try store.write(durability: .processCrash) { try $0.put([0], id: number, in: visits) }
    }
    try store.sync()  // the commits so far are durable
    // end
    #expect(store.snapshot().count(in: visits) == 100)
  }

  private static func look(_ path: String, _ monday: String, _ restored: String) throws {
    // TheEngine 6
    var options = StoreOptions()
    options.isReadOnly = true
    let reader = try Store(at: path, options: options)
    let report = try reader.verify()
    for finding in report.findings { print(finding) }
    try reader.backup(to: monday)
    try reader.close()
    try Store.restore(from: monday, to: restored)
    // end
    #expect(report.isClean && report.blobs == 0)
    let store = try Store(at: restored)
    #expect(store.snapshot().count(in: try store.keyspace("visits", .dense)) == 100)
    try store.close()
  }
}

@Suite("Examples of the article about the engine")
struct EngineArticleTests {
  @Test("The examples run and have the results that the article states")
  func run() throws {
    let directory = try TemporaryDirectory()
    try EngineExample.run(directory.path)
  }

  @Test("The code blocks of the article are equal to the code in this file")
  func sameText() throws {
    let here = URL(fileURLWithPath: #filePath)
    let lines = try String(contentsOf: here, encoding: .utf8).components(separatedBy: "\n")
    let blocks = try Self.text("Sources/PerdureLog/PerdureLog.docc/TheEngine.md")
      .components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] }
    #expect(blocks.count == 6)
    for (index, block) in blocks.enumerated() {
      let rest = lines.drop { $0.trimmingCharacters(in: .whitespaces) != "// TheEngine \(index + 1)" }
      let margin = rest.first.map { $0.prefix { $0 == " " }.count } ?? 0
      let region = rest.dropFirst().prefix { $0.trimmingCharacters(in: .whitespaces) != "// end" }
      #expect(block == region.map { String($0.dropFirst(margin)) }.joined(separator: "\n"))
    }
  }

  @Test("The article lists every level of durability and every invariant that a verification reports")
  func tables() throws {
    let article = try Self.text("Sources/PerdureLog/PerdureLog.docc/TheEngine.md")
    for level in Durability.allCases { #expect(article.contains("| `\(level)` |")) }
    for invariant in VerificationReport.Finding.Invariant.allCases {
      #expect(article.contains("| V\(invariant.rawValue) |"))
    }
  }

  private static func text(_ path: String) throws -> String {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }
}
