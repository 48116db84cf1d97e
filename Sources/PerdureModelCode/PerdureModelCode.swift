// A program that generates code has models: it sees PerdureModel too.

@_exported public import PerdureModel
