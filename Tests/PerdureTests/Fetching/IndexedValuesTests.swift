// Compares fetches before and after a save. Before the save, fetches evaluate each unsaved object.
// After the save, fetches use indexes. The values are at the limits of their types.

import FoundationEssentials
import PerdureModel
import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Unusual values in indexes")
struct IndexedValuesTests {
  private static let dates: [Double] = [
    .nan, -.infinity, -1e300, -978_307_200, -1, -0.0, 0, .leastNonzeroMagnitude, 1, 1e300, .infinity,
  ]
  private static let numbers: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
  private static let texts = [
    "", "\u{0}", "a", "a\u{0}", "a\u{1}", "e\u{301}", "é", "É", "e", "ee", "\u{301}", "ß", "ss", "\u{10FFFF}",
  ]
  private static let operators = ["==", "<", "<=", ">", ">=", "!="]

  private static func requests() throws -> [(text: String, request: FetchRequest<ManagedObject>)] {
    var requests: [(String, FetchRequest<ManagedObject>)] = []
    func add(_ key: String, _ values: [any PredicateArgument]) throws {
      for (position, value) in values.enumerated() {
        for op in operators {
          let predicate = try FetchPredicate(format: "\(key) \(op) %@", argumentArray: [value])
          requests.append(
            ("\(key) \(op) #\(position)", FetchRequest(entityName: "Thing", predicate: predicate)))
        }
        let other = values[(position + 2) % values.count]
        let range = try FetchPredicate(format: "\(key) >= %@ AND \(key) < %@", argumentArray: [value, other])
        requests.append(("\(key) in #\(position)...", FetchRequest(entityName: "Thing", predicate: range)))
      }
      let none = try FetchPredicate(format: "\(key) == nil")
      requests.append(("\(key) == nil", FetchRequest(entityName: "Thing", predicate: none)))
    }
    try add("date", dates.map { Date(timeIntervalSinceReferenceDate: $0) })
    try add("number", numbers)
    try add("small", [Int64(Int16.min) - 1, Int64(Int16.min), 0, Int64(Int16.max), Int64(Int16.max) + 1])
    try add("small", [-0.5, 0.0, 0.5, 32_767.5, -.infinity, .infinity, .nan] as [Double])
    try add("text", texts)
    return requests
  }

  @Test("A fetch by index after a save finds the same objects as before")
  func likeUnsaved() throws {
    let scene = try ModelScene(
      EntityDescription(
        "Thing", properties: [.date("date"), .int64("number"), .int16("small"), .string("text")],
        indexes: ["date", "number", "small", "text"].map { FetchIndexDescription(on: $0) }))
    func make() -> ManagedObject { scene.new("Thing") }
    for value in Self.dates { make().setValue(Date(timeIntervalSinceReferenceDate: value), forKey: "date") }
    for value in Self.numbers { make().setValue(value, forKey: "number") }
    for value in [Int16.min, -1, 0, 1, .max] { make().setValue(value, forKey: "small") }
    for value in Self.texts { make().setValue(value, forKey: "text") }
    for _ in 0..<200 { _ = make() }
    func answers() throws -> [[ManagedObjectID]] {
      try Self.requests().map { text, request in
        let found = try scene.context.fetchIDs(request)
        #expect(try scene.context.count(for: request) == found.count, "\(text)")
        return found.sorted { $0.uri < $1.uri }
      }
    }
    let before = try answers()
    try scene.context.save()
    let after = try answers()
    for (position, (text, request)) in try Self.requests().enumerated() {
      let plan = try scene.context.explain(request)
      #expect(before[position] == after[position], "\(text) \(plan)")
    }
  }
}
