import PerdureFileIO

/// The numbers from 0 on, each for whichever of several tasks asks next.
final class ProofQueue: Sendable {
  /// So many tasks share one: a few more than most machines that prove have processors, as they
  /// wait now and then.
  static let workerCount = 4

  private let count: Int
  private let taken = Guarded(0)

  init(_ count: Int) { self.count = count }

  /// Nil when there are no more.
  func next() -> Int? {
    taken.withLock { taken in
      guard taken < count else { return nil }
      taken += 1
      return taken - 1
    }
  }

  /// The queue is closed.
  func end() { taken.withLock { $0 = count } }
}
