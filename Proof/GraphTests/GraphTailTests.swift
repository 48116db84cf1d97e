import Perdure
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// Intact records at wrong addresses, in the rows of a graph, where an opening does not read all of
/// them.
@Suite("Misplaced records of a graph's store, followed by a tail")
struct GraphTailTests {
  private enum Outcome: String, CaseIterable {
    case refused = "did not open"
    case errors = "reported errors"
    case right = "were read correctly"
    case older = "returned an older version that only a verification detects"
  }

  private static let damageCount = 80

  @Test(
    "Every answer by an index agrees with the rows or is an error, or the row is an older version",
    arguments: [true, false])
  func damages(bindsRecords: Bool) throws {
    var random = SeededGenerator.forTest("misplaced records of a graph, bound: \(bindsRecords)")
    let graph = try TailedGraph(bindsRecords: bindsRecords, &random)
    let misplacement = try Misplacement(graph)
    var tally: [Outcome: Int] = [:]
    for _ in 0..<Self.damageCount {
      let (kind, damage) = misplacement.pick(&random)
      let segment = damage.applied(to: misplacement.bytes)
      guard segment != misplacement.bytes else { continue }
      let older = bindsRecords ? [] : misplacement.partsOfOlderVersions(in: segment)
      let outcome = try look(at: segment, misplacement.file, graph, older: older, "\(kind): \(damage)")
      tally[outcome, default: 0] += 1
    }
    print("bound: \(bindsRecords), \(tally.map { "\($1) \($0.rawValue)" }.sorted().joined(separator: ", "))")
    let opened = tally.values.reduce(0, +) - (tally[.refused] ?? 0)
    #expect(opened >= Self.damageCount / 4)
    #expect(tally[.refused] ?? 0 > 0 && tally[.errors] ?? 0 > 0 && tally[.right] ?? 0 > 0)
    #expect((tally[.older] ?? 0 > 0) == !bindsRecords)
  }

  @Test(
    "The graph without damage opens from its checkpoint, and every answer is right", arguments: [true, false])
  func undamaged(bindsRecords: Bool) throws {
    var random = SeededGenerator.forTest("a graph under a tail, bound: \(bindsRecords)")
    let graph = try TailedGraph(bindsRecords: bindsRecords, &random)
    let misplacement = try Misplacement(graph)
    let outcome = try look(at: misplacement.bytes, misplacement.file, graph, older: [], "no damage")
    #expect(outcome == .right)
    let fileSystem = try graph.fileSystem(with: misplacement.bytes, named: misplacement.file)
    #expect(try TailedGraph.isClean(fileSystem))
  }

  @Test("Without the comparison of keys, a record over one that the tail replaced gives wrong answers")
  func uncompared() throws {
    var random = SeededGenerator.forTest("uncompared records of a graph")
    let graph = try TailedGraph(bindsRecords: false, &random)
    let misplacement = try Misplacement(graph)
    for _ in 0..<5 {
      let segment = try misplacement.overReplaced(&random).applied(to: misplacement.bytes)
      #expect(
        try look(at: segment, misplacement.file, graph, older: [], "over a replaced record") == .refused)
      let fileSystem = try graph.fileSystem(with: segment, named: misplacement.file)
      var answers = GraphTailAnswers(
        try TailedGraph.container(on: fileSystem, comparesReplacedRecords: false), older: [])
      answers.check()
      #expect(answers.mistakes.contains { $0.contains("is the name of []") })
    }
  }

  private func look(
    at segment: [UInt8], _ file: String, _ graph: TailedGraph, older: Set<Int>, _ damage: String
  ) throws -> Outcome {
    let container: PersistentContainer
    do {
      container = try TailedGraph.container(on: graph.fileSystem(with: segment, named: file))
    } catch {
      let reason = GraphTailAnswers.damage(in: error)
      #expect(reason?.place?.hasPrefix(file) ?? false, "\(damage): \(error)")
      return .refused
    }
    var answers = GraphTailAnswers(container, older: older)
    answers.check()
    #expect(answers.mistakes == [], "\(damage)")
    if answers.hasOlderRows {
      #expect(try !TailedGraph.isClean(graph.fileSystem(with: segment, named: file)), "\(damage)")
      return .older
    }
    return answers.hasErrors ? .errors : .right
  }
}

