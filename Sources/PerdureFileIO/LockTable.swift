import Synchronization

/// The locks of a file system in memory, and their holders.
package struct LockTable: Sendable {
  private struct Holder {
    let number: UInt64
    let kind: LockKind
    let text: String
  }

  private var holders: [NameTree.NodeID: [Holder]] = [:]
  private var nextNumber: UInt64 = 1

  package init() {}

  /// Acquires the lock of `node`.
  ///
  /// - Returns: A number that identifies the lock when it is released.
  /// - Throws: `.locked` if the lock has a holder, unless both locks are shared.
  package mutating func take(_ node: NameTree.NodeID, _ kind: LockKind, holder: String, path: String)
    throws(FileIOError) -> UInt64
  {
    let others = holders[node, default: []]
    if let other = others.last, kind == .exclusive || other.kind == .exclusive {
      throw FileIOError(
        .locked, operation: .lock, path: path, detail: LockHolder.clause(for: other.text))
    }
    let number = nextNumber
    nextNumber += 1
    holders[node] = others + [Holder(number: number, kind: kind, text: holder)]
    return number
  }

  package mutating func release(_ node: NameTree.NodeID, number: UInt64) {
    let rest = holders[node, default: []].filter { $0.number != number }
    holders[node] = rest.isEmpty ? nil : rest
  }
}

/// A lock of a file system in memory.
package final class MemoryLock: FileLock {
  private let isReleased = Atomic<Bool>(false)
  private let hasName: @Sendable () throws(FileIOError) -> Bool
  private let mark = ProcessMark.currentIfAny()
  private let onRelease: @Sendable () -> Void

  /// - Parameters:
  ///   - isNamed: Implements `isNamed()`.
  ///   - onRelease: Called at the first release, but not in a forked child.
  package init(
    isNamed: @escaping @Sendable () throws(FileIOError) -> Bool, onRelease: @escaping @Sendable () -> Void
  ) {
    hasName = isNamed
    self.onRelease = onRelease
  }

  deinit {
    release()
  }

  package func release() {
    // A forked child must not wait for the mutex of the lock table.
    guard mark?.isOwn ?? true else { return }
    if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { onRelease() }
  }

  package func isNamed() throws(FileIOError) -> Bool { try hasName() }
}
