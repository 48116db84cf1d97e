// Programs that generate code have models, so this module exports PerdureModel.

@_exported public import PerdureModel
