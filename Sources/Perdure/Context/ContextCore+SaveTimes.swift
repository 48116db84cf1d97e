// Attributes with the derivation `now()`: a save sets them to its own time.
//
//   ST1. Inserted objects get the time, and those with changed columns, places or links. A link
//        changes both of its ends. So two contexts that add links to one object both write it.
//   ST2. A child context sets none, because its parent is not durable. The save of the parent does.
//   ST3. All objects of a save have the same time.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension ContextCore {
  /// Sets the attributes, after the hooks of the save and before validation.
  func setSaveTimes() {
    guard !isChild, tracker.containsEntity(where: { !$0.saveTimeSlots.isEmpty }) else { return }
    let now = Value.date(Date())
    for overlay in tracker.ordered.joined() {
      let slots = overlay.shape.saveTimeSlots
      guard !slots.isEmpty, !overlay.isDeleted, overlay.isToBeWritten, !hasVanished(overlay.reference)
      else { continue }
      for slot in slots { setAttribute(overlay, slot, now) }
    }
  }

  /// Changes a column. Needs no instance if other columns have changed.
  private func setAttribute(_ overlay: ObjectOverlay, _ slot: Int, _ value: Value) {
    if overlay.changesRow { return overlay.setValue(value, slot) }
    setAttribute(of: instance(of: overlay.reference), slot, value)
  }
}
