// A program that loads models from bundles uses containers and model files.

@_exported public import Perdure
@_exported public import PerdureModelFiles
