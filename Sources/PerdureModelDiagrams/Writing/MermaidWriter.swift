/// Writes a diagram in Mermaid's language, as a `classDiagram`.
///
/// A class diagram can show inheritance and abstract classes. An `erDiagram` cannot.
package enum MermaidWriter {
  /// The text of the diagram. The same diagram gives the same bytes.
  package static func text(_ diagram: ModelDiagram) -> String {
    let boxes = diagram.boxes.enumerated().flatMap { number, box in lines(of: box, number) }
    let edges = diagram.edges.map { "  " + line(of: $0, diagram) }
    return (["classDiagram", "  direction LR"] + boxes + edges + [""]).joined(separator: "\n")
  }

  private static func lines(of box: ModelDiagram.Box, _ number: Int) -> [String] {
    let head = "  class \(identifier(number))[\"\(escaped(box.name))\"]"
    let members =
      (box.isAbstract ? ["<<abstract>>"] : []) + box.rows.map { escaped("\($0.name) \($0.detail)") }
    return members.isEmpty ? [head] : [head + " {"] + members.map { "    " + $0 } + ["  }"]
  }

  private static func line(of edge: ModelDiagram.Edge, _ diagram: ModelDiagram) -> String {
    let (from, to) = (identifier(edge.from.port.box), identifier(edge.to.port.box))
    guard case .relationship(let isTransient, _) = edge.kind else { return "\(to) <|-- \(from)" }
    let hasInverse = edge.from.head != .none
    let line = (hasInverse ? "<" : "") + (isTransient ? ".." : "--") + ">"
    let start = count(edge.from.head).map { "\(from) \"\($0)\"" } ?? from
    let names = [edge.from.port, edge.to.port].compactMap { port in
      port.row.map { diagram.boxes[port.box].rows[$0].name }
    }
    let label = Array(names.prefix(edge.from.port == edge.to.port ? 1 : 2)).joined(separator: " / ")
    return "\(start) \(line) \"\(count(edge.to.head) ?? "1")\" \(to) : \(escaped(label))"
  }

  private static func count(_ head: ModelDiagram.Head) -> String? {
    switch head {
    case .none: nil
    case .one: "1"
    case .many: "*"
    }
  }

  /// The identifier of a box. It does not contain the entity's name, because Mermaid requires a
  /// single word.
  private static func identifier(_ number: Int) -> String { "E\(number)" }

  /// The text, with codes instead of characters that have a meaning in Mermaid.
  private static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      let isPlain =
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        || " _.,?[]…/".unicodeScalars.contains(scalar)
      if isPlain { result.unicodeScalars.append(scalar) } else { result += "#\(scalar.value);" }
    }
  }
}
