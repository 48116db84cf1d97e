// Three-way comparison of one object, and the result of a policy. The functions are pure: they get
// columns and return an outcome, without a context or a store.

internal import PerdurePredicates

/// The versions of an object that this context and another context have changed, as columns by
/// slot.
struct ObjectVersions {
  /// The columns that this context has changed, by slot.
  var local: [Int: Value]
  /// All columns before both changes; empty if they are no longer known.
  var base: [Int: Value]
  /// All columns in the store; nil if another context has deleted the object.
  var store: [Int: Value]?
  var isDeletedHere = false
  /// Whether this context has changed links of the object.
  var hasLinks = false

  /// Whether this context has no real change: no deletion, no changed links, and each local value
  /// equals its known base value.
  var isUnchangedHere: Bool {
    !isDeletedHere && !hasLinks && !base.isEmpty && local.allSatisfy { base[$0.key] == $0.value }
  }

  func comparison(_ slot: Int) -> ColumnComparison {
    guard let local = local[slot], let store = store?[slot] else { return .store }
    // If the base value is unknown, both may have changed it.
    guard let base = base[slot] else { return local == store ? .store : .both }
    return ColumnComparison(base: base, local: local, store: store)
  }

  /// The slots that both contexts have changed, ascending.
  var contested: [Int] { local.keys.filter { comparison($0) == .both }.sorted() }
}

/// The result for an object that this context and another context have changed.
enum ObjectOutcome: Equatable {
  /// A conflict about these slots; about the object as a whole if there are none.
  case conflict([Int])
  /// The local changes are applied to the store's row, except for the slots in the dictionary. Such
  /// a slot gets its value in the dictionary, or the store's value if that is nil.
  case merged([Int: Value?])
  /// The store's values: unsaved changes are dropped, including a deletion.
  case asStored
  /// The store no longer has the object. This context drops the object and its unsaved changes.
  case gone
  /// The object is deleted, even if another context has changed it.
  case deleted
  /// Another context has deleted the object, and it is inserted again with its local values.
  case insertedAgain
}

/// The policy for the objects of one entity.
struct EntityMergeRules {
  let general: MergePolicy.General
  /// The value that the rule of a slot returns; `.none` if the slot has no rule, `.some(nil)` if
  /// the conflict remains.
  var ruled: (Int, ObjectVersions) -> Value?? = { _, _ in .none }
  /// The columns that each save sets to its own time.
  var saveTimeSlots: Set<Int> = []

  func outcome(_ versions: ObjectVersions) -> ObjectOutcome {
    if versions.isUnchangedHere {
      return versions.store == nil ? .gone : .merged(versions.local.mapValues { _ in nil })
    }
    switch (versions.isDeletedHere, versions.store == nil) {
    case (true, true): return .gone
    case (true, false): return ofDeletedHere
    case (false, true): return ofDeletedThere(versions)
    case (false, false):
      // The program changed no column, so the policy has nothing to decide.
      if changesOnlySaveTimes(versions) { return .merged([:]) }
      return general == .rollback ? .asStored : merged(versions)
    }
  }

  private func changesOnlySaveTimes(_ versions: ObjectVersions) -> Bool {
    !versions.local.isEmpty && versions.local.keys.allSatisfy(saveTimeSlots.contains)
  }

  private var ofDeletedHere: ObjectOutcome {
    switch general {
    case .error: .conflict([])
    case .storeTrump, .rollback: .asStored
    case .objectTrump, .overwrite: .deleted
    }
  }

  private func ofDeletedThere(_ versions: ObjectVersions) -> ObjectOutcome {
    switch general {
    case .error: .conflict(versions.local.keys.sorted())
    case .storeTrump, .rollback: .gone
    case .objectTrump, .overwrite:
      versions.base.isEmpty ? .conflict(versions.local.keys.sorted()) : .insertedAgain
    }
  }

  private func merged(_ versions: ObjectVersions) -> ObjectOutcome {
    var values: [Int: Value?] = [:]
    var conflicts: [Int] = []
    for slot in versions.local.keys.sorted() {
      switch versions.comparison(slot) {
      case .local: break
      case .store: values.updateValue(nil, forKey: slot)
      case .both:
        if let ruled = ruled(slot, versions) {
          if let value = ruled { values[slot] = value } else { conflicts.append(slot) }
        } else {
          switch general {
          case .error: conflicts.append(slot)
          case .storeTrump, .rollback: values.updateValue(nil, forKey: slot)
          case .objectTrump, .overwrite: break
          }
        }
      }
    }
    if general == .overwrite {
      for (slot, base) in versions.base
      where (versions.local[slot] ?? base) == base && versions.store?[slot] != base {
        values[slot] = base
      }
    }
    return conflicts.isEmpty ? .merged(values) : .conflict(conflicts)
  }
}
