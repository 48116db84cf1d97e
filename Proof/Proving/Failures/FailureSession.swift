import PerdureLog

/// One opening of the store in a `FailureRun`, with the operations that the programs of
/// `FailureWorkload` use.
final class FailureSession {
  /// One operation of a commit.
  struct Operation {
    let keyspace: Keyspace
    let key: Key
    let value: [UInt8]?

    var change: (key: CrashKey, value: [UInt8]?) {
      (CrashKey(keyspace: keyspace.name, key: key), value)
    }
  }

  let run: FailureRun
  let store: Store
  /// The number of this opening, from 0.
  let part: UInt64
  /// The name of the extractor of the indexes.
  let extractor: String
  private var writtenCount: UInt64

  init(_ run: FailureRun, _ store: Store, part: Int, extractor: String) {
    self.run = run
    self.store = store
    self.part = UInt64(part)
    self.extractor = extractor
    writtenCount = UInt64(part) << 32
  }

  // MARK: - Catalog

  func keyspace(_ name: String, _ kind: KeyspaceKind) throws -> Keyspace? {
    var made: Keyspace?
    try run.commit(store, [], .relaxed, defining: .keyspace(name, kind)) {
      made = try store.keyspace(name, kind)
      return store.snapshot().sequence
    }
    return made
  }

  func rows() throws -> Keyspace? { try keyspace("rows", .dense) }

  func names() throws -> Keyspace? { try keyspace("names", .bytes) }

  @discardableResult
  func define(_ definition: IndexDefinition) throws -> DerivedIndex? {
    var made: DerivedIndex?
    let definition = definition.made(by: extractor)
    try run.commit(store, [], .relaxed, defining: CrashDefinition(definition)) {
      made = try store.defineIndex(definition)
      return store.snapshot().sequence
    }
    return made
  }

  func removeIndex(_ index: DerivedIndex) throws {
    try run.commit(store, [], .relaxed, defining: .removedIndex(index.name)) {
      try store.removeIndex(index)
      return store.snapshot().sequence
    }
  }

  // MARK: - Values

  /// A value: eight bytes with the group, eight bytes with a number that no other value has, and
  /// `length` more bytes. There are three groups.
  func value(_ length: Int, group: UInt64 = 0) -> [UInt8] {
    writtenCount += 1
    var value = withUnsafeBytes(of: (group % 3).bigEndian) { Array($0) }
    value += withUnsafeBytes(of: writtenCount.bigEndian) { Array($0) }
    return value + [UInt8](repeating: UInt8(truncatingIfNeeded: writtenCount), count: length)
  }

  /// A value that resembles the other values of this function, so that they compress well together.
  func text(_ id: UInt64) -> [UInt8] {
    Array("{\"number\": \(id), \"kind\": \"small\", \"place\": \"somewhere else\", \"part\": \(part)}".utf8)
  }

  // MARK: - Commits

  @discardableResult
  func write(
    _ operations: [Operation], _ durability: Durability = .powerLoss, isRefused: Bool = false,
    requiring preconditions: [Precondition] = []
  ) throws -> Bool {
    try run.commit(store, operations.map(\.change), durability, isRefused: isRefused) {
      try store.write(durability: durability) { transaction in
        for precondition in preconditions { transaction.require(precondition) }
        for operation in operations { try transaction.apply(operation) }
      }.sequence
    }
  }

  func put(
    _ id: UInt64, _ length: Int, _ rows: Keyspace, _ durability: Durability = .powerLoss
  ) throws {
    try write([row(id, length, rows)], durability)
  }

  func remove(_ ids: UInt64..., in rows: Keyspace, _ durability: Durability = .powerLoss) throws {
    try write(ids.map { Operation(keyspace: rows, key: .id($0), value: nil) }, durability)
  }

  func row(_ id: UInt64, _ length: Int, _ rows: Keyspace) -> Operation {
    Operation(keyspace: rows, key: .id(id), value: value(length, group: id))
  }

  func named(_ name: String, _ length: Int, _ names: Keyspace) -> Operation {
    Operation(keyspace: names, key: .bytes(Array(name.utf8)), value: value(length))
  }

  func remove(_ name: String, _ names: Keyspace) -> Operation {
    Operation(keyspace: names, key: .bytes(Array(name.utf8)), value: nil)
  }

  /// Puts each row in a separate commit.
  func fill(_ ids: ClosedRange<UInt64>, _ length: Int, _ rows: Keyspace, _ durability: Durability) throws {
    for id in ids { try put(id, length, rows, durability) }
  }

  // MARK: - Values in pieces

  /// Writes a value in pieces, and then calls `put` to commit it.
  func stream(
    _ length: Int, _ id: UInt64, _ rows: Keyspace, _ put: (WrittenBlob) throws -> UInt64
  ) throws {
    var written: WrittenBlob?
    let pieces = [value(length / 2), value(length / 2)]
    try run.attempt(store) {
      let writer = try store.makeBlobWriter()
      for piece in pieces { try writer.append(piece) }
      written = try writer.finish()
    }
    guard let written else { return }
    let change = Operation(keyspace: rows, key: .id(id), value: pieces[0] + pieces[1]).change
    try run.commit(store, [change], .powerLoss) { try put(written) }
  }

  // MARK: - Upkeep

  func checkpoint() throws { try run.checkpoint(store) }

  func compact() throws { try run.compact(store) }

  func sync() throws { try run.attempt(store, promises: true) { try store.sync() } }

  func train(_ keyspace: Keyspace) throws {
    let number = try CrashCatalog(of: store).dictionaries.count + 1
    try run.commit(store, [], .relaxed, defining: .dictionary(number, of: keyspace.name)) {
      try store.trainDictionary(for: keyspace)
      return store.snapshot().sequence
    }
  }
}

extension WriteTransaction {
  fileprivate mutating func apply(_ operation: FailureSession.Operation) throws {
    try set(operation.value, of: operation.key, in: operation.keyspace)
  }
}
