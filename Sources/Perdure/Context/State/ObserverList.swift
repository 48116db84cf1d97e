/// The registration of an observer with a context or an undo manager. It ends when this observation
/// is cancelled or freed.
public final class ContextObservation {
  private weak var list: (any ObserverRemoving)?
  private let number: Int

  init(_ list: any ObserverRemoving, _ number: Int) {
    self.list = list
    self.number = number
  }

  deinit { cancel() }

  /// Ends the observation.
  public func cancel() { list?.remove(number) }
}

@available(*, unavailable)
extension ContextObservation: Sendable {}

/// A list from which observations remove their observers.
protocol ObserverRemoving: AnyObject {
  func remove(_ number: Int)
}

/// The observers that are called with values of type `News`. A new view context shares the list of
/// the previous one.
final class ObserverList<News>: ObserverRemoving {
  private var closures: [Int: (News) -> Void] = [:]
  private var lastNumber = 0

  var isEmpty: Bool { closures.isEmpty }

  func add(_ observer: @escaping (News) -> Void) -> ContextObservation {
    lastNumber += 1
    closures[lastNumber] = observer
    return ContextObservation(self, lastNumber)
  }

  func remove(_ number: Int) {
    // Frees the closure after the access to `closures` has ended. The closure may own another
    // observation, whose deinitializer also changes `closures`.
    let removed = closures.removeValue(forKey: number)
    withExtendedLifetime(removed) {}
  }

  /// Calls the observers in the order of their registration, except those that another observer
  /// removes meanwhile.
  func call(_ news: News) {
    for number in closures.keys.sorted() { closures[number]?(news) }
  }
}
