// Programs that generate code also use models, so this module exports PerdureModel.

@_exported public import PerdureModel
