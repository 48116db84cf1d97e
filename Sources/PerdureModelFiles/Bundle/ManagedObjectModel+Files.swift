import PerdureFileIO
public import PerdureModel

extension ManagedObjectModel {
  /// Reads a model from a file of Core Data.
  ///
  ///     let model = try ManagedObjectModel(contentsOf: "Shop.xcdatamodeld")
  ///
  /// ``ModelDocument/managedObjectModel()`` describes which parts of a file are in the model.
  ///
  /// - Parameters:
  ///   - path: An `.xcdatamodeld` folder, an `.xcdatamodel` folder, or its file `contents`.
  ///   - version: The name of a version in the folder; by default the current one.
  /// - Throws: `ModelFileError` with all problems, their files and their lines.
  public convenience init(contentsOf path: String, version: String? = nil) throws(ModelFileError) {
    let document = try ModelBundle(contentsOf: path).document(version: version)
    let content = ModelReader.read(document)
    guard !content.problems.contains(where: { $0.severity == .error }) else {
      throw ModelFileError(document.problems())
    }
    do throws(ModelError) {
      try self.init(
        content.entities, configurations: content.configurations,
        versionIdentifiers: content.versionIdentifiers, templates: content.templates)
    } catch {
      throw ModelFileError(document.problems())
    }
  }

  /// Writes the model as a file of Core Data. The file is durable when the call returns.
  ///
  /// An existing version changes only in the parts in which the model differs from it; see
  /// ``ModelDocument/update(to:)``. A new version is written as Xcode writes it; see
  /// ``ModelDocument/init(_:file:)``, which also lists the parts that a file cannot express.
  ///
  /// - Parameters:
  ///   - path: The path of the model. It ends in `.xcdatamodeld` for a folder of versions, and in
  ///     `.xcdatamodel` for a folder of one version. Any other path is a single file. The folder
  ///     that contains it must exist.
  ///   - version: The name of the version to write. By default, it is the current version, or for a
  ///     new model the last name in `path` without its extension. A new version of an existing
  ///     folder does not become the current one; see ``ModelBundle/setCurrentVersion(_:)``.
  /// - Throws: `ModelFileError`. An existing file then has its old or its new content, and new
  ///   empty folders may exist.
  public func write(to path: String, version: String? = nil) throws(ModelFileError) {
    try write(to: path, version: version, in: POSIXFileSystem())
  }

  func write(
    to path: String, version: String?, in fileSystem: any FileSystem
  ) throws(ModelFileError) {
    var bundle = try ModelBundle.openOrMake(path, in: fileSystem)
    var name = version ?? ModelFolder.stem(ModelFolder.name(of: path))
    if version == nil, !bundle.versionNames.isEmpty { name = try bundle.name(ofVersion: nil) }
    guard bundle.versionNames.contains(ModelBundle.withoutSuffix(name)) else {
      return try bundle.write(ModelDocument(self, file: path), version: name)
    }
    var document = try bundle.document(version: name)
    try document.update(to: self)
    try bundle.write(document, version: name)
  }
}
