// Programs that load models from bundles also use containers and model files, so this module
// exports both modules.

@_exported public import Perdure
@_exported public import PerdureModelFiles
