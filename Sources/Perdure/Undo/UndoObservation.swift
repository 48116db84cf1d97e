/// Keeps an observer of an undo manager, until it is cancelled or freed.
public final class UndoObservation {
  private weak var observers: UndoObservers?
  private let number: Int

  init(_ observers: UndoObservers, _ number: Int) {
    self.observers = observers
    self.number = number
  }

  deinit { cancel() }

  /// Ends the observation.
  public func cancel() { observers?.remove(number) }
}

@available(*, unavailable)
extension UndoObservation: Sendable {}

/// The observers of an undo manager.
final class UndoObservers {
  private var closures: [Int: (ContextUndoManager) -> Void] = [:]
  private var lastNumber = 0

  func add(_ observer: @escaping (ContextUndoManager) -> Void) -> UndoObservation {
    lastNumber += 1
    closures[lastNumber] = observer
    return UndoObservation(self, lastNumber)
  }

  func remove(_ number: Int) {
    // Frees the closure after the access ends: it may own the observation of another closure.
    let removed = closures.removeValue(forKey: number)
    withExtendedLifetime(removed) {}
  }

  /// Calls the observers in the order of their registration, except those that another observer
  /// removes meanwhile.
  func tell(_ manager: ContextUndoManager) {
    for number in closures.keys.sorted() { closures[number]?(manager) }
  }
}
