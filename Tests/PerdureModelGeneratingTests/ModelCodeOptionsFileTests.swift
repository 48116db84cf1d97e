import Foundation
import PerdureModelCode
import PerdureModelGenerating
import PerdureTestSupport
import Testing

@Suite("Options for generated code, in a file in the same folder as the model")
struct ModelCodeOptionsFileTests {
  private let directory: TemporaryDirectory
  private var model: String { directory.file("Staff.xcdatamodel") }
  private var file: String { directory.file("Staff.perdure.json") }

  init() throws {
    directory = try TemporaryDirectory()
    let text = """
      <model><entity name="Worker" representedClassName="Worker">
        <attribute name="age" optional="YES" attributeType="Integer 16" usesScalarValueType="YES"/>
        <attribute name="born" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
        <attribute name="isAway" optional="YES" attributeType="Boolean" usesScalarValueType="YES"/>
        <attribute name="left" optional="YES" attributeType="Date" usesScalarValueType="YES"/>
        <attribute name="name" attributeType="String"/>
        <attribute name="size" optional="YES" attributeType="Double" usesScalarValueType="NO"/>
      </entity></model>
      """
    try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: model + "/contents"))
  }

  private func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: file)) }

  /// The code that is generated with the options of the file.
  private func code() throws -> String { try ModelCodeGenerator(contentsOf: model).file.text }

  @Test("The file has the name of the model and is in the same folder as the model's folder")
  func path() {
    for (model, file) in [
      ("/a/Staff.xcdatamodeld", "/a/Staff.perdure.json"), ("Staff.xcdatamodel/", "Staff.perdure.json"),
      ("/a/Staff.xcdatamodel/contents", "/a/Staff.perdure.json"),
      ("b/S 2.xcdatamodeld", "b/S 2.perdure.json"),
    ] {
      #expect(ModelCodeOptions.file(besideModelAt: model) == file)
    }
  }

  @Test("Every option in the file is read, and the other options keep their defaults")
  func choices() throws {
    #expect(try ModelCodeOptions(besideModelAt: model) == nil)
    try write("{}")
    #expect(try ModelCodeOptions(besideModelAt: model) == ModelCodeOptions())
    try write(
      """
      {"style": "macros", "entities": "extension", "access": "public", "scalars": "file", "module": "Staff",
       "imports": ["A", "B"], "names": false}
      """)
    var options = ModelCodeOptions()
    (options.style, options.entityCode, options.access) = (.macros, .categoryExtension, .public)
    (options.scalars, options.module, options.imports) = (.file, "Staff", ["A", "B"])
    options.hasNameConstants = false
    #expect(try ModelCodeOptions(besideModelAt: model) == options)
    try write("{\"entities\": \"file\"}")
    #expect(try ModelCodeOptions(besideModelAt: model)?.entityCode == nil)
    #expect(try ModelCodeOptions(besideModelAt: model, defaults: options)?.entityCode == nil)
    try write("{\"access\": \"package\"}")
    var changed = options
    changed.access = .package
    #expect(try ModelCodeOptions(besideModelAt: model, defaults: options) == changed)
  }

  @Test("The generator uses the options of the file, unless the caller passes options")
  func generator() throws {
    try write("{\"entities\": \"class\", \"access\": \"package\"}")
    #expect(try code().contains("package final class Worker: ManagedObject"))
    let plain = try ModelCodeGenerator(contentsOf: model, options: ModelCodeOptions()).file.text
    #expect(!plain.contains("package "))
  }

  @Test("Types are exact by default, and those of Xcode with the option scalars: file")
  func scalars() throws {
    try write("{\"entities\": \"class\"}")
    let exact = try code()
    #expect(exact.contains("var age: Int16? {") && exact.contains("var isAway: Bool? {"))
    #expect(exact.contains("var left: Date? {") && exact.contains("var name: String {"))
    try write("{\"entities\": \"class\", \"scalars\": \"file\"}")
    let text = try code()
    #expect(text.contains("var age: Int16 {") && text.contains("var isAway: Bool {"))
    #expect(text.contains("var born: Date? {") && text.contains("var size: Double? {"))
    #expect(text.contains("var left: TimeInterval {") && text.contains("var name: String? {"))
    // The stored attribute stays optional, so the store can contain nil.
    #expect(text.contains("AttributeDescription(\"age\", .int16)"))
    try write("{\"entities\": \"class\", \"scalars\": \"file\", \"style\": \"macros\"}")
    let error = #expect(throws: ModelCodeError.self) { try code() }
    #expect(error?.problems.map(\.property) == ["age", "isAway", "left", "name"])
  }

  @Test("All problems of the file are reported together, with its path and remedies")
  func problems() throws {
    try write(
      """
      {"acces": "public", "entities": "none", "imports": "A", "module": 1, "names": "yes", "style": ["macros"]}
      """)
    let error = #expect(throws: ModelCodeOptionsError.self) { try code() }
    let lines = "\(try #require(error))".split(separator: "\n")
    #expect(lines.count == 6 && lines.allSatisfy { $0.hasPrefix("\(file): error: ") })
    #expect(lines.first?.contains("\"acces\" is not an option. Did you mean access?") == true)
    #expect(lines.last?.hasSuffix("Write one of accessors, macros.") == true)
    for text in ["", "[]", "{", "{\"style\": \"macros\"} x"] {
      try write(text)
      #expect(throws: ModelCodeOptionsError.self, "\(text)") { try code() }
    }
  }
}
