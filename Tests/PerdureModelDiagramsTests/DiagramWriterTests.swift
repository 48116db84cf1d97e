import Foundation
import PerdureModel
import Testing

@testable import PerdureModelDiagrams

@Suite("Diagrams as SVG, Mermaid and DOT")
struct DiagramWriterTests {
  /// A diagram whose names contain code in all three languages.
  private let hostile = ModelDiagram(
    boxes: [
      .init(
        name: "<A & \"B\">'", rows: [.init(name: "x}{~*#;:", detail: "a->b]]>\u{1}", isRelationship: true)]),
      .init(name: "end\nnote", isAbstract: true),
    ],
    edges: [
      .init(
        kind: .relationship(isTransient: true, cascades: .neither),
        from: .init(port: .init(box: 0, row: 0), head: .none), to: .init(port: .init(box: 1), head: .many))
    ])

  @Test("The diagrams of the small model equal the files in Golden", arguments: ["svg", "mmd", "dot"])
  func golden(_ kind: String) throws {
    let diagram = ModelDiagram(of: try SmallModel.model())
    let text =
      switch kind {
      case "svg": SVGWriter.text(DiagramLayout(diagram), title: "Companies")
      case "mmd": MermaidWriter.text(diagram)
      default: DOTWriter.text(diagram)
      }
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")
    let file = folder.appendingPathComponent("Companies.\(kind)")
    // Look at the new picture before you keep it.
    if ProcessInfo.processInfo.environment["PERDURE_WRITE_GOLDEN"] != nil {
      try text.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
  }

  @Test("SVG is well-formed for any names, and has titles")
  func svg() throws {
    let text = SVGWriter.text(DiagramLayout(hostile), title: "A < B")
    let parser = XMLNames(text)
    #expect(parser.isWellFormed)
    #expect(parser.titles.contains("A < B") && parser.titles.contains("<A & \"B\">'"))
    #expect(parser.titles.contains("end\nnote, abstract"))
    #expect(parser.titles.contains("<A & \"B\">'.x}{~*#;:: a->b]]>\u{FFFD}"))
    #expect(text.contains("role=\"img\" aria-labelledby=\"title desc\""))
    #expect(text.contains("prefers-color-scheme:dark"))
  }

  @Test("Long names are shortened, so that one name cannot make a picture arbitrarily wide")
  func longNames() {
    let name = String(repeating: "Long", count: 50)
    let layout = DiagramLayout(ModelDiagram(boxes: [.init(name: name)], edges: []))
    #expect(layout.width < 60 * 20)
    #expect(SVGWriter.text(layout, title: "").contains(">\(name.prefix(59))…</text>"))
  }

  @Test("In Mermaid, characters with a special meaning are replaced by their codes")
  func mermaid() {
    #expect(
      MermaidWriter.text(hostile).split(separator: "\n").dropFirst(2) == [
        "  class E0[\"#60;A #38; #34;B#34;#62;#39;\"] {",
        "    x#125;#123;#126;#42;#35;#59;#58; a#45;#62;b]]#62;#1;",
        "  }", "  class E1[\"end#10;note\"] {", "    <<abstract>>", "  }",
        "  E0 ..> \"*\" E1 : x#125;#123;#126;#42;#35;#59;#58;",
      ])
  }

  @Test("Labels in DOT are HTML, with escaped names")
  func dot() {
    let text = DOTWriter.text(hostile)
    #expect(text.contains("<b>&lt;A &amp; &quot;B&quot;&gt;&#39;</b>"))
    #expect(text.contains("e0:r0:e -> e1:name:w [arrowtail=none, arrowhead=normalnormal, style=dashed];"))
  }
}
