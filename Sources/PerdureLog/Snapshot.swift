import PerdureFileIO
import PerdureFormat
import Synchronization

/// The store as it was at one commit. It never changes, and may be used and released on any thread.
///
/// Bytes that are passed to closures are borrowed: they are valid until the closure returns.
///
/// A keyspace or index of another store (see `Keyspace`) is refused. Reads throw `StoreError` with
/// code `.invalidArgument`, and calls that do not throw find no key. A keyspace or index that was
/// defined after the snapshot is empty in it. A read with a key of the other kind stops the
/// program. In a forked child, reads throw `.forked`. Reads of a snapshot that was taken after its
/// store was closed throw `.closed` if another writer may have changed the index file since.
public final class Snapshot: Sendable {
  let engine: Engine
  // `nonisolated(unsafe)` is correct here: the pin changes only while no other reference to the
  // snapshot exists (Snapshot+Reuse.swift, SR1).
  private(set) nonisolated(unsafe) var pin: Pin
  // `nonisolated(unsafe)` is correct here for the same reason as for `pin`.
  private(set) nonisolated(unsafe) var root: UnsafeMutablePointer<Root>
  /// Whether `withSnapshot` owns the snapshot. SR2
  // `nonisolated(unsafe)` is correct here for the same reason as for `pin`.
  nonisolated(unsafe) var isLent = false
  /// The first read of a value that is not in its record creates this object. Most snapshots never
  /// need it.
  private let openedBlobs = AtomicLazyReference<OpenedBlobs>()
  /// Whether `openedBlobs` may exist. Loading this is much faster than loading the reference.
  private let mayHaveOpenedBlobs = Atomic<Bool>(false)
  /// Whether `root` belongs to the snapshot itself, because the engine's trees may no longer be
  /// read.
  let isOutdated: Bool

  init(_ engine: Engine) {
    let isOwn = engine.mark.isOwn
    let (pin, newest) = isOwn ? engine.pinRoot() : engine.rootAtFork()
    self.pin = pin
    isOutdated = engine.place.isClosed && isOwn && !engine.protect(newest)
    root = isOutdated ? Root.withoutNodes(newest) : newest
    // This assignment is last, so that the passed reference itself is kept, and is retained only
    // once.
    self.engine = engine
  }

  /// A snapshot of a root that is pinned already. The store's writer has not left.
  init(_ engine: Engine, _ pin: Pin, _ root: UnsafeMutablePointer<Root>) {
    (self.pin, self.root, isOutdated) = (pin, root, false)
    self.engine = engine
  }

  deinit {
    if isOutdated { Root.free(root) }
    if root != Root.none { engine.release(pin) }
  }

  /// Replaces the root. The new root is `Root.none` for a snapshot whose pin was released.
  ///
  /// - Precondition: No other reference to the snapshot exists. SR1
  @inline(__always)
  func show(_ root: UnsafeMutablePointer<Root>, _ pin: Pin) { (self.root, self.pin) = (root, pin) }

  /// The sequence number of the last commit that the snapshot contains; 0 for an empty store.
  public var sequence: UInt64 { root.pointee.sequence }

  /// Checks FN3 for results that were read from a tree.
  @inline(__always)
  func check(_ file: FileNodes) throws(StoreError) { try engine.check(file) }

  /// The values that are not in their records, kept while the snapshot exists.
  var openedValues: OpenedBlobs {
    if let opened = openedBlobs.load() { return opened }
    mayHaveOpenedBlobs.store(true, ordering: .releasing)
    return openedBlobs.storeIfNil(OpenedBlobs())
  }

  /// Whether a value was read that had to be kept outside the records.
  var hasOpenedValues: Bool { mayHaveOpenedBlobs.load(ordering: .acquiring) }

  var reader: RecordReader {
    RecordReader(root: root, checks: engine.recordChecks)
  }
}

// MARK: - One key

extension Snapshot {
  /// A copy of the value of an id; nil if the id is absent.
  ///
  /// - Precondition: The keyspace has ids as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`.
  public func value(id: UInt64, in keyspace: Keyspace) throws -> [UInt8]? {
    try withBytes(id: id, in: keyspace) { Array($0) }
  }

