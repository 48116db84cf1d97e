import Foundation
import PerdureModelCode
import PerdureModelFiles
import PerdureModelGenerating
import PerdureTestSupport
import Testing

@Suite("Code of model files")
struct ModelCodeGeneratorTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private static let text = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Shop" representedClassName="Store.Shop" syncable="YES" codeGenerationType="class">
            <attribute name="address" optional="YES" attributeType="Composite" composite="Address"/>
            <attribute name="hours" optional="YES" attributeType="Transformable" valueTransformerName="T" \
    customClassName="[Int: String]"/>
        </entity>
        <entity name="Owner" representedClassName="Owner" syncable="YES" codeGenerationType="category"/>
        <entity name="Visit" representedClassName="Visit" syncable="YES">
            <attribute name="office" optional="YES" attributeType="Composite" composite="Address"/>
        </entity>
        <composite name="Address">
            <attribute name="place" optional="YES" attributeType="Composite" composite="Place"/>
            <attribute name="street" optional="YES" attributeType="String"/>
        </composite>
        <composite name="Place">
            <attribute name="x" attributeType="Double"/>
        </composite>
    </model>
    """

  /// Writes a model folder and returns its path.
  private func model(_ text: String = text) throws -> String {
    let path = directory.file("Shops.xcdatamodel")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: path + "/contents"))
    return path
  }

  @Test("A model file specifies the kind of code, the types of attributes and the names of composites")
  func hints() throws {
    let hints = try ModelDocument(Array(Self.text.utf8), file: "contents").codeHints()
    #expect(hints.entityCode == ["Shop": .classDefinition, "Owner": .categoryExtension, "Visit": .manual])
    #expect(hints.attributeTypes == ["Shop.hours": "[Int: String]"])
    #expect(
      hints.compositeNames == [
        "Shop.address": "Address", "Shop.address.place": "Place", "Visit.office": "Address",
        "Visit.office.place": "Place",
      ])
  }

  @Test("The search for composite names ends at a composite that contains itself")
  func composites() throws {
    let text = Self.text.replacing("composite=\"Place\"", with: "composite=\"Address\"")
    let hints = try ModelDocument(Array(text.utf8), file: "contents").codeHints()
    #expect(hints.compositeNames["Shop.address.place"] == "Address" && hints.compositeNames.count == 4)
    #expect(throws: ModelFileError.self) { try ModelCodeGenerator(contentsOf: model(text)) }
  }

  @Test("The hints in a model file determine its code, unless options replace them")
  func generation() throws {
    let path = try model()
    let file = try ModelCodeGenerator(contentsOf: path).file
    #expect(file.name == "Shops+Generated.swift")
    #expect(file.text.contains("final class Shop:") && file.text.contains("var hours: [Int: String]?"))
    #expect(file.text.contains("\nextension Owner {") && !file.text.contains("class Visit:"))
    #expect(file.text.contains("struct Address:") && file.text.contains("struct Place:"))
    var options = ModelCodeOptions()
    options.entityCode = .classDefinition
    let classes = try ModelCodeGenerator(contentsOf: path + "/contents", options: options).file
    #expect(classes.name == file.name && classes.text.contains("final class Visit:"))
  }

  @Test("A file that already contains the code is not written again")
  func unchanged() throws {
    let folder = directory.file("Generated")
    let generator = try ModelCodeGenerator(contentsOf: model())
    let first = try generator.write(toFolder: folder)
    #expect(first.isNew && first.path == folder + "/Shops+Generated.swift")
    #expect(try String(contentsOfFile: first.path, encoding: .utf8) == generator.file.text)
    let date = try modificationDate(first.path)
    let second = try generator.write(toFolder: folder)
    #expect(!second.isNew && second.path == first.path)
    #expect(try modificationDate(first.path) == date)
    try Data("changed".utf8).write(to: URL(filePath: first.path))
    #expect(try generator.write(toFolder: folder).isNew)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["Shops+Generated.swift"])
  }

  private func modificationDate(_ path: String) throws -> Date? {
    try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
  }

  private func lines(_ text: String, style: ModelCodeStyle = .accessors) throws -> [String] {
    let path = try model(text)
    var options = ModelCodeOptions()
    (options.style, options.entityCode) = (style, .classDefinition)
    let error = #expect(throws: ModelCodeError.self) {
      try ModelCodeGenerator(contentsOf: path, options: options)
    }
    let words = ModelCodeGenerator.words(for: try #require(error), ofModel: path)
    return words.split(whereSeparator: \.isNewline).map { String($0).replacing(path, with: "M") }
  }

  @Test("Each problem is one line with the file and line of its part, in the form of compiler messages")
  func problems() throws {
    let lines = try lines(
      Self.text.replacing("Store.Shop", with: "a b").replacing("[Int: String]", with: "()"))
    #expect(lines.count == 2)
    #expect(lines[0].hasPrefix("M/contents:3: error: Shop: \"a b\" is not the name of a class. "))
    #expect(lines[1].hasPrefix("M/contents:5: error: Shop.hours: \"()\" is not the name of a type. "))
  }

  @Test("Problems of composites, templates, relationships and fetched properties have their lines")
  func linesOfParts() throws {
    let lines = try lines(
      """
      <model>
      <entity name="A">
      <relationship name="b" optional="YES" toMany="YES" destinationEntity="A"/>
      <relationship name="B" optional="YES" toMany="YES" destinationEntity="A"/>
      <fetchedProperty name="Date">
      <fetchRequest name="fetchedPropertyFetchRequest" entity="A"/></fetchedProperty>
      <attribute name="d" optional="YES" attributeType="Composite" composite="Data"/>
      </entity>
      <composite name="Data">
      <attribute name="a" optional="YES" attributeType="String"/>
      </composite>
      <fetchRequest name="all" entity="A"/>
      <fetchRequest name="!" entity="A"/>
      <fetchRequest name="All" entity="A"/>
      </model>
      """)
    #expect(
      Set(lines.map { String($0.prefix { $0 != " " }) })
        == ["M/contents:4:", "M/contents:5:", "M/contents:9:", "M/contents:12:", "M/contents:13:"])
  }

  @Test("Problems of the macro style have lines, and problems of the model as a whole have its path")
  func linesOfMacros() throws {
    let text = """
      <model><entity name="A">
      <attribute name="no" optional="YES" attributeType="String"/></entity>
      </model>
      """
    #expect(try lines(text, style: .macros).map { String($0.prefix(27)) } == ["M/contents:2: error: A.no: "])
    let path = directory.file("!.xcdatamodel")
    try FileManager.default.copyItem(atPath: try model(text), toPath: path)
    let error = #expect(throws: ModelCodeError.self) { try ModelCodeGenerator(contentsOf: path) }
    let words = ModelCodeGenerator.words(for: try #require(error), ofModel: path)
    #expect(words.hasPrefix("\(path): error: model: The name \"!\""))
  }

  @Test("A problem about a name that contains a line end is one line")
  func lineEnds() throws {
    let lines = try lines(Self.text.replacing("Store.Shop", with: "a&#10;M:1: error: b&#x202E;"))
    #expect(
      lines.count == 1 && lines[0].hasPrefix("M/contents:3: error: Shop: \"a\\nM:1: error: b\\u{202e}\""))
  }
}
