// Registers undo groups with the undo manager of a window or document on Apple's systems.
// Foundation has no undo manager on other systems.

#if canImport(Darwin)
  public import Foundation

  /// Keeps the groups of a context's undo manager registered with an undo manager of Foundation.
  ///
  /// Each later group becomes an action of Foundation's manager, with the group's name. The menu
  /// items of that manager, and gestures of the system, then call `undo` and `redo` of the
  /// context's manager. Undo these groups only with Foundation's manager. After a direct call of
  /// `undo`, Foundation's manager keeps that group's action, which then undoes another group. An
  /// action keeps the name that its group had at its end. Groups that observers make while
  /// Foundation's manager undoes or redoes are not registered.
  @MainActor public final class FoundationUndoRegistration {
    private let manager: ContextUndoManager
    private let target: UndoManager
    private let onFailure: (PerdureError) -> Void
    private var observation: ContextObservation?
    private var lastNumber: UInt64
    private var isTakingBack = false

    /// Registers the later groups of a manager. Retain the registration as long as its actions are
    /// needed.
    ///
    /// - Parameters:
    ///   - manager: The manager of a context of the main actor.
    ///   - target: The manager of a window or a document.
    ///   - onFailure: Called with the error of an `undo` or a `redo` that was refused
    ///     (139003: its values have changed since).
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

    /// Called by Foundation's manager. Foundation's manager pushes actions registered during this
    /// call onto its opposite stack.
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
