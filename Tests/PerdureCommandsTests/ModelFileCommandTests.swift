import ArgumentParser
import Foundation
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Suite("Model files in perdure model show and diagram")
struct ModelFileCommandTests {
  private let directory: TemporaryDirectory
  private var bundle: String { directory.file("Staff.xcdatamodeld") }
  private var version: String { bundle + "/Staff.xcdatamodel" }

  init() throws {
    directory = try TemporaryDirectory()
    try write(
      """
      <model>
          <entity name="Worker" representedClassName="Worker" syncable="YES">
              <attribute name="name" optional="YES" attributeType="String"/>
              <relationship name="boss" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Worker"/>
          </entity>
      </model>
      """, "Staff")
  }

  private func write(_ text: String, _ name: String) throws {
    let folder = "\(bundle)/\(name).xcdatamodel"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: folder + "/contents"))
  }

  @Test("The paths of a bundle, a version and its contents file show the same model")
  func showsFiles() throws {
    let shown = try Outcome("model", "show", bundle)
    #expect(shown.code == .success)
    #expect(shown.lines.first?.hasPrefix("1 entity, version hash ") == true)
    #expect(shown.lines.contains { $0.contains("name") && $0.contains("string") })
    for path in [bundle + "/", version, version + "/contents"] {
      #expect(try Outcome("model", "show", path).lines == shown.lines, "\(path)")
    }
    let html = try Outcome("model", "show", version + "/contents", "--format", "html")
    #expect(html.lines.contains { $0.contains("Staff") })
  }

  @Test("A diagram of a model file has the name of the folder")
  func drawsFiles() throws {
    for path in [bundle, version + "/contents"] {
      let outcome = try Outcome("model", "diagram", path)
      #expect(outcome.code == .success)
      #expect(outcome.lines.first?.contains("<title id=\"title\">Staff</title>") == true)
    }
    let near = try Outcome("model", "diagram", bundle, "--entity", "Wrker")
    #expect(near.code == .failed)
    #expect(near.errors.contains("The model has no entity Wrker. Did you mean Worker?"))
  }

  @Test("A version is chosen by name, and warnings go to the error stream")
  func choosesVersions() throws {
    try write("<model><entity name=\"Desk\" colour=\"red\"/></model>", "Staff 2")
    let none = try Outcome("model", "show", bundle)
    #expect(none.code == .failed && none.errors.contains("Choose one of Staff, Staff 2."))
    let second = try Outcome("model", "show", bundle, "--model-version", "Staff 2", "--format", "json")
    #expect(second.code == .success && second.lines.first?.contains("\"Desk\"") == true)
    #expect(second.errors.hasPrefix("\(bundle)/Staff 2.xcdatamodel/contents:1: warning: Desk: "))
    let store = try Outcome("model", "show", directory.path, "--model-version", "Staff 2")
    #expect(store.code == .failed && store.errors.contains("A store has one version of its model."))
  }

  @Test("All findings of a bad file are printed with file and line")
  func printsFindings() throws {
    try write(
      "<model><entity name=\"A\" parentEntity=\"B\"/>\n<entity name=\"C\" parentEntity=\"D\"/></model>",
      "Staff")
    for arguments in [["show", bundle], ["diagram", bundle]] {
      let outcome = try Outcome(["model"] + arguments)
      let lines = outcome.errors.split(separator: "\n")
      #expect(outcome.code == .failed && outcome.lines.isEmpty)
      #expect(lines.count { $0.hasPrefix("\(version)/contents:1: error: A: ") } == 1)
      #expect(lines.count { $0.hasPrefix("\(version)/contents:2: error: C: ") } == 1)
    }
    let json = try Outcome("model", "show", bundle, "--format", "json")
    #expect(json.code == .failed)
    #expect(json.lines.first?.contains("\"problems\"") == true)
    #expect(json.lines.first?.contains("\"line\":2,") == true)
  }

  @Test("The error for a missing file, or for a file that is not a model, names the path")
  func refusesOthers() throws {
    let missing = try Outcome("model", "show", directory.file("None.xcdatamodeld"))
    #expect(missing.code == .failed && missing.errors.contains("None.xcdatamodeld: error: "))
    let text = directory.file("notes.txt")
    try Data("text".utf8).write(to: URL(filePath: text))
    let wrong = try Outcome("model", "show", text)
    #expect(wrong.code == .failed && wrong.errors.hasPrefix("\(text):1: error: "))
  }

  @Test("Text-direction marks and line breaks in the names of a model file are escaped in all formats")
  func escapes() throws {
    try write(
      """
      <model userDefinedModelVersionIdentifier="1&#10;&#x202E;2">
          <entity name="A" representedClassName="B&#10;&#x202E;">
              <attribute name="a" attributeType="String"><userInfo><entry key="k" value="&#x202E;"/></userInfo></attribute>
          </entity>
      </model>
      """, "Staff")
    for format in ["table", "markdown", "html", "json"] {
      let shown = try Outcome("model", "show", bundle, "--format", format)
      let text = shown.lines.joined(separator: "\n")
      #expect(shown.code == .success && text.contains("202e") && !text.unicodeScalars.contains("\u{202E}"))
    }
    let table = try Outcome("model", "show", bundle).lines
    #expect(table[0].hasSuffix("versions 1\\n\\u{202e}2") && table[2] == "A, class B\\n\\u{202e}")
    let other = directory.file("B\u{202E}.xcdatamodel")
    try FileManager.default.copyItem(atPath: version, toPath: other)
    for command in [["diagram", other], ["show", other, "--format", "html"]] {
      let text = try Outcome(["model"] + command).lines.joined(separator: "\n")
      #expect(text.contains("B\\u{202e}") && !text.unicodeScalars.contains("\u{202E}"))
    }
  }

  @Test("Shell completion offers the entity names of model files")
  func completes() {
    #expect(EntityCompletion.names(for: ["perdure", "model", "show", bundle, "--entity"]) == ["Worker"])
  }
}
