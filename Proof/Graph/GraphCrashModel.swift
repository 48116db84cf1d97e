import Perdure

// A small model for interrupted saves: cascading deletes, unique values, many-to-many links, and
// ordered relationships.

@Entity final class Firm: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(inverse: "firm", deleteRule: .cascade) var units: ToMany<Unit>
  @Relationship(inverse: "firm") var staff: ToMany<Member>
  @Relationship(inverse: "boards") var board: OrderedToMany<Member>
}

/// A unit is deleted with its firm, and with its parent.
@Entity final class Unit: ManagedObject {
  @Attribute(.indexed) var title: String
  @Relationship(inverse: "units") var firm: Firm?
  @Relationship(inverse: "children") var parent: Unit?
  @Relationship(inverse: "parent", deleteRule: .cascade) var children: OrderedToMany<Unit>
}

@Entity final class Member: ManagedObject {
  @Attribute(.unique) var email: String
  @Relationship(inverse: "staff") var firm: Firm?
  @Relationship(inverse: "board") var boards: ToMany<Firm>
  /// This relationship is symmetric: a friendship exists in both directions.
  @Relationship(inverse: "friends") var friends: ToMany<Member>
}

enum GraphCrashModel {
  static let classes: [ManagedObject.Type] = [Firm.self, Unit.self, Member.self]
}
