// Conflicts about uniqueness constraints: chooses the object that stays.
//
// An object with a row stays, and keeps its id and the links to it. Of two new objects, the one
// that was inserted first stays. The other is merged into it (`MergeStep.upsert`) or withdrawn. Two
// objects with rows are never merged.

internal import PerdurePredicates

extension MergeRound {
  mutating func judge(_ duplicates: [StoreConflict.DuplicateKey]) {
    let survivors = survivors(duplicates)
    for duplicate in duplicates {
      let pair = [duplicate.existing, duplicate.rejected]
      if pair.allSatisfy({ !isNew($0) }) {
        judgeSaved(duplicate)
      } else {
        for new in pair where isNew(new) && !isDecided(new) {
          if let found = survivors[new] { judge(new, found, duplicate) }
        }
      }
    }
  }

  /// Decides about a new object that cannot stay.
  ///
  /// - Parameter survivors: The objects that have the same values and stay.
  private mutating func judge(
    _ new: ObjectReference, _ survivors: Set<ObjectReference>, _ duplicate: StoreConflict.DuplicateKey
  ) {
    guard let overlay = reading.pending[new] else { return }
    switch general(overlay) {
    case .error: unresolved.duplicates.append(duplicate)
    case .rollback: add(.withdraw(new))
    case .storeTrump, .objectTrump, .overwrite:
      // With several survivors, the choice is ambiguous. A survivor of another entity has other
      // properties.
      if survivors.count == 1, let other = survivors.first, other.entityNumber == new.entityNumber {
        add(.upsert(new, into: other, duplicate))
      } else {
        unresolved.duplicates.append(duplicate)
      }
    }
  }

  /// The surviving objects for each new object that cannot stay. Of the objects with the same key,
  /// those with a row stay. If none has a row, the object that was inserted first stays.
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

  /// Decides about two objects with rows. This context changed one of them to the values of the
  /// other.
  private mutating func judgeSaved(_ duplicate: StoreConflict.DuplicateKey) {
    let overlays = [duplicate.rejected, duplicate.existing].compactMap { reading.pending[$0] }
    let changed = overlays.map { ($0, slots(of: duplicate, $0)) }.first { !$0.1.isEmpty && !$0.0.isNew }
    guard let (overlay, slots) = changed else { return unresolved.duplicates.append(duplicate) }
    if isDecided(overlay.reference) { return }
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
