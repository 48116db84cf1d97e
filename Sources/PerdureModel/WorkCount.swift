internal import Synchronization

/// Counts steps whose number must not grow faster than a model, for tests.
package final class WorkCount: Sendable {
  private let count = Atomic(0)

  package init() {}

  /// Counts the lists of all entities of a model that its descriptions make. Each costs O(e) for e
  /// entities.
  @TaskLocal package static var entityLists: WorkCount?

  package var value: Int { count.load(ordering: .relaxed) }

  func add() { count.add(1, ordering: .relaxed) }
}
