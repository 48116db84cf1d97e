package import PerdureLog

/// Compares a store with its history. The store must have the state after a prefix of the commits.
/// The prefix must contain every commit that was acknowledged as durable. The store must also pass
/// its own verification.
package struct CrashOracle: Sendable {
  package let states: [CrashState]

  package init(states: [CrashState]) { self.states = states }

  /// - Parameter promised: The last commit that was acknowledged as durable.
  package func check(_ store: Store, promised: UInt64) throws {
    try check(store, StoreCrashCheck.Promise(upTo: promised))
  }

  /// - Returns: The content of the store.
  @discardableResult
  func check(_ store: Store, _ promise: StoreCrashCheck.Promise) throws -> CrashHistory.Content {
    let sequence = store.snapshot().sequence
    try promise.check(sequence)
    let last = min(sequence, promise.base ?? sequence)
    guard last < states.count, sequence - last <= promise.addedMax else {
      throw Violation("no program made a commit \(sequence)")
    }
    let state = state(after: last, addedUpTo: sequence)
    try state.check(store, "after commit \(sequence)")
    // No power cut may cause a rebuild: a checkpoint is durable before a superblock names it.
    if let rebuild = store.recoveryReport.indexRebuild { throw Violation("\(rebuild)") }
    let report = try store.verify()
    guard report.isClean else { throw Violation("\(report.findings)") }
    return state.content
  }

  /// The id of the row of a commit that followed a recovery.
  static func addedID(_ sequence: UInt64) -> UInt64 { 5_000_000 + sequence }

  private func state(after last: UInt64, addedUpTo sequence: UInt64) -> CrashState {
    var state = states[Int(last)]
    for added in last..<sequence {
      state.content[CrashKey(keyspace: "rows", key: .id(Self.addedID(added + 1)))] = [1, 2, 3]
    }
    return state
  }

  /// Reads all values of a store.
  package static func content(of store: Store) throws -> CrashHistory.Content {
    var found: CrashHistory.Content = [:]
    let snapshot = store.snapshot()
    for keyspace in try store.keyspaces { try visit(keyspace, of: snapshot) { found[$0] = $1 } }
    return found
  }

  /// Visits every value of a keyspace, in the order of the keys.
  static func visit(
    _ keyspace: Keyspace, of snapshot: Snapshot, _ body: (CrashKey, [UInt8]) throws -> Void
  ) throws {
    switch keyspace.kind {
    case .dense:
      try snapshot.forEach(in: keyspace) { (id: UInt64, value: RawSpan) in
        let key = CrashKey(keyspace: keyspace.name, key: .id(id))
        try body(key, value.withUnsafeBytes { Array($0) })
        return true
      }
    case .bytes:
      try snapshot.forEach(in: keyspace) { (key: RawSpan, value: RawSpan) in
        let key = CrashKey(keyspace: keyspace.name, key: .bytes(key.withUnsafeBytes { Array($0) }))
        try body(key, value.withUnsafeBytes { Array($0) })
        return true
      }
    }
  }
}
