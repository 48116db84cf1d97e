// Perdure exports PerdureModel and PerdurePredicates, because its functions use models and
// predicates.

@_exported public import PerdureModel
@_exported public import PerdurePredicates
