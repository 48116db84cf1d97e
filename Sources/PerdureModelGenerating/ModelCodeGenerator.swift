public import PerdureModelCode
public import PerdureModelFiles
import PerdureText

/// Generates code from a model file, and writes it.
public struct ModelCodeGenerator: Sendable {
  /// The generated code.
  public let file: GeneratedFile
  /// The warnings and notes about the model file.
  public let warnings: [ModelFileProblem]

  /// Reads a model file and generates its code.
  ///
  /// - Parameters:
  ///   - path: An `.xcdatamodeld` folder, an `.xcdatamodel` folder, or its file `contents`. The
  ///     model has the name of the folder.
  ///   - version: The name of a version in the folder; by default the current one.
  ///   - options: The choices for the code. If it is nil, the file beside the model is read;
  ///     without that file, the defaults apply. See ``ModelCodeOptions/init(besideModelAt:)``.
  /// - Throws: `ModelFileError`, `ModelCodeError` or `ModelCodeOptionsError`, with all problems.
  /// - Complexity: O(n) for a file of n bytes, and that of `ModelCode.file`.
  public init(
    contentsOf path: String, version: String? = nil, options: ModelCodeOptions? = nil
  ) throws {
    let options = try options ?? ModelCodeOptions(besideModelAt: path) ?? ModelCodeOptions()
    let bundle = try ModelBundle(contentsOf: path)
    let document = try bundle.document(version: version)
    let (model, findings) = document.checked()
    guard let model else { throw ModelFileError(findings) }
    warnings = findings
    file = try ModelCode.file(
      of: model, named: ModelBundle.modelName(at: bundle.path), hints: document.codeHints(), options: options)
  }

  /// Writes the code into a folder, which is created if it does not exist. A file that already has
  /// the code is not written.
  ///
  /// - Returns: The path of the file, and whether it was written.
  /// - Throws: `ModelFileError`. After an error, an existing file has its old or its new content.
  public func write(toFolder folder: String) throws(ModelFileError) -> (path: String, isNew: Bool) {
    try ModelFolder().makeFolder(folder)
    let path = "\(folder)/\(file.name)"
    return (path, try write(to: path))
  }

  /// Writes the code to a file, unless the file has it already.
  ///
  /// - Returns: Whether the file was written.
  /// - Throws: `ModelFileError`. After an error, an existing file has its old or its new content.
  @discardableResult
  public func write(to path: String) throws(ModelFileError) -> Bool {
    try ModelFolder().write(Array(file.text.utf8), to: path)
  }

  /// An error in the format of compiler diagnostics, with one line for each problem. The line
  /// begins with the file and the line of the affected part of the model, if they are known.
  ///
  /// - Parameter path: The path of the model, for problems of the model as a whole.
  public static func words(for error: any Error, ofModel path: String) -> String {
    guard let error = error as? ModelCodeError else { return "\(error)" }
    return error.problems.map { problem in
      problem.file == nil ? VisibleText.line("\(path): error: \(problem)") : "\(problem)"
    }.joined(separator: "\n")
  }
}
