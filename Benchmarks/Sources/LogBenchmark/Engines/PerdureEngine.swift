import CLogFloor
import PerdureLog

/// PerdureLog through its public interface.
// Unchecked: `durability` changes only while no thread writes.
final class PerdureEngine: LogEngine, @unchecked Sendable {
  static let name = "Perdure"
  static let isOrdered = true
  static let readsWhileWriting = true
  static let compacts = true
  static let settings = """
    defaults: no compression, compacts itself, the checksum of each record is verified at each read, reserves up to \
    72 MiB for a full disk, which is shown separately
    """

  let store: Store
  let keyspace: Keyspace
  let shape: Shape
  fileprivate var durability = Durability.processCrash

  init(in folder: String, _ shape: Shape) throws {
    store = try Store(at: folder + "/store.perdure")
    keyspace = try store.keyspace("records", shape.keyKind == .dense ? .dense : .bytes)
    self.shape = shape
  }

  func setDurable(_ isDurable: Bool) { durability = isDurable ? .powerLoss : .processCrash }
  func makeView() -> PerdureView { PerdureView(self) }
  func makeWriter() -> PerdureWriter { PerdureWriter(self) }
  func close() throws { try store.close() }

  var figures: [String: Double] {
    get throws {
      let now = try store.statistics
      return [
        "log_bytes": Double(now.logBytes), "live_record_bytes": Double(now.liveRecordBytes),
        "index_bytes": Double(now.indexBytes + now.indexFileBytes), "segments": Double(now.segments),
        "record_bytes_since_open": Double(now.recordBytesSinceOpen),
        "compaction_bytes_since_open": Double(now.compactionBytesSinceOpen),
      ]
    }
  }
}

struct PerdureView: EngineView {
  private let store: Store
  private let keyspace: Keyspace
  private let isDense: Bool
  private var snapshot: Snapshot
  /// A buffer for keys. It is reused, as in a program that reads many keys.
  private var keyBytes = [UInt8](repeating: 0, count: 16)
  private var manyKeyBytes: [[UInt8]] = []

  fileprivate init(_ engine: PerdureEngine) {
    store = engine.store
    keyspace = engine.keyspace
    isDense = engine.shape.keyKind == .dense
    snapshot = store.snapshot()
  }

  mutating func read(_ key: log_key) throws -> UInt64? {
    if isDense { return try snapshot.withValue(id: key.first, in: keyspace, Self.fold) }
    setBytes(key)
    return try snapshot.withValue(key: keyBytes, in: keyspace, Self.fold)
  }

  mutating func readMany(_ keys: [log_key]) throws -> UInt64 {
    var sum: UInt64 = 0
    if isDense {
      try snapshot.withValues(ids: keys.map(\.first), in: keyspace) { _, value in
        if let value { sum &+= Self.fold(value) }
      }
    } else {
      setBytes(keys)
      try snapshot.withValues(keys: manyKeyBytes, in: keyspace) { _, value in
        if let value { sum &+= Self.fold(value) }
      }
    }
    return sum
  }

  mutating func scan(from key: log_key?, limit: Int) throws -> ScanResult {
    if isDense { return try scan(fromID: key?.first ?? 0, limit: limit) }
    guard let key else { return try scan(.all, limit: limit) }
    setBytes(key)
    return try scan(KeyRange(lower: keyBytes, upper: nil), limit: limit)
  }

  mutating func scan(prefixOf key: log_key, length: Int) throws -> ScanResult {
    setBytes(key)
    return try scan(.prefix(Array(keyBytes[..<length])), limit: .max)
  }

  mutating func takeSnapshot() { _ = store.snapshot() }
  mutating func advance() { snapshot = store.snapshot() }
  mutating func end() {}

  private func scan(_ range: KeyRange, limit: Int) throws -> ScanResult {
    var result = ScanResult()
    try snapshot.forEach(in: keyspace, range: range) { key, value in
      key.withUnsafeBytes { key in
        value.withUnsafeBytes { value in
          guard let start = key.baseAddress else { return }
          result.add(log_key(bytes: start), value.baseAddress, value.count)
        }
      }
      return result.count < limit
    }
    return result
  }

  private func scan(fromID id: UInt64, limit: Int) throws -> ScanResult {
    var result = ScanResult()
    try snapshot.forEach(in: keyspace, ids: id ... .max) { id, value in
      value.withUnsafeBytes { result.add(log_key(first: id, second: 0), $0.baseAddress, $0.count) }
      return result.count < limit
    }
    return result
  }

  private mutating func setBytes(_ key: log_key) {
    keyBytes.withUnsafeMutableBytes { $0.storeBytes(of: key, as: log_key.self) }
  }

  private mutating func setBytes(_ keys: [log_key]) {
    while manyKeyBytes.count < keys.count { manyKeyBytes.append(keyBytes) }
    manyKeyBytes.removeLast(manyKeyBytes.count - keys.count)
    for (index, key) in keys.enumerated() {
      manyKeyBytes[index].withUnsafeMutableBytes { $0.storeBytes(of: key, as: log_key.self) }
    }
  }

  private static func fold(_ value: RawSpan) -> UInt64 {
    value.withUnsafeBytes { log_fold($0.baseAddress, $0.count) }
  }
}

struct PerdureWriter: EngineWriter {
  private let engine: PerdureEngine
  private let durability: Durability
  private var keyBytes = [UInt8](repeating: 0, count: 16)
  private var value: [UInt8]

  fileprivate init(_ engine: PerdureEngine) {
    self.engine = engine
    durability = engine.durability
    value = Array(repeating: 0, count: engine.shape.valueLength)
  }

  mutating func commit(_ operations: UnsafeBufferPointer<log_operation>) throws {
    try engine.store.write(durability: durability) { transaction in
      for operation in operations { try add(operation, to: &transaction) }
    }
  }

  mutating func end() {}

  private mutating func add(_ operation: log_operation, to transaction: inout WriteTransaction) throws {
    let isDense = engine.shape.keyKind == .dense
    if !isDense { keyBytes.withUnsafeMutableBytes { $0.storeBytes(of: operation.key, as: log_key.self) } }
    guard let bytes = operation.value else {
      return isDense
        ? try transaction.remove(id: operation.key.first, in: engine.keyspace)
        : try transaction.remove(key: keyBytes, in: engine.keyspace)
    }
    value.withUnsafeMutableBytes {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: operation.length))
    }
    if isDense {
      try transaction.put(value, id: operation.key.first, in: engine.keyspace)
    } else {
      try transaction.put(value, key: keyBytes, in: engine.keyspace)
    }
  }
}