  /// A copy of the value of a byte-string key; nil if the key is absent.
  ///
  /// - Precondition: The keyspace has byte strings as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`.
  public func value(key: [UInt8], in keyspace: Keyspace) throws -> [UInt8]? {
    try withBytes(key: key, in: keyspace) { Array($0) }
  }

  /// Calls `body` with the value of an id, in place. Returns nil if the id is absent.
  ///
  /// - Precondition: The keyspace has ids as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; the errors of `body`.
  @inlinable
  public func withValue<R>(id: UInt64, in keyspace: Keyspace, _ body: (RawSpan) throws -> R) throws -> R? {
    // This function is inlined, so that R is a concrete type in the caller. Without inlining, each
    // call looks up the type `Optional<R>`.
    var result: R?
    try visitValue(id: id, in: keyspace) { result = try body($0) }
    return result
  }

  /// Calls `body` with the value of a byte-string key, in place. Returns nil if the key is absent.
  ///
  /// - Precondition: The keyspace has byte strings as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; the errors of `body`.
  @inlinable
  public func withValue<R>(key: [UInt8], in keyspace: Keyspace, _ body: (RawSpan) throws -> R) throws -> R? {
    var result: R?
    try visitValue(key: key, in: keyspace) { result = try body($0) }
    return result
  }

  /// Calls `body` with the value of an id, if the id exists.
  @usableFromInline
  func visitValue(id: UInt64, in keyspace: Keyspace, _ body: (RawSpan) throws -> Void) throws {
    _ = try withBytes(id: id, in: keyspace) { try body($0.bytes) }
  }

  /// Calls `body` with the value of a byte-string key, if the key exists.
  @usableFromInline
  func visitValue(key: [UInt8], in keyspace: Keyspace, _ body: (RawSpan) throws -> Void) throws {
    _ = try withBytes(key: key, in: keyspace) { try body($0.bytes) }
  }

  /// Identifies the current record of a key; nil if the key is absent. It is used in
  /// `Precondition.unchanged`.
  ///
  /// - Precondition: The key is of the keyspace's kind.
  /// - Throws: `StoreError` with code `.corruption` if a part of the index that this reads is
  ///   damaged.
  public func version(_ key: Key, in keyspace: Keyspace) throws(StoreError) -> RecordVersion? {
    keyspace.requireKeys(key.kind)
    switch key {
    case .id(let id): return try word(id: id, in: keyspace).map(RecordVersion.init(rawValue:))
    case .bytes(let bytes):
      let tree = try tree(of: keyspace)
      let word = bytes.withUnsafeBytes { tree.get($0) }
      try check(tree.file)
      return word.map(RecordVersion.init(rawValue:))
    }
  }

  /// Whether the key exists.
  ///
  /// - Precondition: The key is of the keyspace's kind.
  /// - Throws: `StoreError` with code `.corruption` if a part of the index that this reads is
  ///   damaged.
  public func contains(_ key: Key, in keyspace: Keyspace) throws(StoreError) -> Bool {
    try version(key, in: keyspace) != nil
  }

  /// The address word of an id; nil if the id is absent.
  @inline(__always)
  func word(id: UInt64, in keyspace: Keyspace) throws(StoreError) -> UInt64? {
    let table = try trees(of: keyspace).dense
    let word = table.get(id)
    try check(table.file)
    return word
  }

  /// The address word of a byte-string key; nil if the key is absent.
  @inline(__always)
  func word(key: UnsafeRawBufferPointer, in keyspace: Keyspace) throws(StoreError) -> UInt64? {
    let tree = try tree(of: keyspace)
    let word = tree.get(key)
    try check(tree.file)
    return word
  }

  @inline(__always)
  func withBytes<R>(
    id: UInt64, in keyspace: Keyspace, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    try withRecord(id: id, in: keyspace) { bytes, _ in try body(bytes) }
  }

  /// Calls `body` with the value of an id, in place, and with its version.
  @inline(__always)
  func withRecord<R>(
    id: UInt64, in keyspace: Keyspace, _ body: (UnsafeRawBufferPointer, RecordVersion) throws -> R
  ) throws -> R? {
    keyspace.requireKeys(.dense)
    guard let word = try word(id: id, in: keyspace) else { return nil }
    var hold = GroupHold()
    defer { hold.release() }
    let version = RecordVersion(rawValue: word)
    if let value = try reader.valueInPlace(at: word, keyspace: keyspace.id, id: id, &hold) {
      return try body(value, version)
    }
    let record = try reader.record(at: word, keyspace: keyspace.id, id: id, &hold)
    return try withContent(of: record) { try body($0, version) }
  }

