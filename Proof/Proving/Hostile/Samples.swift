import PerdureFileIO
import PerdureFormat
import PerdureLog
import PerdureNumbers
import PerdureTestSupport

/// Bytes as writers encode them. Mutations start from these bytes. All of them belong to one store,
/// and all segments have the number 1.
enum Samples {
  static func record(_ keyspace: UInt32, _ key: [UInt8], _ value: [UInt8], _ kind: RecordHeader.Kind = .put)
    -> [UInt8]
  {
    let header = RecordHeader(
      kind: kind, keyspace: keyspace, keyLength: key.count, valueLength: value.count)
    var bytes = [UInt8](repeating: 0, count: header.paddedLength)
    bytes.replaceSubrange(16..<(16 + key.count), with: key)
    bytes.replaceSubrange((16 + key.count)..<(16 + key.count + value.count), with: value)
    bytes.withUnsafeMutableBytes { header.seal($0) }
    return bytes
  }

  static let tombstone = record(1, [UInt8](repeating: 1, count: 8), [16, 0, 0, 2, 0, 0, 0, 0], .tombstone)

  /// A complete commit, at an offset of segment 1.
  static func frame(_ records: [UInt8], count: UInt32, at offset: Int) -> [UInt8] {
    let header = FrameHeader(
      kind: .commitEnd, part: 0, sequence: 1, payloadLength: UInt32(records.count), recordCount: count,
      recordDigest: 0, chainDigest: 0, syncedOffset: 128)
    let position = LogPosition(segment: 1, offset: UInt64(offset))
    var bytes = EngineDecoders.encoded(64) {
      header.write(to: $0, store: EngineDecoders.store, position: position)
    }
    bytes += records
    Seals.frames(&bytes, from: 0, at: offset, of: 1)
    return bytes
  }

  /// Sums of integers, doubles and decimals: both signs, extreme values, infinities and NaN.
  static let sums: [ExactSum] = {
    let binary: [[ExactSum.Term]] = [
      [.integer(0)], [.integer(300), .integer(-5)], [.double(-0.1), .integer(.min)],
      [.double(.leastNonzeroMagnitude), .double(.greatestFiniteMagnitude)],
      [.double(1), .double(.nan), .double(.infinity), .double(-.infinity)],
    ]
    let decimal: [[ExactSum.Term]] = [
      [.decimal(isNegative: true, coefficient: 125, exponent: -1), .integer(7)],
      [
        .decimal(isNegative: false, coefficient: 1, exponent: -2048),
        .decimal(isNegative: true, coefficient: .max, exponent: 2047),
      ],
    ]
    let all = binary.map { (ExactSum.Radix.binary, $0) } + decimal.map { (.decimal, $0) }
    return all.map { radix, terms in
      var sum = ExactSum(radix)
      for term in terms { sum.apply(term, isRemoval: false) }
      return sum
    }
  }()

  /// Definitions of keyspaces, indexes and a dictionary.
  static let catalog: [UInt8] = {
    let definitions: [(key: [UInt8], value: [UInt8])] = [
      ([1] + Array("rows".utf8), [1, 0, 0, 0, 0, 0, 0, 0]),
      ([1] + Array("names".utf8), [2, 0, 0, 0, 1, 0, 0, 0]),
      (
        [2] + Array("a".utf8), [0, 0, 0, 0, 1, 0, 6, 0, 1, 0, 0, 0] + Array("slices".utf8) + [1, 0, 0, 0, 9]
      ),
      (
        [2] + Array("b".utf8),
        [1, 0, 0, 0, 0, 0, 12, 0, 1, 0, 0, 0] + Array("group-counts".utf8) + [0, 0, 0, 0]
      ),
      (
        [2] + Array("s".utf8),
        [2, 0, 0, 0, 0, 0, 10, 0, 1, 0, 0, 0] + Array("group-sums".utf8) + [1, 0, 0, 0]
          + [0, 0, 6, 0] + Array("slices".utf8) + [9]
      ),
      (
        [2] + Array("o".utf8),
        [3, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0] + Array("sum-order".utf8) + [2, 0, 0, 0]
      ),
      ([2] + Array("gone".utf8), [4, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0] + Array("removed".utf8)),
      ([3, 1, 0], [1, 0, 0, 0, 200, 0, 0, 0] + Array("a dictionary".utf8)),
    ]
    return definitions.flatMap { [UInt8($0.key.count), UInt8($0.value.count)] + $0.key + $0.value }
  }()

  static func isRewritten(_ segment: [UInt8]) -> Bool { Seals.integer(segment, 40, as: UInt64.self) > 0 }

  /// The segments of a small store, all with the identity of the samples' store and number 1.
  static func segments() throws -> [[UInt8]] {
    try RotStore(rounds: 0, seed: 1).files.filter { $0.key.hasSuffix(".segment") }
      .sorted { $0.key < $1.key }.map { rebound($0.value) }
  }

  /// A copy of the segment that is segment 1 of the samples' store and has no predecessor.
  private static func rebound(_ segment: [UInt8]) -> [UInt8] {
    var bytes = segment
    Seals.set(EngineDecoders.store.high, &bytes, at: 16)
    Seals.set(EngineDecoders.store.low, &bytes, at: 24)
    Seals.set(UInt64(1), &bytes, at: 32)
    Seals.set(UInt64(0), &bytes, at: 64)
    Seals.set(UInt64(0), &bytes, at: 72)
    Seals.segment(&bytes)
    return bytes
  }

  static func root() throws -> [UInt8] {
    let files = try RotStore(rounds: 0, seed: 1).files
    let superblock = try (files["SUPERBLOCK"] ?? []).withUnsafeBytes { try Superblock.newest(in: $0) }
    guard let reference = superblock.checkpoint else { return [] }
    let start = 64 * Int(reference.rootSlot)
    let file = files[StoreFileName.index(reference.indexFile).string] ?? []
    return Array(file[start..<(start + Int(reference.rootLength))])
  }

  /// The trees of an index file in the form that `EngineDecoders.index` decodes: the entry of the
  /// root block, then nodes.
  static func trees() throws -> [[UInt8]] {
    let files = try RotStore(rounds: 0, seed: 1).files
    let root = try root().withUnsafeBytes { try CheckpointRoot(reading: $0) }
    let file = files.first { $0.key.hasSuffix(".index") }?.value ?? []
    let ordered = root.keyspaces.map(\.ordered) + root.indexes.map(\.tree)
    let trees = root.keyspaces.map { ($0.dense, true) } + ordered.map { ($0, false) }
    return trees.filter { $0.0.height > 0 && $0.0.count > 0 }.map { tree, isDense in
      var head = [UInt8](repeating: 0, count: 16)
      head[0] = isDense ? 1 : 0
      head[1] = UInt8(tree.height)
      // If the tree has one node, the input has only this node, because small inputs are tried more
      // often.
      let isSingle = tree.height == 1
      Seals.set(isSingle ? 1 : tree.slot, &head, at: 4)
      Seals.set(tree.count, &head, at: 8)
      let start = isSingle ? 64 * Int(tree.slot) : 64
      return head + file[start..<(isSingle ? min(file.count, start + 1088) : file.count)]
    }
  }
}
