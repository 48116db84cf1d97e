// A relationship as a context uses it: by slots, indexes and entity numbers.

internal import PerdureModel
internal import PerdurePredicates

/// One end of a relationship. A class, because it is passed along with every step from object to object.
final class RelationshipShape: Sendable {
  /// Where the links of this end are kept, seen from here.
  enum Form: Sendable, Hashable {
    /// In a column of this object's row: a to-one relationship.
    case column
    /// In a column of the other object's row; at most one object has it.
    case inverseToOne
    /// In a column of the other objects' rows.
    case inverseToMany
    /// As entries of the link keyspace `links`, with this object as source (forward) or as target.
    case links(StoreIndex, isForward: Bool)
  }

  let name: String
  let slot: Int
  let form: Form
  /// The number of the entity at the other end, which may be abstract.
  let destination: UInt16
  /// For a column: the index from a target to the rows that point at it. Otherwise: from an owner to the
  /// objects at the other end.
  let index: StoreIndex
  /// For links: from an object at the other end to its owners, when there is such an index.
  let owners: StoreIndex?
  /// The slot of the inverse in the destination and its sub-entities.
  let inverseSlot: Int?
  /// Whether the inverse is to-one.
  let inverseIsToOne: Bool
  /// Where the order of an ordered relationship is.
  let order: OrderIndexes?
  /// Whether the objects at the other end have an order of those here.
  let inverseIsOrdered: Bool
  let deleteRule: DeleteRule
  let isOptional: Bool
  let minCount: Int
  let maxCount: Int

  var isToMany: Bool {
    switch form {
    case .column, .inverseToOne: false
    case .inverseToMany, .links: true
    }
  }

  /// Whether links are kept in a column, here or at the other end.
  var isInColumn: Bool {
    if case .links = form { false } else { true }
  }

  /// Whether a save has to count the objects at the other end.
  var hasCountLimits: Bool { isToMany && (minCount > 0 || maxCount > 0) }

  /// Whether a change can break a limit together with what another context changes: additions a greatest number,
  /// removals a least one. What is optional may be emptied by the other: then additions have to reach the least
  /// number by themselves.
  func isLimited(in delta: LinkDelta) -> Bool {
    guard isToMany else { return false }
    if maxCount > 0, !delta.added.isEmpty { return true }
    return minCount > 0 && (!delta.removed.isEmpty || isOptional && delta.added.count < minCount)
  }

  init?(
    _ property: PropertySchema, _ storage: PropertyStorage, inverse: PropertySchema?, schema: StoreSchema
  ) {
    switch storage.form {
    case .attribute, .count, .derived: return nil
    case .toOne(let destination, let index):
      form = .column
      self.destination = destination
      self.index = index
      owners = nil
    case .inverse(let destination, let index, let owners, let isToMany):
      self.destination = destination
      self.index = index
      self.owners = owners
      switch schema.definition(index).kind {
      case .links: form = .links(index, isForward: true)
      case .linksReversed(_, let links): form = .links(links, isForward: false)
      default: form = isToMany ? .inverseToMany : .inverseToOne
      }
    }
    name = property.name
    order = storage.order
    inverseIsOrdered = inverse?.isOrdered ?? false
    slot = property.slot
    inverseSlot = inverse?.slot
    inverseIsToOne = inverse?.kind == .toOne
    deleteRule = property.deleteRule
    isOptional = property.isOptional
    // What is not optional has one.
    minCount = property.isOptional ? property.minCount : max(1, property.minCount)
    maxCount = property.maxCount
  }
}
