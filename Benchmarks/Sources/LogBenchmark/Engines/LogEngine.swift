import CLogFloor

// The interface that a measured engine implements. Workloads are generic over it and specialised
// for each engine, so that the abstraction costs nothing. Reads fold the values they found
// (`log_fold`), which touches every byte; the sums must agree between engines.

/// An open store of one engine.
protocol LogEngine: AnyObject, Sendable {
  associatedtype View: EngineView
  associatedtype Writer: EngineWriter

  static var name: String { get }
  /// Whether it can scan; the floor cannot.
  static var isOrdered: Bool { get }
  /// Whether threads may read while another writes.
  static var readsWhileWriting: Bool { get }
  /// Its settings, and its checks.
  static var settings: String { get }

  /// Opens the store in an existing folder, or makes one there.
  init(in folder: String, _ shape: Shape) throws

  /// Whether later commits survive a crash of the machine, or only of the process. No thread writes
  /// meanwhile.
  func setDurable(_ isDurable: Bool) throws

  /// For one thread.
  func makeView() throws -> View

  /// For one thread.
  func makeWriter() throws -> Writer

  /// Whether it moves written data in the background.
  static var compacts: Bool { get }

  /// The engine's own counters, by name; in bytes, except for ratios.
  var figures: [String: Double] { get throws }

  /// All views and writers have ended.
  func close() throws
}

extension LogEngine {
  static var compacts: Bool { false }
  var figures: [String: Double] { [:] }
}

/// The result of a scan.
struct ScanResult: Equatable {
  var count = 0
  /// Independent of the order.
  var sum: UInt64 = 0

  @inline(__always)
  mutating func add(_ key: log_key, _ value: UnsafeRawPointer?, _ length: Int) {
    count &+= 1
    let words = (key.first ^ (key.second &* 0x94D0_49BB_1331_11EB)) &* 0x9E37_79B9_7F4A_7C15
    sum &+= (log_fold(value, length) ^ words) &* 0xBF58_476D_1CE4_E5B9
  }
}

/// Reads one state of the store, the newest when it was made or last advanced, if the engine has
/// states.
protocol EngineView {
  /// The fold of the value; nil if the key is not there.
  mutating func read(_ key: log_key) throws -> UInt64?

  /// The sum of the folds.
  mutating func readMany(_ keys: [log_key]) throws -> UInt64

  /// At most `limit` entries in order, from the first key not below `key`; nil: from the very
  /// first.
  mutating func scan(from key: log_key?, limit: Int) throws -> ScanResult

  /// All entries whose hashed keys begin with the same `length` bytes.
  mutating func scan(prefixOf key: log_key, length: Int) throws -> ScanResult

  static var takesSnapshots: Bool { get }

  /// Takes a snapshot of the newest state and releases it, in the engine's cheapest way. Afterwards
  /// the view must not be used.
  mutating func takeSnapshot() throws

  /// Goes to the newest state.
  mutating func advance() throws

  mutating func end()
}

extension EngineView {
  static var takesSnapshots: Bool { true }

  mutating func readMany(_ keys: [log_key]) throws -> UInt64 {
    var sum: UInt64 = 0
    for key in keys { sum &+= try read(key) ?? 0 }
    return sum
  }
}

/// A view that visits its entries in order; both kinds of scan follow from that.
protocol WalkingView: EngineView {
  /// Calls `body` with key, value and the value's length of each entry, from the first key not
  /// below `key` (nil: from the very first), until it says false.
  func walk(from key: log_key?, _ body: (log_key, UnsafeRawPointer?, Int) -> Bool) throws
}

extension WalkingView {
  func scan(from key: log_key?, limit: Int) throws -> ScanResult {
    var result = ScanResult()
    try walk(from: key) { key, value, length in
      result.add(key, value, length)
      return result.count < limit
    }
    return result
  }

  func scan(prefixOf key: log_key, length: Int) throws -> ScanResult {
    var result = ScanResult()
    let wanted = key.prefixWord(length)
    try walk(from: log_key(first: wanted, second: 0)) { key, value, count in
      guard key.prefixWord(length) == wanted else { return false }
      result.add(key, value, count)
      return true
    }
    return result
  }
}

protocol EngineWriter {
  /// Does all of it in one commit.
  mutating func commit(_ operations: UnsafeBufferPointer<log_operation>) throws

  mutating func end()
}

/// The message of an engine whose operation failed.
struct EngineError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}

/// Errors as LevelDB and RocksDB give them: as a text that the caller frees.
protocol MessageErrors {
  static func free(_ message: UnsafeMutablePointer<CChar>)
}

extension MessageErrors {
  @inline(__always)
  static func checked<R>(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R) throws -> R {
    var message: UnsafeMutablePointer<CChar>?
    let result = body(&message)
    try check(message)
    return result
  }

  @inline(__always)
  static func check(_ message: UnsafeMutablePointer<CChar>?) throws {
    guard let message else { return }
    defer { free(message) }
    throw EngineError(String(cString: message))
  }
}
