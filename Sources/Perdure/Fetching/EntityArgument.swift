public import PerdureModel
public import PerdurePredicates

extension EntityDescription: PredicateArgument {
  /// The name of the entity: `entity == %@` in a predicate asks for the objects of just this
  /// entity.
  public var predicateValue: Value { .string(name) }
}
