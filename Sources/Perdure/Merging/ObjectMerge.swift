// Three-way comparison of one object, and what a policy makes of it. Pure: columns in, outcome out; there is no context
// here and no store.

internal import PerdurePredicates

/// An object that was changed here and elsewhere, by columns.
struct ObjectVersions {
  /// What was changed here, by slot.
  var local: [Int: Value]
  /// All columns as they were; empty where that is not known any more.
  var base: [Int: Value]
  /// All columns as the store has them; nil where others have deleted the object.
  var store: [Int: Value]?
  var isDeletedHere = false
  /// Whether links of the object were changed here.
  var hasLinks = false

  /// Whether all that was set here is what was there before.
  var isUnchangedHere: Bool {
    !isDeletedHere && !hasLinks && !base.isEmpty && local.allSatisfy { base[$0.key] == $0.value }
  }

  func comparison(_ slot: Int) -> ColumnComparison {
    guard let local = local[slot], let store = store?[slot] else { return .store }
    // What it was before is not known: then it may have changed.
    guard let base = base[slot] else { return local == store ? .store : .both }
    return ColumnComparison(base: base, local: local, store: store)
  }

  /// The slots that both have changed, ascending.
  var contested: [Int] { local.keys.filter { comparison($0) == .both }.sorted() }
}

/// What becomes of an object that was changed here and elsewhere.
enum ObjectOutcome: Equatable {
  /// A conflict about these slots, or about the object where there are none.
  case conflict([Int])
  /// What was changed here is changed in the store's row, but for slots that get another value, or the store's (nil).
  case merged([Int: Value?])
  /// As the store has it: unsaved changes, a deletion too, are dropped.
  case asStored
  /// It is gone, whatever was changed here.
  case gone
  /// It is deleted, whatever was changed there.
  case deleted
  /// Others have deleted it, and it is inserted again as it is here.
  case insertedAgain
}

/// A policy as it applies to the objects of one entity.
struct EntityMergeRules {
  let general: MergePolicy.General
  /// The value that a rule for a slot has merged; `.none` where the slot has no rule, `.some(nil)` for a conflict.
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
