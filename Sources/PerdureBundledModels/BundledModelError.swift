public import Foundation
public import PerdureModelFiles

/// Why a container cannot be made from the model file of a bundle. No file changed.
public enum BundledModelError: Error, Sendable, Hashable {
  /// The bundle has no model file with the requested name.
  ///
  /// - Parameters:
  ///   - name: The name of the model.
  ///   - bundle: The path of the bundle.
  ///   - files: The names of the models in the bundle, or of its other files if it has no model, in
  ///     ascending order.
  case noModel(name: String, bundle: String, files: [String])
  /// The file is not a valid model. The error has all findings, with their lines.
  case invalidModel(ModelFileError)
}

extension BundledModelError: CustomStringConvertible {
  private static let shownFilesMax = 20

  /// The error and the remedy. A missing model needs two lines in `Package.swift`, which are shown.
  public var description: String {
    switch self {
    case .invalidModel(let error): "The model file of the bundle has errors.\n\(error)"
    case .noModel(let name, let bundle, let files):
      """
      The bundle \(bundle) has no \(name).xcdatamodeld. \(Self.words(for: files))
      Pass the target's Bundle.module, and declare the model as a resource of the target in Package.swift:
        dependencies: [.product(name: "PerdureBundledModels", package: "perdure")],
        resources: [.copy("\(name).xcdatamodeld")]
      """
    }
  }

  private static func words(for files: [String]) -> String {
    if files.isEmpty { return "It has no files." }
    let more = files.count > shownFilesMax ? " and \(files.count - shownFilesMax) more" : ""
    return "It has \(files.prefix(shownFilesMax).joined(separator: ", "))\(more)."
  }
}

extension BundledModelError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}
