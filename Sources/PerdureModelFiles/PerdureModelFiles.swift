// A program that reads model files uses their models: it sees PerdureModel too.

@_exported public import PerdureModel
