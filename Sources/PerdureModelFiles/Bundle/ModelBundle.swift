import PerdureFileIO
public import PerdureModel
import PerdurePredicates

/// The versions of a model on the disk: an `.xcdatamodeld` folder, or a single file.
///
///     var bundle = try ModelBundle(contentsOf: "Shop.xcdatamodeld")
///     let model = try bundle.managedObjectModel()
///     try bundle.write(ModelDocument(changed), version: "Shop 2")
///     try bundle.setCurrentVersion("Shop 2")
///
/// A single `.xcdatamodel` folder or `contents` file is a bundle of one version. Only the names of
/// versions are read when a bundle is opened.
public struct ModelBundle: Sendable {
  /// The path of the folder or file.
  public let path: String
  /// The names of the versions, without `.xcdatamodel`, in the order in which Xcode sorts names.
  public private(set) var versionNames: [String]
  /// The version that programs use; nil if the bundle has several versions and names no current
  /// one.
  public private(set) var currentVersionName: String?

  private let layout: Layout
  private let folder: ModelFolder

  /// The arrangement of the files.
  private enum Layout {
    /// A folder with a folder for each version.
    case versions
    /// A folder with the file `contents`.
    case folder
    /// The file itself.
    case file
  }

  private static let marker = ".xccurrentversion"
  private static let versionSuffix = ".xcdatamodel"

  /// Opens a bundle.
  ///
  /// - Parameter path: An `.xcdatamodeld` folder, an `.xcdatamodel` folder, or a file in their
  ///   format with any name.
  /// - Throws: `ModelFileError`, if there is no file or folder at the path, if a folder has no
  ///   model or cannot be read, or if the file that names the current version cannot be read or
  ///   names a version that does not exist.
  /// - Complexity: O(v log v) for v versions.
  public init(contentsOf path: String) throws(ModelFileError) {
    try self.init(contentsOf: path, in: POSIXFileSystem())
  }

  init(contentsOf path: String, in fileSystem: any FileSystem) throws(ModelFileError) {
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    self.path = path
    folder = ModelFolder(fileSystem: fileSystem)
    let name = ModelFolder.stem(ModelFolder.name(of: path))
    switch try folder.kind(of: path) {
    case .file, .other:
      (layout, versionNames, currentVersionName) = (.file, [name], name)
    case .directory:
      let names = try folder.names(in: path)
      let versions = names.filter { $0.hasSuffix(Self.versionSuffix) }.map(ModelFolder.stem)
      if versions.isEmpty {
        try Self.checkContents(names, path)
        (layout, versionNames, currentVersionName) = (.folder, [name], name)
        return
      }
      layout = .versions
      versionNames = versions.sorted(by: NaturalOrder.precedes)
      currentVersionName = versions.count == 1 ? versions[0] : nil
      if names.contains(Self.marker) { currentVersionName = try readMarker() }
    case nil:
      throw ModelFileError(.file, file: path, "There is no file or folder at the path.", "Correct the path.")
    }
  }

  /// Makes an empty bundle, for a path with an empty folder, or without a file or folder.
  private init(empty path: String, _ folder: ModelFolder) {
    self.path = path
    self.folder = folder
    (versionNames, currentVersionName) = ([], nil)
    layout =
      path.hasSuffix(".xcdatamodeld") ? .versions : path.hasSuffix(Self.versionSuffix) ? .folder : .file
  }

  private static func checkContents(_ names: [String], _ path: String) throws(ModelFileError) {
    if names.contains("contents") { return }
    if names.contains("elements"), names.contains("layout") {
      throw ModelFileError(
        .format, file: path, "The model has the format of Xcode 3.",
        "Open it with Xcode 4 or later and save it.")
    }
    if names.contains(where: { $0.hasSuffix(".mom") }) {
      throw ModelFileError(
        .format, file: path, "The folder contains a compiled model.",
        "Give the .xcdatamodeld folder from which it was compiled.")
    }
    throw ModelFileError(
      .format, file: path, "The folder contains no model.", "Give an .xcdatamodeld or .xcdatamodel folder.")
  }
}

// MARK: - Versions

extension ModelBundle {
  /// Reads a version.
  ///
  /// - Parameter version: The name, with or without `.xcdatamodel`; by default the current version.
  /// - Throws: `ModelFileError`, if there is no such version, if `version` is nil and the bundle
  ///   names no current version, or if the file of the version cannot be read.
  /// - Complexity: O(n) for a file of n bytes.
  public func document(version: String? = nil) throws(ModelFileError) -> ModelDocument {
    let file = file(ofVersion: try name(ofVersion: version))
    return try ModelDocument(folder.bytes(of: file), file: file)
  }

  /// Reads a version as a model. See ``ModelDocument/managedObjectModel()``.
  ///
  /// - Throws: `ModelFileError` in the same cases as ``document(version:)``, and for an invalid
  ///   model.
  public func managedObjectModel(version: String? = nil) throws(ModelFileError) -> ManagedObjectModel {
    try document(version: version).managedObjectModel()
  }

  /// The existing version with a name; the current version for nil.
  func name(ofVersion version: String?) throws(ModelFileError) -> String {
    guard let version else {
      if let currentVersionName { return currentVersionName }
      throw ModelFileError(
        .version, file: path, "The bundle has \(versionNames.count) versions, but names no current one.",
        "Choose one of \(versionNames.joined(separator: ", ")).")
    }
    let name = Self.withoutSuffix(version)
    if versionNames.contains(name) { return name }
    throw ModelFileError(
      .version, file: path, "The bundle has no version \"\(name)\".",
      "Choose one of \(versionNames.joined(separator: ", ")).\(NearMisses.question(name, in: versionNames))")
  }

