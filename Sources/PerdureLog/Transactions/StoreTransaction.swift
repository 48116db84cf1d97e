import PerdureFormat

// Optimistic read-write transactions.
//
// A transaction reads one snapshot, buffers its writes, and notes its reads as preconditions of its
// commit. In the commit's turn, the preconditions are checked against all commits since the
// snapshot (Engine+Preconditions). If they are true, reading at that moment gives the same data. So
// the order of the commits is a serial order of the transactions with the same results.
//
// Invariants
//  TX1  Every result about the store that `body` gets is covered by a precondition. A key is
//       covered by its version (or its absence). A range is covered by the visited part of it,
//       absent keys included.
//  TX2  Reads see the snapshot with the transaction's own writes applied. Reads of index entries
//       see the snapshot alone.
//  TX3  Nothing is written, and no precondition is checked, before `body` has returned. A
//       transaction without writes needs no check, because it read one snapshot.

/// The reads and writes of one transaction. They take effect as if at one moment, or not at all.
/// See `Store.transaction`.
public struct StoreTransaction: ~Copyable {
  /// A key and its keyspace.
  struct Place: Hashable {
    var keyspace: Keyspace
    var key: Key
  }

  /// The content of a key after the transaction.
  enum Write {
    case put([UInt8])
    case putWritten(WrittenBlob)
    case remove
  }

  let snapshot: Snapshot
  /// The keys that were read, each with the version found. TX1
  private(set) var versions: [Place: RecordVersion?] = [:]
  /// The ranges that were read. TX1
  private(set) var ranges: [Precondition] = []
  /// The last write of each key. `order` has the keys in the order of their first write.
  private(set) var writes: [Place: Write] = [:]
  private(set) var order: [Place] = []

  init(_ snapshot: Snapshot) { self.snapshot = snapshot }

  /// The sequence number of the last commit in the transaction's snapshot.
  public var sequence: UInt64 { snapshot.sequence }

  // MARK: - One key

  /// A copy of the value of an id, or nil. It is this transaction's value if there is one, and
  /// otherwise the value in the store. The commit will require that the store's value has not
  /// changed.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument`, `.corruption` or `.io`.
  public mutating func value(id: UInt64, in keyspace: Keyspace) throws -> [UInt8]? {
    try WriteTransaction.check(keyspace, .dense)
    let place = Place(keyspace: keyspace, key: .id(id))
    if let own = writes[place] { return try own.value() }
    try note(place)
    return try snapshot.value(id: id, in: keyspace)
  }

  /// A copy of the value of a byte-string key, or nil. It is this transaction's value if there is
  /// one, and otherwise the value in the store. The commit will require that the store's value has
  /// not changed.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument`, `.corruption` or `.io`.
  public mutating func value(key: [UInt8], in keyspace: Keyspace) throws -> [UInt8]? {
    try WriteTransaction.check(keyspace, .bytes)
    let place = Place(keyspace: keyspace, key: .bytes(key))
    if let own = writes[place] { return try own.value() }
    try note(place)
    return try snapshot.value(key: key, in: keyspace)
  }

  /// Whether the key exists, without reading its value. It exists if this transaction put it, and
  /// is absent if this transaction removed it. Otherwise it exists if the store has it, and the
  /// commit will require that the key's record has not changed.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` or `.corruption`.
  public mutating func contains(_ key: Key, in keyspace: Keyspace) throws -> Bool {
    try WriteTransaction.check(keyspace, key.kind)
    let place = Place(keyspace: keyspace, key: key)
    if let own = writes[place] { return own.leavesValue }
    try note(place)
    return try snapshot.contains(key, in: keyspace)
  }

  /// Puts a value under an id. If this transaction has not read the id, the value replaces any
  /// value that another commit has put there meanwhile.
  ///
  /// - Parameter value: 0 to 4 GiB. It is kept in memory until the commit.
  /// - Parameter id: The id, any number.
  /// - Parameter keyspace: A dense keyspace.
  /// - Throws: `StoreError` with code `.invalidArgument`.
  public mutating func put(_ value: [UInt8], id: UInt64, in keyspace: Keyspace) throws {
    try WriteTransaction.check(keyspace, .dense)
    write(.put(value), Place(keyspace: keyspace, key: .id(id)))
  }

