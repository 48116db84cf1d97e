// A program that generates code from files has models, their files and the choices for code.

@_exported public import PerdureModelCode
@_exported public import PerdureModelFiles
