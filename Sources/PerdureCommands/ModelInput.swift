import ArgumentParser
import Perdure
import PerdureFileIO
import PerdureModelGenerating

/// The model that a command reads, from a store or from a model file.
struct ModelInput: ParsableArguments {
  @Argument(
    help: "The store's directory, an .xcdatamodeld or .xcdatamodel folder, or the file contents in it.",
    completion: .directory)
  var path: String

  @Option(help: "The version of a model file. (default: the current one)")
  var modelVersion: String?

  /// Reads the model. Warnings about a model file are printed to the error stream, like errors.
  ///
  /// - Throws: `ModelFileError` with all findings about a file, `NoGraph` if the store has no
  ///   objects, `NotInModel` if a version of a store is requested, and the errors of opening.
  func model(on console: Console) throws -> ManagedObjectModel {
    guard Self.isModelFile(path) else {
      if modelVersion != nil { throw NotInModel(description: "A store has one version of its model.") }
      let store = try OpenedStore(at: path, on: console, checksIndex: false)
      guard let graph = store.graph else { throw NoGraph(path: path) }
      return graph.model
    }
    let document = try ModelBundle(contentsOf: path).document(version: modelVersion)
    let (model, findings) = document.checked()
    guard let model else { throw ModelFileError(findings) }
    for finding in findings where finding.severity == .warning { console.error("\(finding)") }
    return model
  }

  /// The name of the model: that of the store or of the folder, without an extension.
  var name: String { ModelBundle.modelName(at: path) }

  /// Whether a path refers to a model file: a file, or a folder with the extension of models.
  static func isModelFile(_ path: String) -> Bool {
    let name = path.split(separator: "/").last ?? ""
    if name.hasSuffix(".xcdatamodeld") || name.hasSuffix(".xcdatamodel") { return true }
    // A path that cannot be read is opened as a store, which reports the error.
    return (try? POSIXFileSystem().kind(of: path)) == .file
  }

  /// Throws an error that suggests similar names if an entity is not in the model.
  static func check(_ entities: [String], in model: ManagedObjectModel) throws {
    for name in entities where model.entitiesByName[name] == nil {
      throw NotInModel.entity(name, of: model)
    }
  }
}

/// The entity or the version that the command names does not exist.
struct NotInModel: Error, CustomStringConvertible {
  let description: String

  fileprivate static func entity(_ name: String, of model: ManagedObjectModel) -> NotInModel {
    let names = model.entities.map(\.name)
    return NotInModel(
      description: "The model has no entity \(name).\(NearMisses.question(name, in: names)) It has "
        + names.joined(separator: ", "))
  }
}
