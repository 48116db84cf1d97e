import PerdureFileIO
package import PerdureLog

/// Where a value stands: the name of its keyspace, and its key.
package struct CrashKey: Hashable, Sendable {
  package var keyspace: String
  package var key: Key

  package init(keyspace: String, key: Key) {
    self.keyspace = keyspace
    self.key = key
  }
}

/// What a store must hold after each commit.
///
/// Commits are noted as what they change, by sequence number, so that several writers may note
/// theirs in any order; the content after a commit is what all up to it add up to.
package final class CrashHistory: Sendable {
  package typealias Content = [CrashKey: [UInt8]]
  package typealias Change = [(key: CrashKey, value: [UInt8]?)]

  private let changes = Guarded<[UInt64: Change]>([:])

  package init() {}

  /// A commit with this number was made.
  package func note(_ sequence: UInt64, _ change: Change) { changes.withLock { $0[sequence] = change } }

  /// The content after every commit up to `last`. Commits that nobody noted changed the catalog only.
  package func contents(upTo last: UInt64) -> [Content] {
    let changes = changes.withLock { $0 }
    var contents: [Content] = [[:]]
    for sequence in 1..<(max(last, 1) + 1) {
      var content = contents[contents.count - 1]
      for (key, value) in changes[sequence] ?? [] { content[key] = value }
      contents.append(content)
    }
    return contents
  }
}

/// Holds a store against its history: it has the content after some prefix of the commits, with
/// every commit that was acknowledged as durable, and is well in itself.
package struct CrashOracle: Sendable {
  package let contents: [CrashHistory.Content]

  package init(contents: [CrashHistory.Content]) { self.contents = contents }

  /// - Parameter promised: The last commit that was acknowledged as durable.
  package func check(_ store: Store, promised: UInt64) throws {
    try check(store, StoreCrashCheck.Promise(upTo: promised))
  }

  func check(_ store: Store, _ promise: StoreCrashCheck.Promise) throws {
    let sequence = store.snapshot().sequence
    guard sequence >= promise.least else {
      throw Violation("commit \(promise.least) was promised, and the log ends at \(sequence)")
    }
    let last = min(sequence, promise.base ?? sequence)
    guard last < contents.count, sequence - last <= promise.addedMax else {
      throw Violation("there never was a commit \(sequence)")
    }
    guard try Self.content(of: store) == content(after: last, addedUpTo: sequence) else {
      throw Violation("the content after commit \(sequence) is not what it was")
    }
    // Whatever the power cut left: a checkpoint that a superblock names was durable before.
    if let rebuild = store.recoveryReport.indexRebuild { throw Violation("\(rebuild)") }
    let report = try store.verify()
    guard report.isClean else { throw Violation("\(report.findings)") }
  }

  /// The row of a commit that followed a recovery.
  static func addedID(_ sequence: UInt64) -> UInt64 { 5_000_000 + sequence }

  private func content(after last: UInt64, addedUpTo sequence: UInt64) -> CrashHistory.Content {
    var content = contents[Int(last)]
    for added in last..<sequence {
      content[CrashKey(keyspace: "rows", key: .id(Self.addedID(added + 1)))] = [1, 2, 3]
    }
    return content
  }

  /// Everything that is in a store.
  package static func content(of store: Store) throws -> CrashHistory.Content {
    var found: CrashHistory.Content = [:]
    let snapshot = store.snapshot()
    for keyspace in try store.keyspaces {
      switch keyspace.kind {
      case .dense:
        try snapshot.forEach(in: keyspace) { (id: UInt64, value: RawSpan) in
          found[CrashKey(keyspace: keyspace.name, key: .id(id))] = value.withUnsafeBytes { Array($0) }
          return true
        }
      case .bytes:
        try snapshot.forEach(in: keyspace) { (key: RawSpan, value: RawSpan) in
          let key = CrashKey(keyspace: keyspace.name, key: .bytes(key.withUnsafeBytes { Array($0) }))
          found[key] = value.withUnsafeBytes { Array($0) }
          return true
        }
      }
    }
    return found
  }
}

/// What a check has found.
package struct Violation: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
