public import ArgumentParser
public import PerdureModelGenerating

/// Generates the classes of a model file.
struct ModelGenerateCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate", abstract: "Generates classes in Swift from a model file of Core Data.",
    discussion: """
      The file is called Notes+Generated.swift for Notes.xcdatamodeld. It has the classes of the entities, the types of \
      composite attributes, the names as constants, the model, and functions for its fetch request templates. The same \
      model gives the same bytes. If the file already has these bytes, it is not written. For example:

        perdure model generate Notes.xcdatamodeld --output Sources/Notes

      Packages need no generated file in their sources: the plugin PerdureModelPlugin generates the code in each build, \
      with the kind of code that the model file sets for each entity.

      The file Notes.perdure.json beside the model has options for the plugin and for this command. It is a JSON object \
      with the members style, entities, access, scalars, module, imports and names. Options of the command replace those \
      of the file.

      Exit codes: 0 done; 2 the model has problems, which are all listed, or the file could not be written.
      """)

  /// The code for each entity.
  enum Entities: String, CaseIterable, ExpressibleByArgument {
    case `class`, `extension`, manual, file

    var code: EntityCode? { self == .file ? nil : EntityCode(rawValue: rawValue) }
  }

  @Argument(help: "The model: an .xcdatamodeld or .xcdatamodel folder.", completion: .directory)
  var model: String

  @Option(
    help: "The folder for the generated file. It is created if it does not exist.", completion: .directory)
  var output: String

  @Option(help: "The version of the model. (default: the current one)")
  var modelVersion: String?

  @Option(
    help: "How properties are written. With accessors, every model can be generated. (default: accessors)")
  var style: ModelCodeStyle?

  @Option(
    help: """
      The code for each entity. class: its class; extension: an extension of the program's class; manual: only the \
      description; file: the kind in the model file. (default: class)
      """)
  var entities: Entities?

  @Option(
    help: """
      The types of attributes. exact: optional only for optional attributes. file: as in Xcode, so an absent number \
      reads as 0, and a required text is optional. (default: exact)
      """)
  var scalars: ModelCodeScalars?

  @Option(help: "The access level of the code. (default: internal)")
  var access: ModelCodeAccess?

  @Option(
    help: """
      The module of the generated code. Classes of other modules are imported instead of generated. \
      (default: all classes are generated)
      """)
  var module: String?

  @Option(name: .customLong("import"), help: "A module to import; may be given several times.")
  var imports: [String] = []

  @Flag(
    inversion: .prefixedNo, help: "Whether names of entities and properties are constants. (default: --names)"
  )
  var names: Bool?

  var json: Bool { false }

  func perform(on console: Console) throws -> ExitCode {
    let (path, isNew): (String, Bool)
    do {
      let generator = try ModelCodeGenerator(contentsOf: model, version: modelVersion, options: options())
      for finding in generator.warnings where finding.severity == .warning { console.error("\(finding)") }
      (path, isNew) = try generator.write(toFolder: output)
    } catch {
      console.error(ModelCodeGenerator.words(for: error, ofModel: model))
      return .failed
    }
    try console.print("\(path): \(isNew ? "written" : "unchanged")")
    return .success
  }
}

extension ModelGenerateCommand {
  /// The options in the file beside the model. Options of the command replace them.
  private func options() throws -> ModelCodeOptions {
    var options = ModelCodeOptions()
    options.entityCode = .classDefinition
    options = try ModelCodeOptions(besideModelAt: model, defaults: options) ?? options
    if let style { options.style = style }
    if let entities { options.entityCode = entities.code }
    if let scalars { options.scalars = scalars }
    if let access { options.access = access }
    if let module { options.module = module }
    if !imports.isEmpty { options.imports = imports }
    if let names { options.hasNameConstants = names }
    return options
  }
}

extension ModelCodeStyle: ExpressibleByArgument {}
extension ModelCodeScalars: ExpressibleByArgument {}
extension ModelCodeAccess: ExpressibleByArgument {}
