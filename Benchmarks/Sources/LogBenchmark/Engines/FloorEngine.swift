import CLogFloor
import Foundation

/// The lower bound for the cost of the work: see `log_floor.h`.
// Unchecked: writers lock in C, and no thread reads during a write (`readsWhileWriting`).
final class FloorEngine: LogEngine, @unchecked Sendable {
  static let name = "floor"
  static let isOrdered = false
  static let readsWhileWriting = false
  static let settings = "hash table and raw append in C; no order, no checksums, no atomicity"

  fileprivate let floor: OpaquePointer
  fileprivate var isDurable = false

  init(in folder: String, _ shape: Shape) throws {
    guard let floor = log_floor_open(folder + "/floor") else {
      throw EngineError("open: \(String(cString: strerror(errno)))")
    }
    self.floor = floor
  }

  func setDurable(_ isDurable: Bool) { self.isDurable = isDurable }
  func makeView() -> FloorView { FloorView(floor: floor) }
  func makeWriter() -> FloorWriter { FloorWriter(floor: floor, isDurable: isDurable) }
  func close() { log_floor_close(floor) }
}

struct FloorView: EngineView {
  fileprivate let floor: OpaquePointer

  mutating func read(_ key: log_key) -> UInt64? {
    var length = 0
    guard let value = log_floor_get(floor, key, &length) else { return nil }
    return log_fold(value, length)
  }

  /// Scans all entries in no particular order. Other scans are not supported.
  mutating func scan(from key: log_key?, limit: Int) -> ScanResult {
    var result = ScanResult()
    var key = log_key()
    var value: UnsafeRawPointer?
    var length = 0
    var position = log_floor_next(floor, 0, &key, &value, &length)
    while position != 0 {
      result.add(key, value, length)
      position = log_floor_next(floor, position, &key, &value, &length)
    }
    return result
  }

  mutating func scan(prefixOf key: log_key, length: Int) -> ScanResult { ScanResult() }
  static var takesSnapshots: Bool { false }
  mutating func takeSnapshot() {}
  mutating func advance() {}
  mutating func end() {}
}

struct FloorWriter: EngineWriter {
  fileprivate let floor: OpaquePointer
  fileprivate let isDurable: Bool

  mutating func commit(_ operations: UnsafeBufferPointer<log_operation>) throws {
    let error = log_floor_commit(floor, operations.baseAddress, operations.count, isDurable ? 1 : 0)
    guard error == 0 else { throw EngineError("commit: \(String(cString: strerror(error)))") }
  }

  mutating func end() {}
}
