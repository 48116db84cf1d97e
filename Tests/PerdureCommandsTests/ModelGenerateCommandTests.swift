import ArgumentParser
import Foundation
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Suite("perdure model generate")
struct ModelGenerateCommandTests {
  private let directory: TemporaryDirectory
  private var model: String { directory.file("Notes.xcdatamodel") }
  private var output: String { directory.file("Code") }

  init() throws {
    directory = try TemporaryDirectory()
    try write(
      """
      <model>
          <entity name="Note" representedClassName="Note" syncable="YES">
              <attribute name="text" optional="YES" attributeType="String"/>
              <attribute name="colour" optional="YES" attributeType="Transformable"/>
          </entity>
      </model>
      """)
  }

  private func write(_ text: String) throws {
    try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: model + "/contents"))
  }

  @Test("The classes are written once, with warnings about the model")
  func generation() throws {
    let file = output + "/Notes+Generated.swift"
    let first = try Outcome("model", "generate", model, "--output", output)
    #expect(first.code == .success && first.lines == ["\(file): written"])
    #expect(first.errors.hasPrefix("\(model)/contents:4: warning: Note.colour: "))
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.contains("final class Note: ManagedObject {"))
    let second = try Outcome("model", "generate", model, "--output", output)
    #expect(second.code == .success && second.lines == ["\(file): unchanged"])
  }

  @Test("Options select the form of the code")
  func options() throws {
    let outcome = try Outcome(
      "model", "generate", model, "--output", output, "--entities", "extension", "--access", "public",
      "--no-names", "--import", "Support")
    #expect(outcome.code == .success)
    let text = try String(contentsOfFile: output + "/Notes+Generated.swift", encoding: .utf8)
    #expect(text.contains("\nextension Note {") && text.contains("\nimport Support\n"))
    #expect(text.contains("  public var text: String? {") && !text.contains("entityName"))
    _ = try Outcome("model", "generate", model, "--output", output, "--entities", "file")
    let manual = try String(contentsOfFile: output + "/Notes+Generated.swift", encoding: .utf8)
    #expect(manual.contains("enum NoteEntity") && !manual.contains("var text"))
  }

  @Test("If the options file does not set entities, the default of the command applies")
  func choicesWithoutEntities() throws {
    try write(
      """
      <model><entity name="Note" representedClassName="Note" codeGenerationType="category">
      <attribute name="text" optional="YES" attributeType="String"/></entity></model>
      """)
    try Data("{\"access\": \"public\"}".utf8).write(to: URL(filePath: directory.file("Notes.perdure.json")))
    _ = try Outcome("model", "generate", model, "--output", output)
    let text = try String(contentsOfFile: output + "/Notes+Generated.swift", encoding: .utf8)
    #expect(text.contains("public final class Note: ManagedObject {"), "\(text)")
  }

  @Test("All problems are listed, and nothing is written")
  func problems() throws {
    try write(
      "<model><entity name=\"Note\"><attribute name=\"no\" attributeType=\"Boolean\"/></entity></model>")
    let macros = try Outcome("model", "generate", model, "--output", output, "--style", "macros")
    #expect(macros.code == .failed && macros.lines.isEmpty)
    #expect(macros.errors.hasPrefix("\(model)/contents:1: error: Note.no: "))
    try write(
      "<model><entity name=\"A\" parentEntity=\"B\"/>\n<entity name=\"C\" parentEntity=\"D\"/></model>")
    let broken = try Outcome("model", "generate", model, "--output", output)
    #expect(broken.code == .failed)
    #expect(broken.errors.split(separator: "\n").count { $0.contains(": error: ") } == 2)
    #expect(!FileManager.default.fileExists(atPath: output))
  }
}
