public import PerdureModel
public import PerdurePredicates

extension EntityDescription: PredicateArgument {
  /// The name of the entity. In a predicate, `entity == %@` finds the objects of exactly this
  /// entity, without those of its subentities.
  public var predicateValue: Value { .string(name) }
}
