import ArgumentParser
import Perdure
import PerdureText

/// Commands about models.
struct ModelCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Shows models of stores and of model files, and generates code.",
    subcommands: [ModelShowCommand.self, ModelDiagramCommand.self, ModelGenerateCommand.self])
}

/// Shows the model of a store or of a model file.
struct ModelShowCommand: ConsoleCommand {
  /// The output format of the model.
  enum Format: String, CaseIterable, ExpressibleByArgument {
    case table, markdown, html, json
  }

  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows a model: entities, properties, constraints, indexes.",
    discussion: """
      Each entity has a table of the attributes and one of the relationships that it declares. Inherited properties \
      are in the tables of the entity that declares them. The name of a composite attribute's element is its whole path.

      The findings about a model file go to the standard error stream, with the lines of the file. If one of them is \
      an error, there is no model. For example:

        perdure model show Staff.perdure
        perdure model show Staff.xcdatamodeld --model-version "Staff 2" --entity Worker

      Exit codes: 0 done; 2 the store could not be opened, or has no objects; or the model file has errors.
      """)

  @OptionGroup
  var input: ModelInput

  @Option(help: "Only this entity; may be given several times.", completion: EntityCompletion.kind)
  var entity: [String] = []

  @Option(help: "How the model is written.")
  var format = Format.table

  var json: Bool { format == .json }

  func perform(on console: Console) throws -> ExitCode {
    let model = try input.model(on: console)
    try ModelInput.check(entity, in: model)
    let report = ModelReport(model, model.entities.filter { entity.isEmpty || entity.contains($0.name) })
    let lines =
      switch format {
      case .json: [report.json.text]
      case .html: report.html(name: input.name)
      case .markdown: report.markdown
      case .table: report.lines(title: { console.styled($0, .bold) })
      }
    for line in lines { try console.print(line) }
    return .success
  }
}
