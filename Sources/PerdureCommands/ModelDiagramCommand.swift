import ArgumentParser
import Perdure
import PerdureFileIO
import PerdureModelDiagrams

/// Draws the model of a store or of a model file.
struct ModelDiagramCommand: ConsoleCommand {
  /// The output format of the diagram.
  enum Format: String, CaseIterable, ExpressibleByArgument {
    case svg, mermaid, dot
  }

  static let configuration = CommandConfiguration(
    commandName: "diagram", abstract: "Draws a model: entities, inheritance, relationships.",
    discussion: """
      A relationship and its inverse are one line between their rows. An end with one arrow head has one object, an \
      end with two has many, and a triangle is at a superentity. The row of an attribute shows its type. The row of a \
      relationship shows its destination: [Worker] for many objects, Worker? for an optional one. A delete rule other \
      than nullify follows the destination. Underlined attributes belong to a uniqueness constraint. Rows of \
      properties that are not stored are in italics. Lines of transient relationships are dashed.

      The same model gives the same bytes. svg is a picture that needs no other file; mermaid is a classDiagram, for \
      documents; dot is for Graphviz. For example:

        perdure model diagram Staff.perdure --output Staff.svg
        perdure model diagram Staff.perdure --entity Worker --depth 2 --attributes keys --format mermaid
        perdure model diagram Staff.xcdatamodeld --output Staff.svg

      Exit codes: 0 done; 2 the store could not be opened or has no objects; the model file has errors; the model has \
      no such entity; or the file could not be written.
      """)

  @OptionGroup
  var input: ModelInput

  @Option(
    help: "Begin with this entity; may be given several times. (default: the whole model)",
    completion: EntityCompletion.kind)
  var entity: [String] = []

  @Option(
    help: "With --entity: the maximum distance of other entities, in lines of the diagram. (default: 1)")
  var depth: Int?

  @Option(help: "The attributes in the boxes; keys are those of uniqueness constraints.")
  var attributes = DiagramOptions.Attributes.all

  @Option(help: "How the diagram is written.")
  var format = Format.svg

  @Option(help: "The file to write, or to replace. (default: the standard output)", completion: .file())
  var output: String?

  var json: Bool { false }

  func validate() throws {
    guard let depth else { return }
    if depth < 0 { throw ValidationError("--depth must not be negative") }
    if entity.isEmpty { throw ValidationError("--depth needs a start: give --entity too") }
  }

  func perform(on console: Console) throws -> ExitCode {
    let model = try input.model(on: console)
    try ModelInput.check(entity, in: model)
    let options = DiagramOptions(
      entities: entity, depth: entity.isEmpty ? nil : depth ?? 1, attributes: attributes)
    let text = text(of: ModelDiagram(of: model, options))
    if let output {
      try WholeFile.write(text, to: output)
    } else {
      try console.print(String(text.dropLast(text.hasSuffix("\n") ? 1 : 0)))
    }
    return .success
  }

  private func text(of diagram: ModelDiagram) -> String {
    switch format {
    case .svg: SVGWriter.text(DiagramLayout(diagram), title: input.name)
    case .mermaid: MermaidWriter.text(diagram)
    case .dot: DOTWriter.text(diagram)
    }
  }
}

extension DiagramOptions.Attributes: ExpressibleByArgument {}
