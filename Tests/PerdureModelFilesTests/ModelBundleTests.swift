import Foundation
import PerdureFileIO
import PerdureModel
import PerdureTestSupport
import Testing

@testable import PerdureModelFiles

@Suite("Bundles of model versions")
struct ModelBundleTests {
  private let disk = POSIXFileSystem()
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Writes a file, and the folders that contain it.
  private func put(_ text: String, _ names: String...) throws {
    for count in 1..<names.count {
      let folder = directory.file(names[..<count].joined(separator: "/"))
      if try disk.kind(of: folder) == nil { try disk.createDirectory(folder) }
    }
    let file = try disk.open(directory.file(names.joined(separator: "/")), .create)
    try file.write(Array(text.utf8), at: 0)
  }

  private static func text(_ entity: String) -> String { "<model><entity name='\(entity)'/></model>" }

  private static func marker(_ name: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    <dict>
    \t<key>_XCCurrentVersionName</key>
    \t<string>\(name)</string>
    </dict>
    </plist>

    """
  }

  private func putVersions(_ marker: String?) throws {
    try put(Self.text("A"), "M.xcdatamodeld", "M.xcdatamodel", "contents")
    try put(Self.text("B"), "M.xcdatamodeld", "M 10.xcdatamodel", "contents")
    try put(Self.text("C"), "M.xcdatamodeld", "M &2.xcdatamodel", "contents")
    if let marker { try put(marker, "M.xcdatamodeld", ".xccurrentversion") }
  }

  private func entity(_ version: String?) throws -> String? {
    let path = directory.file("M.xcdatamodeld")
    return try ManagedObjectModel(contentsOf: path, version: version).entities.first?.name
  }

  private func kind(_ body: () throws -> Void) -> ModelFileProblem.Kind? {
    #expect(throws: ModelFileError.self, performing: body)?.problems.first?.kind
  }

  @Test("The current version, a named version and all names are read")
  func versions() throws {
    try putVersions(Self.marker("M &amp;2.xcdatamodel"))
    let bundle = try ModelBundle(contentsOf: directory.file("M.xcdatamodeld/"))
    #expect(bundle.versionNames == ["M", "M &2", "M 10"].sorted(by: NaturalOrder.precedes))
    #expect(bundle.currentVersionName == "M &2")
    #expect(try entity(nil) == "C" && entity("M 10") == "B" && entity("M.xcdatamodel") == "A")
    let error = #expect(throws: ModelFileError.self) { try bundle.document(version: "N") }
    #expect(error?.description.contains("Did you mean M?") == false)
    #expect(error?.problems.first?.kind == .version)
  }

  @Test("If a bundle has several versions and no current one, a version must be chosen by name")
  func noMarker() throws {
    try putVersions(nil)
    #expect(kind { _ = try entity(nil) } == .version)
    #expect(try entity("M") == "A")
  }

  @Test(
    "A damaged file with the name of the current version is refused",
    arguments: [
      (marker("N.xcdatamodel"), ModelFileProblem.Kind.version), ("<plist><dict/></plist>", .version),
      ("<plist><dict><key>_XCCurrentVersionName</key><true/></dict></plist>", .version), ("", .syntax),
      ("bplist00", .format), ("<!DOCTYPE a [<!ENTITY b 'c'>]><plist/>", .syntax),
      ("<!DOCTYPE a [<!ATTLIST b c CDATA #IMPLIED>]><plist/>", .syntax),
      ("<!DOCTYPE a [<!NOTATION b PUBLIC 'c'>]><plist/>", .syntax), ("<?a?><plist/>", .syntax),
    ])
  func damagedMarker(_ text: String, _ expected: ModelFileProblem.Kind) throws {
    try putVersions(text)
    #expect(kind { _ = try ModelBundle(contentsOf: directory.file("M.xcdatamodeld")) } == expected)
  }

  @Test("The folder of one version, and a single file, can be read as models")
  func single() throws {
    try put(Self.text("A"), "N.xcdatamodel", "contents")
    try put(Self.text("B"), "model.xml")
    let folder = try ModelBundle(contentsOf: directory.file("N.xcdatamodel"))
    #expect(folder.currentVersionName == "N" && folder.versionNames == ["N"])
    #expect(try folder.managedObjectModel().entities.map(\.name) == ["A"])
    let model = try ManagedObjectModel(contentsOf: directory.file("model.xml"))
    #expect(model.entities.map(\.name) == ["B"])
  }

  @Test("Paths without a readable model are refused")
  func noModel() throws {
    try put("x", "Old.xcdatamodel", "elements")
    try put("x", "Old.xcdatamodel", "layout")
    try put("x", "Compiled.momd", "A.mom")
    try put("x", "Empty.xcdatamodeld", "readme")
    try put("x", "Folder.xcdatamodel", "contents", "file")
    try put("bplist00", "A.mom")
    let rows: [(String, ModelFileProblem.Kind)] = [
      ("Old.xcdatamodel", .format), ("Compiled.momd", .format), ("Empty.xcdatamodeld", .format),
      ("Folder.xcdatamodel", .file), ("A.mom", .format), ("Absent.xcdatamodeld", .file), ("A.mom/x", .file),
    ]
    for (name, expected) in rows {
      #expect(kind { _ = try ManagedObjectModel(contentsOf: directory.file(name)) } == expected, "\(name)")
    }
  }

  @Test("The error for a symbolic link to itself names symbolic links as the cause")
  func linkToItself() throws {
    let path = directory.file("M.xcdatamodel")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
    for place in [path, path + "/contents"] {
      let error = #expect(throws: ModelFileError.self) { try ModelBundle(contentsOf: place).document() }
      #expect(error?.problems.first?.message.contains("too many symbolic links") == true)
    }
  }

  @Test("An invalid model gives all its problems with the file and the lines")
  func invalid() throws {
    try put("<model>\n<entity name='A' parentEntity='B'/>\n<entity/>\n</model>", "M.xcdatamodel", "contents")
    let error = #expect(throws: ModelFileError.self) {
      try ManagedObjectModel(contentsOf: directory.file("M.xcdatamodel"))
    }
    #expect(error?.problems.map(\.line) == [2, 3])
    #expect(error?.problems.first?.file == directory.file("M.xcdatamodel/contents"))
  }

  private func model(_ properties: PropertyDescription...) throws -> ManagedObjectModel {
    try ManagedObjectModel([EntityDescription("A", properties: properties)])
  }

  @Test(
    "A model is equal after it is written and read", arguments: ["M.xcdatamodeld", "M.xcdatamodel", "m.xml"])
  func written(_ name: String) throws {
    let path = directory.file(name)
    let first = try model(.string("a"))
    try first.write(to: path)
    #expect(try ManagedObjectModel(contentsOf: path).entities == first.entities)
    let second = try model(.string("a"), .int16("b", optional: false))
    try second.write(to: path)
    #expect(try ManagedObjectModel(contentsOf: path).entities == second.entities)
    #expect(try ModelBundle(contentsOf: path).versionNames == [ModelFolder.stem(name)])
  }

  @Test("A new version is not the current one until it is chosen")
  func newVersion() throws {
    let path = directory.file("M.xcdatamodeld")
    try model(.string("a")).write(to: path)
    try model(.string("b")).write(to: path, version: "M 2")
    #expect(try ManagedObjectModel(contentsOf: path).entities[0].attributes[0].name == "a")
    var bundle = try ModelBundle(contentsOf: path)
    #expect(bundle.currentVersionName == "M" && bundle.versionNames == ["M", "M 2"])
    try bundle.setCurrentVersion("M 2.xcdatamodel")
    #expect(try ManagedObjectModel(contentsOf: path).entities[0].attributes[0].name == "b")
    let file = try disk.open("\(path)/.xccurrentversion", .read)
    let text = try String(decoding: file.read(Int(file.size()), at: 0), as: UTF8.self)
    #expect(text == Self.marker("M 2.xcdatamodel"))
    #expect(kind { try bundle.setCurrentVersion("M 3") } == .version)
  }

  @Test("Version names that lead out of the folder, and versions of single files, are refused")
  func versionNames() throws {
    let document = try ModelDocument(model())
    var bundle = try ModelBundle.openOrMake(directory.file("M.xcdatamodeld"), in: disk)
    for name in ["", ".", "..", "a/b", "../a", "a\0b"] {
      #expect(kind { try bundle.write(document, version: name) } == .version)
    }
    try model().write(to: directory.file("m.xml"))
    #expect(kind { try model().write(to: directory.file("m.xml"), version: "n") } == .version)
    #expect(kind { try model().write(to: directory.file("absent/m.xml")) } == .file)
  }

  private struct WrongModel: Error {}

  @Test("After a failed call or a power cut, a file has its old bytes or its new bytes")
  func failures() throws {
    let (old, new) = (try model(.string("a")), try model(.string("b")))
    var explorer = CrashExplorer()
    explorer.imagesPerOperationMax = LongRun.count(4, long: 8)
    let report = FailureSweep().run { fileSystem in
      var written: [String] = []
      for model in [old, new] {
        guard (try? model.write(to: "m.xml", version: nil, in: fileSystem)) != nil else { break }
        written = model.entities[0].attributes.map(\.name)
      }
      return written
    } verify: { written, fileSystem in
      for disk in explorer.images(of: fileSystem.journal, after: fileSystem.operationCount) {
        let files = disk.fileSystem()
        if written.isEmpty, try files.kind(of: "m.xml") == nil { continue }
        let bundle = try ModelBundle(contentsOf: "m.xml", in: files)
        let names = try bundle.managedObjectModel().entities[0].attributes.map(\.name)
        if names != ["b"], written == ["b"] || names != ["a"] { throw WrongModel() }
      }
    }
    try report.check()
  }
}
