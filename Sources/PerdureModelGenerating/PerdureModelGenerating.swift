// Programs that generate code from model files also use the files and the options for code, so this
// module exports both modules.

@_exported public import PerdureModelCode
@_exported public import PerdureModelFiles
