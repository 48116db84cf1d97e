import ArgumentParser
import Perdure
import PerdureText

/// Commands about models.
struct ModelCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Shows the model of a store, and generates code from model files.",
    subcommands: [ModelShowCommand.self, ModelDiagramCommand.self, ModelGenerateCommand.self])
}

/// Shows the model of a store.
struct ModelShowCommand: ConsoleCommand {
  /// The output format of the model.
  enum Format: String, CaseIterable, ExpressibleByArgument {
    case table, markdown, html, json
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
    let model = try StoredModelReading.model(at: path, on: console)
    try StoredModelReading.check(entity, in: model)
    let report = ModelReport(model, model.entities.filter { entity.isEmpty || entity.contains($0.name) })
    let lines =
      switch format {
      case .json: [report.json.text]
      case .html: report.html(name: StoredModelReading.name(at: path))
      case .markdown: report.markdown
      case .table: report.lines(title: { console.styled($0, .bold) })
      }
    for line in lines { try console.print(line) }
    return .success
  }
}

/// Reads the model of a store for a command.
enum StoredModelReading {
  /// - Throws: `NoGraph` if the store holds no objects, and the errors of opening.
  static func model(at path: String, on console: Console) throws -> ManagedObjectModel {
    let store = try OpenedStore(at: path, on: console, checksIndex: false)
    guard let graph = store.graph else { throw NoGraph(path: path) }
    return graph.model
  }

  /// Throws an error with similar names if an entity is not in the model.
  static func check(_ entities: [String], in model: ManagedObjectModel) throws {
    for name in entities where model.entitiesByName[name] == nil {
      throw NotInStore.unknown("entity", name, model.entities.map(\.name), near: NearMisses.of)
    }
  }

  /// The name of the store: the last part of the path, without an extension.
  static func name(at path: String) -> String {
    let last = path.split(separator: "/").last ?? "Model"
    return last.lastIndex(of: ".").map { String(last[..<$0]) } ?? String(last)
  }
}
