// A relationship in the form that contexts use: slots, indexes and entity numbers.

internal import PerdureModel
internal import PerdurePredicates

/// One end of a relationship. It is a class, because every step of a traversal passes it as an
/// argument, and a reference is cheap to copy.
final class RelationshipShape: Sendable {
  /// How the links of this end are stored.
  enum Form: Sendable, Hashable {
    /// In a column of this object's row: a to-one relationship.
    case column
    /// In a column of the other object's row. At most one row has the link.
    case inverseToOne
    /// In a column of the other objects' rows.
    case inverseToMany
    /// As entries of the link keyspace `links`, with this object as source (forward) or as target.
    case links(StoreIndex, isForward: Bool)
    /// Only in the context (TransientLinks.swift).
    case transient(isToMany: Bool)
  }

  private let property: PropertySchema
  // Copied from `property`, because a traversal reads these values at every step.
  let slot: Int
  let form: Form
  /// The number of the entity at the other end, which may be abstract.
  let destination: UInt16
  /// For a column: the index from a target to the rows that refer to it. Otherwise: from an owner
  /// to the objects at the other end; nil for a transient relationship.
  let index: StoreIndex?
  /// For links: the index from an object at the other end to its owners; nil if there is none.
  let owners: StoreIndex?
  /// The slot of the inverse in the destination and its subentities.
  let inverseSlot: Int?
  /// Whether the inverse is to-one.
  let inverseIsToOne: Bool
  /// The indexes of the order; nil if the relationship is not ordered.
  let order: OrderIndexes?
  /// Whether the inverse is ordered.
  let inverseIsOrdered: Bool

  var name: String { property.name }
  var deleteRule: DeleteRule { property.deleteRule }
  /// Whether an object keeps the links of this end while its deletion is pending.
  var keepsLinks: Bool { deleteRule == .deny || deleteRule == .noAction && isInColumn }
  var isOptional: Bool { property.isOptional }
  /// At least 1, unless the relationship is optional.
  var minCount: Int { isOptional ? property.minCount : max(1, property.minCount) }
  var maxCount: Int { property.maxCount }

  var isToMany: Bool {
    switch form {
    case .column, .inverseToOne: false
    case .inverseToMany, .links: true
    case .transient(let isToMany): isToMany
    }
  }

  /// Whether links are stored in a column, here or at the other end.
  var isInColumn: Bool {
    switch form {
    case .column, .inverseToOne, .inverseToMany: true
    case .links, .transient: false
    }
  }

  /// Whether the links are not stored.
  var isTransient: Bool {
    if case .transient = form { true } else { false }
  }

  /// Whether a save has to count the objects at the other end.
  var hasCountLimits: Bool { isToMany && (minCount > 0 || maxCount > 0) }

  /// Whether a change can violate a limit together with a change of another context. Additions can
  /// exceed the maximum, and removals can fall below the minimum. An empty optional relationship is
  /// valid, whatever its minimum. So the other context may remove all objects, and then the
  /// additions alone must reach the minimum.
  func isLimited(in delta: LinkDelta) -> Bool {
    guard isToMany else { return false }
    if maxCount > 0, !delta.added.isEmpty { return true }
    return minCount > 0 && (!delta.removed.isEmpty || isOptional && delta.added.count < minCount)
  }

  /// Makes a relationship that a store has; nil for any other property.
  convenience init?(
    _ property: PropertySchema, _ storage: PropertyStorage, inverse: PropertySchema?, schema: StoreSchema
  ) {
    switch storage.form {
    case .attribute, .count, .derived: return nil
    case .toOne(let destination, let index):
      self.init(property, inverse, .column, to: destination, index: index, order: storage.order)
    case .inverse(let destination, let index, let owners, let isToMany):
      let form: Form
      switch schema.definition(index).kind {
      case .links: form = .links(index, isForward: true)
      case .linksReversed(_, let links): form = .links(links, isForward: false)
      default: form = isToMany ? .inverseToMany : .inverseToOne
      }
      self.init(
        property, inverse, form, to: destination, index: index, owners: owners, order: storage.order)
    }
  }

  /// Makes a transient relationship.
  convenience init(transient property: PropertySchema, inverse: PropertySchema?, to destination: UInt16) {
    self.init(property, inverse, .transient(isToMany: property.kind == .toMany), to: destination)
  }

  private init(
    _ property: PropertySchema, _ inverse: PropertySchema?, _ form: Form, to destination: UInt16,
    index: StoreIndex? = nil, owners: StoreIndex? = nil, order: OrderIndexes? = nil
  ) {
    self.form = form
    self.destination = destination
    self.index = index
    self.owners = owners
    self.order = order
    self.property = property
    inverseIsOrdered = inverse?.isOrdered ?? false
    slot = property.slot
    inverseSlot = inverse?.slot
    inverseIsToOne = inverse?.kind == .toOne
  }
}

extension GraphSchema {
  /// The inverse of a relationship, in the entity of an object at the other end.
  func inverse(of relationship: RelationshipShape, at target: ObjectReference) -> RelationshipShape? {
    relationship.inverseSlot.map { shape(of: target).relationship($0) }
  }
}
