import CLogFloor

// The interface of a measured engine. Workloads are generic and specialized for each engine, so
// that the abstraction costs nothing. Reads fold the values that they find (`log_fold`), and
// folding reads every byte. The sums must be equal for all engines.

/// An open store of one engine.
protocol LogEngine: AnyObject, Sendable {
  associatedtype View: EngineView
  associatedtype Writer: EngineWriter

  static var name: String { get }
  /// Whether the engine can scan, which requires ordered keys.
  static var isOrdered: Bool { get }
  /// Whether threads may read while another writes.
  static var readsWhileWriting: Bool { get }
  /// The settings of the engine, and the checks that it makes.
  static var settings: String { get }

  /// Opens the store in an existing folder, or creates it there.
  init(in folder: String, _ shape: Shape) throws

  /// Sets whether later commits survive a crash of the machine. If not, they survive only a crash
  /// of the process. No thread writes during the call.
  func setDurable(_ isDurable: Bool) throws

  /// Makes a view for one thread.
  func makeView() throws -> View

  /// Makes a writer for one thread.
  func makeWriter() throws -> Writer

  /// Whether the engine moves written data in the background.
  static var compacts: Bool { get }

  /// The engine's own counters, by name. All are bytes, except `segments`, which is a
  /// count.
  var figures: [String: Double] { get throws }

  /// Closes the store. All views and writers must have ended before.
  func close() throws
}

extension LogEngine {
  static var compacts: Bool { false }
  var figures: [String: Double] { [:] }
}

/// The result of a scan.
struct ScanResult: Equatable {
  var count = 0
  /// A sum over keys and values that does not depend on their order.
  var sum: UInt64 = 0

  @inline(__always)
  mutating func add(_ key: log_key, _ value: UnsafeRawPointer?, _ length: Int) {
    count &+= 1
    let words = (key.first ^ (key.second &* 0x94D0_49BB_1331_11EB)) &* 0x9E37_79B9_7F4A_7C15
    sum &+= (log_fold(value, length) ^ words) &* 0xBF58_476D_1CE4_E5B9
  }
}

/// Reads the store. If the engine has snapshots, the view reads one state: the newest state when
/// the view was made, or at the last `advance`.
protocol EngineView {
  /// The fold of the value; nil if the key is absent.
  mutating func read(_ key: log_key) throws -> UInt64?

  /// The sum of the folds of the values.
  mutating func readMany(_ keys: [log_key]) throws -> UInt64

  /// Scans at most `limit` entries in order. Begins with the first key that is not less than `key`;
  /// if `key` is nil, with the first entry.
  mutating func scan(from key: log_key?, limit: Int) throws -> ScanResult

  /// Scans all entries whose hashed keys begin with the first `length` bytes of `key`.
  mutating func scan(prefixOf key: log_key, length: Int) throws -> ScanResult

  static var takesSnapshots: Bool { get }

  /// Takes a snapshot of the newest state and releases it, in the way that is cheapest for the
  /// engine. The view must not be used afterwards.
  mutating func takeSnapshot() throws

  /// Advances to the newest state.
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

/// A view that visits entries in order. Both kinds of scan use `walk`.
protocol WalkingView: EngineView {
  /// Calls `body` with the key, the value and the value's length of each entry, until it returns
  /// false. Begins with the first key that is not less than `key`; if `key` is nil, with the first
  /// entry.
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
  /// Applies all operations in one commit.
  mutating func commit(_ operations: UnsafeBufferPointer<log_operation>) throws

  mutating func end()
}

/// The error of an engine whose operation failed.
struct EngineError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}

/// Errors in the form of LevelDB and RocksDB: a text that the caller must free.
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
