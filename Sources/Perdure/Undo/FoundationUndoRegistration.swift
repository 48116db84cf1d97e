// Undo groups in the undo manager of a window or document, on Apple's systems. Foundation has no
// undo manager elsewhere.

#if canImport(Darwin)
  public import Foundation

  /// Keeps the groups of a context's undo manager registered with an undo manager of Foundation.
  ///
  /// Each later group becomes an action of the other manager, with its name. Its menu items, and
  /// gestures of the system, then call `undo` and `redo` here. Take back the groups by that manager
  /// alone: a direct call of `undo` leaves an action there that takes back another group.
  @MainActor public final class FoundationUndoRegistration {
    private let manager: ContextUndoManager
    private let target: UndoManager
    private let onFailure: (PerdureError) -> Void
    private var observation: ContextObservation?
    private var lastNumber: UInt64
    private var isTakingBack = false

    /// Registers the later groups of a manager. Keep the registration as long as they are wanted.
    ///
    /// - Parameters:
    ///   - manager: The manager of a context of the main actor.
    ///   - target: The manager of a window or a document.
    ///   - onFailure: Called with the error of an `undo` or a `redo` that was refused
    ///     (139003: others have changed its values).
    public init(
      of manager: ContextUndoManager, with target: UndoManager,
      onFailure: @escaping (PerdureError) -> Void = { _ in }
    ) {
      (self.manager, self.target, self.onFailure) = (manager, target, onFailure)
      lastNumber = manager.lastGroupNumber
      observation = manager.observe { [weak self] _ in
        MainActor.assumeIsolated { self?.noteGroups() }
      }
    }

    /// Ends the registration, and removes its actions.
    public func cancel() {
      observation?.cancel()
      target.removeAllActions(withTarget: self)
    }

    private func noteGroups() {
      guard !isTakingBack else { return }
      let number = manager.lastGroupNumber
      guard number > lastNumber else { return }
      lastNumber = number
      register(.undo, manager.undoActionName)
    }

    private func register(_ direction: UndoHistory.Direction, _ name: String) {
      target.registerUndo(withTarget: self) { registration in
        MainActor.assumeIsolated { registration.takeBack(direction, name) }
      }
      target.setActionName(name)
    }

    /// Called by the other manager, which puts actions that are registered meanwhile on its other
    /// stack.
    private func takeBack(_ direction: UndoHistory.Direction, _ name: String) {
      isTakingBack = true
      defer {
        isTakingBack = false
        lastNumber = manager.lastGroupNumber
      }
      do throws(PerdureError) {
        if direction == .undo { try manager.undo() } else { try manager.redo() }
        register(direction == .undo ? .redo : .undo, name)
      } catch {
        onFailure(error)
      }
    }
  }
#endif
