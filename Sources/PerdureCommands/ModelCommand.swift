import ArgumentParser
import Perdure
import PerdureText

/// Commands about models.
struct ModelCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Shows the model that is stored in a store.",
    subcommands: [ModelShowCommand.self])
}

/// Shows the model of a store.
struct ModelShowCommand: ConsoleCommand {
  /// The output format of the model.
  enum Format: String, CaseIterable, ExpressibleByArgument {
    case table, markdown, json
  }

  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows the stored model: entities, properties, constraints, indexes.",
    discussion: """
      Each entity has a table of the attributes and one of the relationships that it declares. Inherited ones are with \
      the entity that declares them. An element of a composite attribute has its whole path as a name.

      Exit codes: 0 done; 2 the store could not be opened, or holds no objects.
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var path: String

  @Option(help: "Only this entity; may be given several times.", completion: EntityCompletion.kind)
  var entity: [String] = []

  @Option(help: "How the model is written.")
  var format = Format.table

  var json: Bool { format == .json }

  func perform(on console: Console) throws -> ExitCode {
    let store = try OpenedStore(at: path, on: console, checksIndex: false)
    guard let graph = store.graph else { throw NoGraph(path: path) }
    let model = graph.model
    let names = model.entities.map(\.name)
    for name in entity where model.entitiesByName[name] == nil {
      throw NotInStore.unknown("entity", name, names, near: NearMisses.of)
    }
    let shown = model.entities.filter { entity.isEmpty || entity.contains($0.name) }
    switch format {
    case .json: console.print(ModelJSON.text(of: model, shown).text)
    case .markdown: for line in ModelTables.markdown(model, shown) { console.print(line) }
    case .table:
      for line in ModelTables.lines(model, shown, title: { console.styled($0, .bold) }) {
        console.print(line)
      }
    }
    return .success
  }
}
