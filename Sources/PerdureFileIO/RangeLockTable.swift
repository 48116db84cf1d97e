/// The locks on byte ranges of a file in memory, with their holders.
package final class RangeLockTable: Sendable {
  fileprivate struct State {
    var nextHolder: UInt64 = 1
    var held: [(holder: UInt64, range: Range<UInt64>)] = []
  }

  private let state = Guarded(State())

  package init() {}

  /// The locks of one open file object.
  package struct Holder: Sendable {
    private let table: RangeLockTable
    private let number: UInt64

    package init(_ table: RangeLockTable) {
      self.table = table
      number = table.state.withLock { state in
        state.nextHolder += 1
        return state.nextHolder - 1
      }
    }

    /// Acquires the lock. If another holder has a lock on some of the bytes, acquires nothing and
    /// returns false.
    package func take(_ range: Range<UInt64>) -> Bool {
      table.state.withLock { state in
        guard !state.isTaken(range, byOtherThan: number) else { return false }
        state.held.append((number, range))
        return true
      }
    }

    package func isTakenByOther(_ range: Range<UInt64>) -> Bool {
      table.state.withLock { $0.isTaken(range, byOtherThan: number) }
    }

    /// Releases this holder's locks on the bytes.
    package func release(_ range: Range<UInt64>) {
      table.state.withLock { state in
        let mine = state.held.filter { $0.holder == number && $0.range.overlaps(range) }
        state.held.removeAll { $0.holder == number && $0.range.overlaps(range) }
        for (_, old) in mine {
          if old.lowerBound < range.lowerBound {
            state.held.append((number, old.lowerBound..<range.lowerBound))
          }
          if range.upperBound < old.upperBound {
            state.held.append((number, range.upperBound..<old.upperBound))
          }
        }
      }
    }

    package func releaseAll() {
      table.state.withLock { state in state.held.removeAll { $0.holder == number } }
    }
  }
}

extension RangeLockTable.State {
  fileprivate func isTaken(_ range: Range<UInt64>, byOtherThan holder: UInt64) -> Bool {
    held.contains { $0.holder != holder && $0.range.overlaps(range) }
  }
}
