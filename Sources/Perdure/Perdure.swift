// A program that imports Perdure sees models and predicates too: they are parts of the same
// vocabulary.

@_exported public import PerdureModel
@_exported public import PerdurePredicates
