// Reserves ids for new rows. No id is assigned twice, even after a crash (LogPersistentStore, LS2).

internal import PerdureFileIO
internal import PerdureLog

// Unchecked: `free` is guarded by `lock`.
final class IDReservations: @unchecked Sendable {
  private let lock = Lock()
  private let store: Store
  private let keyspaces: LogKeyspaces
  /// The ids that are reserved but not yet assigned, by entity number.
  private var free: [UInt16: Range<UInt64>] = [:]

  /// The minimum number of ids in a reservation. Each reservation is a small commit. The unassigned
  /// ids of a reservation are lost when the program ends, and when a request needs more ids. This
  /// is acceptable, because an entity has 2^48 ids.
  private static let blockLength: UInt64 = 65_536
  /// Ids have 48 bits.
  private static let idMax: UInt64 = 1 << 48 - 1

  init(_ store: Store, _ keyspaces: LogKeyspaces) {
    self.store = store
    self.keyspaces = keyspaces
  }

  func take(_ count: Int, of entity: UInt16) throws -> Range<UInt64> {
    precondition(count > 0, "Take at least one id.")
    // In a forked child, the lock may be held forever by a thread that exists only in the parent.
    try store.checkProcess()
    return try lock.withLock {
      var range = free[entity] ?? 0..<0
      if range.count < count { range = try reserve(max(UInt64(count), Self.blockLength), of: entity) }
      let taken = range.lowerBound..<(range.lowerBound + UInt64(count))
      free[entity] = taken.upperBound..<range.upperBound
      return taken
    }
  }

  private func reserve(_ count: UInt64, of entity: UInt16) throws -> Range<UInt64> {
    let key = Self.key(of: entity)
    let snapshot = store.snapshot()
    let last = try snapshot.value(key: key, in: keyspaces.meta).map(Self.number) ?? 0
    let end = last + count
    guard end <= Self.idMax else {
      throw StoreError(
        .invalidArgument, "The entity with the number \(entity) has had 2^48 objects; make a new store")
    }
    try store.write(durability: .processCrash) { transaction in
      try transaction.put(withUnsafeBytes(of: end.littleEndian) { Array($0) }, key: key, in: keyspaces.meta)
    }
    return (last + 1)..<(end + 1)
  }

  private static func key(of entity: UInt16) -> [UInt8] {
    Array("ids".utf8) + withUnsafeBytes(of: entity.bigEndian) { Array($0) }
  }

  /// The number in a record. Throws if the bytes are not a valid number: if such a record counts as
  /// absent, ids are assigned twice.
  private static func number(_ bytes: [UInt8]) throws -> UInt64 {
    let number = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard bytes.count == 8, number <= idMax else {
      throw StoreError(
        .corruption, "The record of assigned ids is not a number; restore the store from a backup", at: "meta"
      )
    }
    return number
  }
}
