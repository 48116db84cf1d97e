// Conflicts about uniqueness constraints: which of two objects stays.
//
// The one that has a row stays, and keeps its identity and everything that leads to it; of two new ones the one that was
// inserted first. The other is merged into it (`MergeStep.upsert`) or withdrawn. Two objects that have rows are never
// merged.

internal import PerdurePredicates

extension MergeRound {
  mutating func judge(_ duplicates: [StoreConflict.DuplicateKey]) {
    let survivors = survivors(duplicates)
    for duplicate in duplicates {
      let pair = [duplicate.existing, duplicate.rejected]
      if pair.allSatisfy({ !isNew($0) }) {
        judgeSaved(duplicate)
      } else {
        for new in pair where isNew(new) && !isSettled(new) {
          if let found = survivors[new] { judge(new, found, duplicate) }
        }
      }
    }
  }

  /// A new object that is to give way.
  ///
  /// - Parameter survivors: The objects that have its values and stay.
  private mutating func judge(
    _ new: ObjectReference, _ survivors: Set<ObjectReference>, _ duplicate: StoreConflict.DuplicateKey
  ) {
    guard let overlay = reading.pending[new] else { return }
    switch general(overlay) {
    case .error: unresolved.duplicates.append(duplicate)
    case .rollback: add(.withdraw(new))
    case .storeTrump, .objectTrump, .overwrite:
      // Which of several it should be merged into nobody has said, nor what of it fits another entity.
      if survivors.count == 1, let other = survivors.first, other.entityNumber == new.entityNumber {
        add(.upsert(new, into: other, duplicate))
      } else {
        unresolved.duplicates.append(duplicate)
      }
    }
  }

  /// For each new object that cannot stay, those that do: of all with one key the one that has a row, else the first.
  private func survivors(
    _ duplicates: [StoreConflict.DuplicateKey]
  ) -> [ObjectReference: Set<ObjectReference>] {
    let groups = Dictionary(grouping: duplicates) { [AnyHashable($0.index), AnyHashable($0.key)] }
    var found: [ObjectReference: Set<ObjectReference>] = [:]
    for group in groups.values {
      let members = Set(group.flatMap { [$0.existing, $0.rejected] })
      let saved = members.filter { !isNew($0) }
      let staying = saved.isEmpty ? Set(members.min { $0.rawValue < $1.rawValue }.map { [$0] } ?? []) : saved
      for new in members.subtracting(staying) { found[new, default: []].formUnion(staying) }
    }
    return found
  }

  private func isNew(_ reference: ObjectReference) -> Bool {
    reading.pending[reference].map { $0.isNew && !$0.isInsertedAgain } ?? false
  }

  /// Both have rows, and one was changed here to what the other has.
  private mutating func judgeSaved(_ duplicate: StoreConflict.DuplicateKey) {
    let overlays = [duplicate.rejected, duplicate.existing].compactMap { reading.pending[$0] }
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
    (reading.graph.store.definition(duplicate.index).components ?? []).compactMap { component in
      guard let slot = overlay.shape.storage.slot(ofProperty: component.property), overlay.value(slot) != nil
      else { return nil }
      return slot
    }
  }
}
