import PerdureProving
import PerdureTestSupport

/// Makes random damage to the records before the checkpoint, in a segment of a graph's store.
struct Misplacement {
  let graph: TailedGraph
  let file: String
  let bytes: [UInt8]
  /// The records of each key, oldest first.
  private let versions: [[RecordPlace]]
  private let end: Int

  init(_ graph: TailedGraph) throws {
    self.graph = graph
    guard let last = graph.places.last, graph.places.allSatisfy({ $0.file == last.file }),
      let bytes = graph.files[last.file]
    else { throw Violation("the records before the checkpoint are not in one segment") }
    (file, self.bytes) = (last.file, bytes)
    end = last.offset + last.length
    var byKey: [[UInt8]: [RecordPlace]] = [:]
    for place in graph.places {
      byKey[withUnsafeBytes(of: place.keyspace.bigEndian) { Array($0) } + place.key, default: []].append(
        place)
    }
    versions = byKey.values.sorted { $0[0].offset < $1[0].offset }
  }

  /// The segment after random damage that changes it, and the kind of the damage.
  func damaged(_ random: inout SeededGenerator) -> (kind: String, segment: [UInt8]) {
    while true {
      let (kind, damage) = pick(&random)
      let segment = damage.applied(to: bytes)
      if segment != bytes { return (kind, segment) }
    }
  }

  /// - Returns: The kind of the damage, and the damage. It may replace bytes by equal ones.
  private func pick(_ random: inout SeededGenerator) -> (kind: String, damage: Damage) {
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

  /// The numbers of the parts whose newest row is before the checkpoint and was overwritten by an
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