/// The damages of a graph's segment before the checkpoint.
private struct Misplacement {
  let file: String
  let bytes: [UInt8]
  /// The records of each key, oldest first.
  private let versions: [[RecordPlace]]
  private let end: Int

  init(_ graph: TailedGraph) throws {
    file = try #require(graph.places.first?.file)
    bytes = try #require(graph.files[file])
    let last = try #require(graph.places.last)
    try #require(last.file == file)
    end = last.offset + last.length
    var byKey: [[UInt8]: [RecordPlace]] = [:]
    for place in graph.places {
      byKey[withUnsafeBytes(of: place.keyspace.bigEndian) { Array($0) } + place.key, default: []].append(
        place)
    }
    versions = byKey.values.sorted { $0[0].offset < $1[0].offset }
  }

  /// - Returns: The kind of the damage, and the damage.
  func pick(_ random: inout SeededGenerator) -> (kind: String, damage: Damage) {
    let length: Int
    let (from, to): (Int, Int)
    let kind: String
    switch random.pick(0..<3) {
    case 0:
      let sectors = Array(stride(from: 0, through: end - 512, by: 512))
      (kind, length, from, to) = ("sectors", 512, random.pick(sectors), random.pick(sectors))
    case 1:
      let newest = random.pick(versions).last!
      let others = versions.joined().filter { $0.length == newest.length }
      (kind, length, from, to) = ("records", newest.length, random.pick(others).offset, newest.offset)
    default:
      let some = random.pick(versions.filter { $0.count > 1 && $0[0].length == $0.last!.length })
      let older = random.pick(some.dropLast().filter { $0.length == some.last!.length })
      (kind, length, from, to) = ("versions", older.length, older.offset, some.last!.offset)
    }
    return Bool.random(using: &random)
      ? ("\(kind) doubled", .copy(from: from, to: to, length: length))
      : ("\(kind) exchanged", .exchange(from, to, length: length))
  }

  /// Copies the newest row of a part without changes in the tail over one that the tail replaced.
  func overReplaced(_ random: inout SeededGenerator) throws -> Damage {
    let rows = versions.compactMap(\.last).filter { number(of: $0) != nil }
    func isResting(_ place: RecordPlace) -> Bool {
      number(of: place).map { TailedGraph.restingParts.contains($0) } ?? false
    }
    let to = random.pick(rows.filter { !isResting($0) })
    let from = random.pick(rows.filter { isResting($0) && $0.length == to.length })
    return .copy(from: from.offset, to: to.offset, length: to.length)
  }

  /// The number in the name of the part whose row is at a place; nil if it is no row of a part.
  private func number(of place: RecordPlace) -> Int? {
    Self.number(in: bytes[place.offset..<(place.offset + place.length)])
  }

  /// The numbers of the parts whose newest row is before the checkpoint and was replaced by an
  /// older row of the same part.
  func partsOfOlderVersions(in segment: [UInt8]) -> Set<Int> {
    var parts: Set<Int> = []
    for places in versions {
      guard let newest = places.last else { continue }
      let found = segment[newest.offset..<(newest.offset + newest.length)]
      let older = places.dropLast().contains { place in
        bytes[place.offset..<(place.offset + place.length)].elementsEqual(found)
      }
      guard older, let number = Self.number(in: found) else { continue }
      if TailedGraph.restingParts.contains(number) { parts.insert(number) }
    }
    return parts
  }

  /// The number in the name of a part.
  private static func number(in record: ArraySlice<UInt8>) -> Int? {
    guard let start = record.firstRange(of: Array("part ".utf8))?.upperBound else { return nil }
    return Int(String(decoding: record[start...].prefix(4), as: UTF8.self)).map { $0 - 1000 }
  }
}
