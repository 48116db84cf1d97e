import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// The number of keys: ten million with optimisation, and fewer without. `PERDURE_KEYS` sets
/// another number.
private let keyCount: UInt64 = {
  if let count = Environment.value(of: "PERDURE_KEYS").flatMap(UInt64.init) { return count }
  #if DEBUG
    return 100_000
  #else
    return 10_000_000
  #endif
}()

/// The tests run one after the other: with 100 million keys, the store of each test needs several
/// gigabytes of disk space.
@Suite("Many keys", .serialized)
struct ManyKeysTests {
  private static let batch: UInt64 = 1000
  /// The bit that marks an overwritten value. Without this bit, the value of a key is its number.
  private static let overwritten: UInt64 = 1 << 40
  private static let options = {
    var options = StoreOptions()
    options.durability = .processCrash
    return options
  }()

  private let directory: TemporaryDirectory
  private var path: String { directory.file("Many.perdure") }

  init() throws { directory = try TemporaryDirectory() }

  @Test("Many ids survive closing and a crash, and opening a closed store reads no log")
  func dense() throws {
    try run(.dense) { store, keyspace, number, value in
      try store.put(Self.bytes(value), id: number, in: keyspace)
    } read: { snapshot, keyspace, number in
      try snapshot.value(id: number, in: keyspace)
    }
  }

  @Test("Many unordered 16-byte keys survive closing and a crash, and opening a closed store reads no log")
  func hashed() throws {
    try run(.bytes) { store, keyspace, number, value in
      try store.put(Self.bytes(value), key: Self.key(number), in: keyspace)
    } read: { snapshot, keyspace, number in
      try snapshot.value(key: Self.key(number), in: keyspace)
    }
  }

  private func run(
    _ kind: KeyspaceKind,
    put: (inout WriteTransaction, Keyspace, _ number: UInt64, _ value: UInt64) throws -> Void,
    read: (Snapshot, Keyspace, _ number: UInt64) throws -> [UInt8]?
  ) throws {
    var random = SeededGenerator.forTest("many keys")
    let store = try Store(at: path, options: Self.options)
    let keys = try store.keyspace("keys", kind)
    for start in stride(from: 0, to: keyCount, by: Int(Self.batch)) {
      try store.write { transaction in
        for number in start..<min(start + Self.batch, keyCount) {
          try put(&transaction, keys, number, number)
        }
      }
    }
    try store.close()

    let drawn = (0..<10_000).map { _ in UInt64.random(in: 0..<keyCount, using: &random) }
    let reopened = try Store(at: path, options: Self.options)
    #expect(reopened.recoveryReport.logBytes == 0 && reopened.recoveryReport.indexRebuild == nil)
    let again = try reopened.keyspace("keys", kind)
    let snapshot = reopened.snapshot()
    #expect(snapshot.count(in: again) == Int(keyCount))
    #expect(try drawn.allSatisfy { try read(snapshot, again, $0) == Self.bytes($0) })
    for number in drawn {
      try reopened.write { try put(&$0, again, number, number | Self.overwritten) }
    }
    // Abandons the store, as if the process ended here.
    reopened.engine.abandon()

    let recovered = try Store(at: path, options: Self.options)
    let last = try recovered.keyspace("keys", kind)
    let (count, sum) = try Self.countAndSum(of: last, recovered.snapshot())
    #expect(count == Int(keyCount))
    // Each overwritten value has one more bit. A key that is drawn several times gets the bit only
    // once.
    #expect(sum == keyCount * (keyCount - 1) / 2 + UInt64(Set(drawn).count) * Self.overwritten)
    try recovered.close()
  }

  private static func countAndSum(of keyspace: Keyspace, _ snapshot: Snapshot) throws -> (Int, UInt64) {
    var (count, sum) = (0, UInt64(0))
    let add = { (value: RawSpan) in
      count += 1
      // The unsafe load is within bounds: every value of these tests has eight bytes.
      sum += value.unsafeLoadUnaligned(as: UInt64.self)
      return true
    }
    switch keyspace.kind {
    case .dense: try snapshot.forEach(in: keyspace) { (_: UInt64, value: RawSpan) in add(value) }
    case .bytes: try snapshot.forEach(in: keyspace) { (_: RawSpan, value: RawSpan) in add(value) }
    }
    return (count, sum)
  }

  private static func bytes(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

  /// The key of a number. The keys of successive numbers are unordered. They are distinct because
  /// both factors are odd.
  private static func key(_ number: UInt64) -> [UInt8] {
    bytes(number &* 0x9E37_79B9_7F4A_7C15) + bytes(number &* 0xD6E8_FEB8_6659_FD93)
  }
}