  /// The name of the model at a path: the name of the file or folder without its extension; for a
  /// file `contents`, that of its folder.
  package static func modelName(at path: String) -> String {
    var names = path.split(separator: "/").map(String.init)
    if names.last == "contents" { names.removeLast() }
    return ModelFolder.stem(names.last ?? path)
  }

  static func withoutSuffix(_ version: String) -> String {
    version.hasSuffix(versionSuffix) ? ModelFolder.stem(version) : version
  }

  private func file(ofVersion name: String) -> String {
    switch layout {
    case .versions: "\(path)/\(name)\(Self.versionSuffix)/contents"
    case .folder: "\(path)/contents"
    case .file: path
    }
  }
}

// MARK: - Writing

extension ModelBundle {
  /// Writes a version, and adds it if it does not exist. The first version becomes the current one.
  ///
  /// The bytes are durable when the call returns. A crash leaves the old file or the new one. A
  /// file that already has these bytes is not written.
  ///
  /// - Parameter version: The name of the version. A single file or `.xcdatamodel` folder that
  ///   exists has only its own version.
  /// - Throws: `ModelFileError`, if no version can have this name, if a single model has another
  ///   version, if the document has a value that XML cannot contain, or if a file cannot be read or
  ///   written. An existing file then has its old or its new content, and an empty folder of the
  ///   version may exist.
  public mutating func write(_ document: ModelDocument, version: String) throws(ModelFileError) {
    let bytes = try document.bytes()
    let name = Self.withoutSuffix(version)
    guard !name.isEmpty, !name.contains("/"), !name.contains("\0"), name != ".", name != ".." else {
      throw ModelFileError(
        .version, file: path, "\"\(name)\" cannot be the name of a version.",
        "Use a name that is not empty, \".\" or \"..\", and that has no slash and no NUL character.")
    }
    let isNew = !versionNames.contains(name)
    if isNew, layout != .versions, !versionNames.isEmpty {
      throw ModelFileError(
        .version, file: path, "A single model has no version \"\(name)\".",
        "Write an .xcdatamodeld folder, or the version \"\(versionNames[0])\".")
    }
    // Write the name of the current version first: without it, a bundle of two versions has no
    // current one.
    if isNew, layout == .versions, versionNames.count == 1, let currentVersionName {
      try writeMarker(currentVersionName)
    }
    if layout != .file { try folder.makeFolder(path) }
    if layout == .versions { try folder.makeFolder("\(path)/\(name)\(Self.versionSuffix)") }
    try folder.write(bytes, to: file(ofVersion: name))
    if isNew {
      versionNames = (versionNames + [name]).sorted(by: NaturalOrder.precedes)
      if versionNames.count == 1 { currentVersionName = name }
    }
  }

  /// Makes a version the current one. The change is durable when the call returns.
  ///
  /// - Throws: `ModelFileError`, if there is no such version, or the file cannot be written.
  ///   ``currentVersionName`` is then unchanged. The file has its old or its new content.
  public mutating func setCurrentVersion(_ version: String) throws(ModelFileError) {
    let name = try name(ofVersion: version)
    if name == currentVersionName { return }
    try writeMarker(name)
    currentVersionName = name
  }

  /// Opens the bundle at a path, or makes an empty bundle if the path has an empty folder, or no
  /// file or folder.
  static func openOrMake(_ path: String, in fileSystem: any FileSystem) throws(ModelFileError) -> ModelBundle
  {
    let folder = ModelFolder(fileSystem: fileSystem)
    guard let kind = try folder.kind(of: path) else { return ModelBundle(empty: path, folder) }
    if kind == .directory, try folder.names(in: path).isEmpty { return ModelBundle(empty: path, folder) }
    return try ModelBundle(contentsOf: path, in: fileSystem)
  }
}

// MARK: - The current version

extension ModelBundle {
  private static let markerKey = "_XCCurrentVersionName"

  /// Reads the property list that names the current version.
  private func readMarker() throws(ModelFileError) -> String {
    let file = "\(path)/\(Self.marker)"
    let tags = try XMLTagReader.tags(of: folder.bytes(of: file), file: file, allowingDocumentType: true)
    let key = tags.firstIndex { $0.name == "key" && $0.text == Self.markerKey }
    guard let value = key.flatMap({ tags[($0 + 1)...].first }), value.name == "string" else {
      throw ModelFileError(
        .version, file: file, "The property list has no text for \(Self.markerKey).",
        "Choose the current version in Xcode, or remove the file if there is one version.")
    }
    let name = ModelFolder.stem(value.text)
    if versionNames.contains(name) { return name }
    throw ModelFileError(
      .version, file: file, line: value.line,
      "The current version \"\(name)\" is not in the bundle.",
      "Name one of \(versionNames.joined(separator: ", ")).\(NearMisses.question(name, in: versionNames))")
  }

  private func writeMarker(_ name: String) throws(ModelFileError) {
    if layout != .versions { return }
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      \t<key>\(Self.markerKey)</key>
      \t<string>\(XMLText.escaped(name + Self.versionSuffix))</string>
      </dict>
      </plist>

      """
    try folder.write(Array(text.utf8), to: "\(path)/\(Self.marker)")
  }
}
