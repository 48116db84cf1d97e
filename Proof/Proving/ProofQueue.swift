import PerdureFileIO

/// Distributes the numbers 0, 1, 2 and so on to several tasks. Each number is used once, in the
/// order of the requests.
final class ProofQueue: Sendable {
  /// The number of tasks that share a queue. It is slightly higher than the number of processors of
  /// a typical test machine, because tasks sometimes wait.
  static let workerCount = 4

  private let count: Int
  private let taken = Guarded(0)

  init(_ count: Int) { self.count = count }

  /// The next number; nil after the last one.
  func next() -> Int? {
    taken.withLock { taken in
      guard taken < count else { return nil }
      taken += 1
      return taken - 1
    }
  }

  /// Closes the queue: later calls of `next` return nil.
  func end() { taken.withLock { $0 = count } }
}