  @inline(__always)
  func withBytes<R>(
    key: [UInt8], in keyspace: Keyspace, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    keyspace.requireKeys(.bytes)
    return try key.withUnsafeBytes { key in
      guard let word = try word(key: key, in: keyspace) else { return nil }
      var hold = GroupHold()
      defer { hold.release() }
      if let value = try reader.valueInPlace(at: word, keyspace: keyspace.id, key: key, &hold) {
        return try body(value)
      }
      return try withContent(of: reader.record(at: word, keyspace: keyspace.id, key: key, &hold), body)
    }
  }

  /// Calls `body` with the value of a record, in place or read by `RecordContents`.
  @inline(__always)
  func withContent<R>(of record: Record, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
    if record.header.kind.holdsPlainValue { return try body(record.value) }
    return try engine.contents.withValueElsewhere(of: record, openedIn: openedValues, body)
  }

  /// The value of a record. Its bytes are valid while the snapshot exists.
  ///
  /// - Parameter hold: The hold with which the record was read.
  @inline(__always)
  func keptContent(
    of record: Record, at word: UInt64, _ hold: GroupHold
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    if record.header.kind.holdsPlainValue {
      return hold.covers(record.value) ? openedValues.copiedValue(of: record, at: word) : record.value
    }
    return try engine.contents.keptValueElsewhere(of: record, at: word, in: openedValues)
  }
}

// MARK: - Many keys

extension Snapshot {
  /// The number of keys of the keyspace.
  ///
  /// - Complexity: O(1).
  public func count(in keyspace: Keyspace) -> Int { knownTrees(of: keyspace).count(keyspace.kind) }

  /// Calls `body` for each id with the id's index in `ids` and its value, or nil if the id is
  /// absent. The calls are in the order in which the log stores the records, not in the order of
  /// `ids`.
  ///
  /// - Precondition: The keyspace has ids as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; the errors of `body`.
  public func withValues(
    ids: [UInt64], in keyspace: Keyspace, _ body: (_ position: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try withBytes(ids: ids, in: keyspace) { position, bytes in try body(position, bytes?.bytes) }
  }

  package func withBytes(
    ids: [UInt64], in keyspace: Keyspace, _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
  ) throws {
    try visit(ids: ids, in: keyspace) { position, record, _, _ in
      guard let record else { return try body(position, nil) }
      try withContent(of: record) { try body(position, $0) }
    }
  }

  /// Visits the values of many ids and their versions. The bytes are valid while the snapshot
  /// exists.
  package func withRecords(
    ids: [UInt64], in keyspace: Keyspace,
    _ body: (Int, (bytes: UnsafeRawBufferPointer, version: RecordVersion)?) throws -> Void
  ) throws {
    try visit(ids: ids, in: keyspace) { position, record, word, hold in
      guard let record else { return try body(position, nil) }
      try body(position, (keptContent(of: record, at: word, hold), RecordVersion(rawValue: word)))
    }
  }

  /// Visits the records of many ids in the order of the log. Each record is passed together with
  /// the hold with which it was read.
  @inline(__always)
  private func visit(
    ids: [UInt64], in keyspace: Keyspace, _ body: (Int, Record?, UInt64, GroupHold) throws -> Void
  ) throws {
    keyspace.requireKeys(.dense)
    var hold = GroupHold()
    defer { hold.release() }
    let table = try trees(of: keyspace).dense
    try withUnsafeTemporaryAllocation(of: UInt64.self, capacity: ids.count) { words in
      ids.withUnsafeBufferPointer { table.getMany($0, into: words) }
      try check(table.file)
      let order = BatchOrder.byAddress(words)
      for (step, position) in order.enumerated() {
        BatchOrder.prefetch(step + BatchOrder.distance, of: order, words, root)
        let word = words[position]
        guard word != 0 else {
          try body(position, nil, 0, hold)
          continue
        }
        let record = try reader.record(at: word, keyspace: keyspace.id, id: ids[position], &hold)
        try body(position, record, word, hold)
      }
    }
  }
}