  /// Puts a value under a byte-string key. If this transaction has not read the key, the value
  /// replaces any value that another commit has put there meanwhile.
  ///
  /// - Parameter value: 0 to 4 GiB. It is kept in memory until the commit.
  /// - Parameter key: 0 to 65,535 bytes.
  /// - Parameter keyspace: A keyspace of byte strings.
  /// - Throws: `StoreError` with code `.invalidArgument`.
  public mutating func put(_ value: [UInt8], key: [UInt8], in keyspace: Keyspace) throws {
    try WriteTransaction.check(keyspace, .bytes)
    try WriteTransaction.check(keyLength: key.count)
    write(.put(value), Place(keyspace: keyspace, key: .bytes(key)))
  }

  /// Puts a value, which was written in pieces, under an id. It has the same effect as
  /// `put(_:id:in:)`. The value is read into memory only if the transaction reads it again.
  ///
  /// If the transaction has a conflict, or `body` throws, the value can be put again. The next run
  /// of `body`, another transaction or a commit may put it.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` if the keyspace has keys of another kind,
  ///   or if the value was written for another store. `Store.transaction` throws
  ///   `.invalidArgument` if another transaction has put the value, or if it is put under two keys.
  public mutating func put(_ blob: WrittenBlob, id: UInt64, in keyspace: Keyspace) throws {
    try WriteTransaction.check(keyspace, .dense)
    try write(blob, Place(keyspace: keyspace, key: .id(id)))
  }

  /// Puts a value, which was written in pieces, under a byte-string key of 0 to 65,535 bytes.
  ///
  /// - Throws: The errors of `put(_:id:in:)`.
  public mutating func put(_ blob: WrittenBlob, key: [UInt8], in keyspace: Keyspace) throws {
    try WriteTransaction.check(keyspace, .bytes)
    try WriteTransaction.check(keyLength: key.count)
    try write(blob, Place(keyspace: keyspace, key: .bytes(key)))
  }

  /// Removes an id. If the id is absent, nothing happens.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument`.
  public mutating func remove(id: UInt64, in keyspace: Keyspace) throws {
    try WriteTransaction.check(keyspace, .dense)
    write(.remove, Place(keyspace: keyspace, key: .id(id)))
  }

  /// Removes a byte-string key. If the key is absent, nothing happens.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument`.
  public mutating func remove(key: [UInt8], in keyspace: Keyspace) throws {
    try WriteTransaction.check(keyspace, .bytes)
    try WriteTransaction.check(keyLength: key.count)
    write(.remove, Place(keyspace: keyspace, key: .bytes(key)))
  }

  private mutating func note(_ place: Place) throws(StoreError) {
    guard versions[place] == nil else { return }
    versions.updateValue(try snapshot.version(place.key, in: place.keyspace), forKey: place)
  }

  private mutating func write(_ blob: WrittenBlob, _ place: Place) throws(StoreError) {
    try blob.check(isFor: snapshot.engine)
    write(.putWritten(blob), place)
  }

  private mutating func write(_ write: Write, _ place: Place) {
    if writes.updateValue(write, forKey: place) == nil { order.append(place) }
  }

  mutating func note(_ range: Precondition) { ranges.append(range) }
}

extension StoreTransaction.Write {
  /// Whether the key exists after the write.
  var leavesValue: Bool {
    if case .remove = self { false } else { true }
  }

  /// The key's value after the write.
  func value() throws -> [UInt8]? {
    switch self {
    case .put(let value): value
    case .putWritten(let blob): try blob.value()
    case .remove: nil
    }
  }
}

extension Key {
  /// The kind of keyspace with such keys.
  var kind: KeyspaceKind {
    switch self {
    case .id: .dense
    case .bytes: .bytes
    }
  }
}

// MARK: - The commit

extension StoreTransaction {
  /// Adds the writes and their preconditions to the commit's transaction.
  borrowing func fill(_ transaction: inout WriteTransaction) throws {
    for (place, version) in versions {
      transaction.require(.unchanged(place.keyspace, place.key, version))
    }
    for range in ranges { transaction.require(range) }
    for place in order {
      switch (place.key, writes[place]) {
      case (.id(let id), .put(let value)): try transaction.put(value, id: id, in: place.keyspace)
      case (.id(let id), .putWritten(let blob)): try transaction.put(blob, id: id, in: place.keyspace)
      case (.id(let id), _): try transaction.remove(id: id, in: place.keyspace)
      case (.bytes(let key), .put(let value)): try transaction.put(value, key: key, in: place.keyspace)
      case (.bytes(let key), .putWritten(let blob)): try transaction.put(blob, key: key, in: place.keyspace)
      case (.bytes(let key), _): try transaction.remove(key: key, in: place.keyspace)
      }
    }
  }
}
