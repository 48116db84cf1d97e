// Conflicts about uniqueness constraints: which of two objects stays.
//
// The one that has a row stays, and keeps its identity and everything that leads to it; of two new ones the one that was
// inserted first. The other is merged into it (`MergeStep.upsert`) or withdrawn. Two objects that have rows are never
// merged.

internal import PerdurePredicates

extension MergeRound {
  mutating func judge(_ duplicates: [StoreConflict.DuplicateKey]) {
    var survivors: [ObjectReference: Set<ObjectReference>] = [:]
    for duplicate in duplicates {
      if let pair = pair(duplicate) { survivors[pair.new, default: []].insert(pair.other) }
    }
    for duplicate in duplicates {
      guard let pair = pair(duplicate) else {
        judgeSaved(duplicate)
        continue
      }
      if isSettled(pair.new) { continue }
      guard let overlay = context.tracker[pair.new] else { continue }
      switch general(overlay) {
      case .error: unresolved.duplicates.append(duplicate)
      case .rollback: add(.withdraw(pair.new))
      case .storeTrump, .objectTrump, .overwrite:
        // Which of several it should be merged into nobody has said, nor what of it fits another entity.
        if survivors[pair.new]?.count == 1, pair.other.entityNumber == pair.new.entityNumber {
          add(.upsert(pair.new, into: pair.other, duplicate))
        } else {
          unresolved.duplicates.append(duplicate)
        }
      }
    }
  }

  /// The new one of two objects, and the other; nil where both have rows.
  private func pair(
    _ duplicate: StoreConflict.DuplicateKey
  ) -> (new: ObjectReference, other: ObjectReference)? {
    let (first, second) = (duplicate.existing, duplicate.rejected)
    switch (isNew(first), isNew(second)) {
    case (false, false): return nil
    case (true, false): return (first, second)
    case (false, true): return (second, first)
    case (true, true): return first.rawValue < second.rawValue ? (second, first) : (first, second)
    }
  }

  private func isNew(_ reference: ObjectReference) -> Bool {
    context.tracker[reference].map { $0.isNew && !$0.isInsertedAgain } ?? false
  }

  /// Both have rows, and one was changed here to what the other has.
  private mutating func judgeSaved(_ duplicate: StoreConflict.DuplicateKey) {
    let overlays = [duplicate.rejected, duplicate.existing].compactMap { context.tracker[$0] }
    let changed = overlays.map { ($0, slots(of: duplicate, $0)) }.first { !$0.1.isEmpty && !$0.0.isNew }
    guard let (overlay, slots) = changed else { return unresolved.duplicates.append(duplicate) }
    if isSettled(overlay.reference) { return }
    switch general(overlay) {
    case .error, .objectTrump, .overwrite: unresolved.duplicates.append(duplicate)
    case .storeTrump:
      add(.merge(overlay, Dictionary(uniqueKeysWithValues: slots.map { ($0, Optional<Value>.none) })))
    case .rollback: add(.asStored(overlay.reference))
    }
  }

  /// The changed columns of a constraint.
  private func slots(of duplicate: StoreConflict.DuplicateKey, _ overlay: ObjectOverlay) -> [Int] {
    (context.graph.store.definition(duplicate.index).components ?? []).compactMap { component in
      guard let slot = overlay.shape.storage.slot(ofProperty: component.property), overlay.value(slot) != nil
      else { return nil }
      return slot
    }
  }
}
