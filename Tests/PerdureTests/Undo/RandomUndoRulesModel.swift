// The model of `RandomUndoRulesTests`, and the causes of conflicts in its runs.

import Perdure

/// The causes of conflicts in a run.
enum ConflictCauses: CaseIterable {
  case none, hooks, otherContexts, hooksAndOtherContexts

  var areHooksOn: Bool { self == .hooks || self == .hooksAndOtherContexts }
  /// Whether other contexts save changes, and whether edits outside of groups change objects.
  var areOthersSaving: Bool { self == .otherContexts || self == .hooksAndOtherContexts }
}

/// Whether the hooks of the model change objects in the current test.
enum UndoRulesHooks {
  @TaskLocal static var areOn = false
}

@Composite struct UndoParcelSize: Equatable {
  var width: Int = 0
  var height: Int = 0
}

@Entity final class UndoCrate: ManagedObject {
  var name: String = ""
  var count: Int64 = 0
  var nameLength: Int64 = 0
  @Relationship(inverse: "crates") var labels: OrderedToMany<UndoLabel>
  @Relationship(inverse: "crate", deleteRule: .noAction) var parcels: ToMany<UndoParcel>
  @Relationship(inverse: "owner", deleteRule: .cascade) var ownParcels: OrderedToMany<UndoParcel>
  @Relationship(inverse: "mainOf") var mainLabel: UndoLabel?
  @Attribute(derived: "parcels.@count") private(set) var parcelCount: Int
  @Attribute(derived: "ownParcels.weight.@sum") private(set) var ownWeight: Int64

  override func willSave() {
    let length = Int64(name.utf8.count)
    if UndoRulesHooks.areOn, !isDeleted, nameLength != length { nameLength = length }
  }
}

@Entity final class UndoLabel: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "labels") var crates: OrderedToMany<UndoCrate>
  @Relationship(inverse: "mainLabel", deleteRule: .deny) var mainOf: ToMany<UndoCrate>
}

@Entity final class UndoParcel: ManagedObject {
  var weight: Int64 = 0
  @Attribute(.unique) var code: String?
  @Attribute(.composite) var size: UndoParcelSize = UndoParcelSize()
  @Attribute(.transient) var mood: String?
  @Relationship(inverse: "parcels") var crate: UndoCrate?
  @Relationship(inverse: "ownParcels") var owner: UndoCrate?
  @Relationship(inverse: "previous") var next: UndoParcel?
  @Relationship(inverse: "next") var previous: UndoParcel?
  @Relationship(inverse: nil) var follows: UndoParcel?
  @Relationship(inverse: nil) var likes: ToMany<UndoParcel>

  override func prepareForDeletion() {
    if UndoRulesHooks.areOn, let crate, !crate.isDeleted { crate.count += 1 }
  }
}
