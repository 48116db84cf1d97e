// Copies of unsaved changes, for operations that may be reverted.
//
// An operation that can fail after some of its edits copies the changes of an object before it
// first modifies them. So it does not copy the unsaved changes of other objects.

internal import PerdurePredicates

/// For each object whose unsaved changes an operation has modified: these changes at the beginning
/// of the operation.
final class OverlayCopies {
  /// The changes of an object.
  final class Original {
    let overlay: ObjectOverlay
    let content: OverlayContent
    let transients: TransientsCopy

    init(_ overlay: ObjectOverlay) {
      (self.overlay, content, transients) = (overlay, overlay.content, TransientsCopy(overlay))
    }
  }

  private let memory: UnsafeMutablePointer<ObjectMemory>
  /// Whether an overlay has the unsaved changes of its object now.
  private let isCurrent: (ObjectOverlay) -> Bool
  /// The copies of the operation that contains this one.
  private let outer: Unmanaged<OverlayCopies>?
  /// The original changes of each object whose changes were modified. An object that had no changes
  /// has nil.
  private var originals: [ObjectReference: Original?] = [:]

  /// Begins an operation of a context. Call `end` when it is over.
  init(_ memory: UnsafeMutablePointer<ObjectMemory>, isCurrent: @escaping (ObjectOverlay) -> Bool) {
    self.memory = memory
    self.isCurrent = isCurrent
    outer = memory.pointee.copies
    memory.pointee.copies = .passUnretained(self)
  }

  /// Ends the copying. Inner operations must have ended.
  func end() { memory.pointee.copies = outer }

  /// The objects whose changes were modified, with the original changes, in order of reference.
  var changed: [(reference: ObjectReference, original: Original?)] {
    originals.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
  }

  /// Copies the changes of an object, before they are modified or removed.
  func willChange(_ overlay: ObjectOverlay) {
    outer?._withUnsafeGuaranteedRef { $0.willChange(overlay) }
    guard originals[overlay.reference] == nil, isCurrent(overlay) else { return }
    originals.updateValue(Original(overlay), forKey: overlay.reference)
  }

  /// Notes that an object without changes is about to get its first changes.
  func willInsert(_ reference: ObjectReference) {
    outer?._withUnsafeGuaranteedRef { $0.willInsert(reference) }
    if originals[reference] == nil { originals.updateValue(nil, forKey: reference) }
  }
}

/// The transient values of an object, now and before its changes. `TransientState.drop` defers the
/// release of all values until the end of the operation (TV3 in TransientValues.swift).
struct TransientsCopy {
  let isNew: Bool
  private let held: TransientValues?
  private let before: TransientValues?
  private let atEvent: TransientValues?
  private let values: [Int: TransientValues.Held]
  private let (setBefore, setInEvent): (Set<Int>, Set<Int>)

  init(_ overlay: ObjectOverlay) {
    isNew = overlay.isNew
    held = overlay.object?.header.pointee.transients?.takeUnretainedValue()
    (before, atEvent) = (overlay.transientsBefore, overlay.transientsAtEvent)
    values = held?.bySlot ?? [:]
    (setBefore, setInEvent) = (before?.setSince ?? [], atEvent?.setSince ?? [])
  }

  /// Restores the values.
  ///
  /// - Parameter other: The overlay that the object has had since.
  func restore(_ overlay: ObjectOverlay, insteadOf other: ObjectOverlay?, in transientState: TransientState) {
    transientState.dropTransientsBefore(overlay)
    if let other { transientState.dropTransientsBefore(other) }
    before?.setSince = setBefore
    atEvent?.setSince = setInEvent
    (overlay.transientsBefore, overlay.transientsAtEvent) = (before, atEvent)
    guard let object = overlay.object else { return }
    if object.header.pointee.transients?.takeUnretainedValue() !== held {
      object.dropTransients()
      if let held { object.header.pointee.transients = .passRetained(held) }
    }
    guard let held else { return }
    let since = TransientValues(held.bySlot)
    held.bySlot = values
    transientState.drop(since)
  }

  /// Releases the copied values.
  func forget(in transientState: TransientState) {
    if !values.isEmpty { transientState.drop(TransientValues(values)) }
  }
}
