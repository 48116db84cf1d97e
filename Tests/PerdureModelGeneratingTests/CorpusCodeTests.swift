import Foundation
import PerdureModelCode
import PerdureModelFiles
import PerdureModelGenerating
import Testing

/// Model files of public projects. These files are not part of the repository.
@Suite("Code of the models of public projects")
struct CorpusCodeTests {
  private static let folder = ProcessInfo.processInfo.environment["PERDURE_MODEL_CORPUS"]

  /// The paths of the `.xml` files in the folder, at any depth. An environment variable names the
  /// folder.
  private static let files: [String] =
    folder.map { folder in
      let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
      return names.filter { $0.hasSuffix(".xml") }.sorted().map { "\(folder)/\($0)" }
    } ?? []

  @Test(
    "Code with accessors can be generated for every valid model", .enabled(if: folder != nil),
    arguments: files)
  func code(_ path: String) throws {
    let document = try ModelBundle(contentsOf: path).document()
    guard !document.problems().contains(where: { $0.severity == .error }) else { return }
    var options = ModelCodeOptions()
    options.entityCode = .classDefinition
    let file = try ModelCodeGenerator(contentsOf: path, options: options).file
    for entity in try document.managedObjectModel().entities {
      #expect(file.text.contains("enum \(entity.name)Entity {"), "\(entity.name)")
    }
    #expect(try ModelCodeGenerator(contentsOf: path, options: options).file == file)
  }
}
