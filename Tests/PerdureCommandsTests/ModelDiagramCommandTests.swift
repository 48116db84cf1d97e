import ArgumentParser
import Foundation
import Perdure
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Suite("perdure model diagram")
struct ModelDiagramCommandTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("Staff.perdure") }

  init() throws {
    directory = try TemporaryDirectory()
    let model = try ManagedObjectModel([
      EntityDescription(
        "Worker",
        properties: [
          .string("email"), .double("salary"), .toOne("company", "Company", inverse: "workers"),
          .toOne("desk", "Desk"),
        ], uniquenessConstraints: [["email"]]),
      EntityDescription("Company", properties: [.toMany("workers", "Worker", inverse: "company")]),
      EntityDescription("Desk", properties: [.string("room")]),
    ])
    let container = PersistentContainer(name: "Staff", model: model, at: path)
    try container.loadPersistentStores()
    try container.close()
  }

  private func diagram(_ arguments: String...) throws -> Outcome {
    try Outcome(["model", "diagram", path] + arguments)
  }

  @Test("The whole model is an SVG picture with the name of the store")
  func svg() throws {
    let outcome = try diagram()
    #expect(outcome.code == .success && outcome.errors == "" && outcome.lines.count == 1)
    let text = try #require(outcome.lines.first)
    #expect(text.hasPrefix("<svg ") && text.hasSuffix("</svg>"))
    #expect(text.contains("<title id=\"title\">Staff</title>"))
    #expect(text.contains(">salary</text>"))
    #expect(try diagram().lines == outcome.lines)
  }

  @Test("Mermaid and DOT show the entities near the named ones, with the selected attributes")
  func selection() throws {
    let mermaid = try diagram("--format", "mermaid", "--entity", "Company", "--attributes", "keys")
    #expect(
      mermaid.lines.first?.split(separator: "\n") == [
        "classDiagram", "  direction LR", "  class E0[\"Company\"] {", "    workers [Worker]", "  }",
        "  class E1[\"Worker\"] {", "    email string?", "    company Company?", "    desk Desk?", "  }",
        "  E0 \"1\" <--> \"*\" E1 : workers / company",
      ])
    let dot = try diagram("--format", "dot", "--entity", "Company", "--depth", "2", "--attributes", "none")
    let text = try #require(dot.lines.first)
    #expect(text.contains("<b>Desk</b>") && !text.contains("salary") && !text.contains("email"))
  }

  @Test("--output writes the whole file or nothing, and replaces an earlier file")
  func output() throws {
    let file = directory.file("Staff.dot")
    try "earlier".write(toFile: file, atomically: true, encoding: .utf8)
    let outcome = try diagram("--format", "dot", "--output", file)
    #expect(outcome.code == .success && outcome.lines.isEmpty)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.hasPrefix("digraph model {\n") && text.hasSuffix("}\n"))
    func drafts() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".new") }
    }
    #expect(try drafts().isEmpty)
    let refused = try diagram("--output", directory.file("none/Staff.svg"))
    #expect(refused.code == .failed && refused.errors.contains("none/Staff.svg"))
    // The path is a folder, so the command fails, and removes its temporary file.
    #expect(try diagram("--output", path).code == .failed)
    #expect(try drafts().isEmpty)
  }

  @Test("Unknown entities, a missing store and wrong depths are errors")
  func refused() throws {
    let near = try diagram("--entity", "Wrker")
    #expect(
      near.code == .failed && near.errors.contains("The model has no entity Wrker. Did you mean Worker?"))
    #expect(try Outcome("model", "diagram", directory.file("none")).code == .failed)
    for arguments in [["--depth", "-1", "--entity", "Worker"], ["--depth", "1"], ["--format", "png"]] {
      #expect(throws: (any Error).self, "\(arguments)") {
        try PerdureCommand.command(for: ["model", "diagram", path] + arguments)
      }
    }
  }
}
