// Programs that read model files use the models in them, so this module exports PerdureModel.

@_exported public import PerdureModel
