import Foundation
import PerdureModelFiles

/// Finds model files in bundles.
enum BundledModel {
  /// The extensions of models, in the order in which they are looked for.
  private static let suffixes = ["xcdatamodeld", "xcdatamodel"]

  /// Reads the current version of a model.
  static func model(named name: String, in bundle: Bundle) throws(BundledModelError) -> ManagedObjectModel {
    guard let path = path(of: name, in: bundle) else {
      throw .noModel(name: name, bundle: bundle.bundlePath, files: files(of: bundle))
    }
    do throws(ModelFileError) {
      return try ManagedObjectModel(contentsOf: path)
    } catch {
      throw .invalidModel(error)
    }
  }

  private static func path(of name: String, in bundle: Bundle) -> String? {
    let folder = bundle.resourcePath ?? bundle.bundlePath
    return suffixes.map { "\(folder)/\(name).\($0)" }.first(where: FileManager.default.fileExists)
  }

  /// The models in a bundle; all files if it has none.
  private static func files(of bundle: Bundle) -> [String] {
    let folder = bundle.resourcePath ?? bundle.bundlePath
    // A bundle that cannot be read is shown as a bundle without files.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted() ?? []
    let models = names.filter { name in suffixes.contains { name.hasSuffix(".\($0)") } }
    return models.isEmpty ? names : models
  }
}
