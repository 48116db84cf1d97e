import Foundation
import PackagePlugin

/// Generates the classes of the models in a target's folder: `Notes.xcdatamodeld` becomes
/// `Notes+Generated.swift` among the products of the build.
@main
struct PerdureModelPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target.sourceModule else { return [] }
    let tool = try context.tool(named: "perdure-model-tool").url
    return try Self.models(in: target.directoryURL).map { model in
      let name = model.deletingPathExtension().lastPathComponent
      let output = context.pluginWorkDirectoryURL.appending(path: "\(name)+Generated.swift")
      return .buildCommand(
        displayName: "Generating the classes of \(model.lastPathComponent)", executable: tool,
        arguments: [model.path(percentEncoded: false), output.path(percentEncoded: false)],
        inputFiles: try Self.files(in: model) + Self.options(of: model), outputFiles: [output])
    }
  }

  /// The models in a folder at any depth: bundles of versions, and models outside bundles.
  private static func models(in folder: URL) throws -> [URL] {
    try contents(of: folder).flatMap { item in
      if ["xcdatamodeld", "xcdatamodel"].contains(item.pathExtension) { return [item] }
      return item.hasDirectoryPath ? try models(in: item) : []
    }
  }

  /// The files of a model at any depth, hidden ones included: one of them names the current
  /// version.
  private static func files(in folder: URL) throws -> [URL] {
    try contents(of: folder).flatMap { $0.hasDirectoryPath ? try files(in: $0) : [$0] }
  }

  /// The file with the choices for the code, `Notes.perdure.json` next to the model, if it exists.
  private static func options(of model: URL) -> [URL] {
    let file = model.deletingPathExtension().appendingPathExtension("perdure.json")
    return FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) ? [file] : []
  }

  /// The files in a folder. They are in the order of names, so that the commands of each build are
  /// the same.
  private static func contents(of folder: URL) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.isDirectoryKey])
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
  }
}
