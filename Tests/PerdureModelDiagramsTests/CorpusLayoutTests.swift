import Foundation
import PerdureModelFiles
import Testing

@testable import PerdureModelDiagrams

@Suite("Pictures of all models of public projects")
struct CorpusLayoutTests {
  /// The model files, which are not part of the repository. An environment variable names their
  /// folder.
  private static let files: [String] =
    ProcessInfo.processInfo.environment["PERDURE_MODEL_CORPUS"].map { folder in
      let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
      return names.filter { $0.hasSuffix(".xml") }.sorted().map { "\(folder)/\($0)" }
    } ?? []

  @Test("The picture of each valid model has all of its entities and no overlaps", arguments: files)
  func layout(_ path: String) throws {
    let document = try ModelBundle(contentsOf: path).document()
    // Other tests list the files that have errors.
    guard !document.problems().contains(where: { $0.severity == .error }) else { return }
    let model = try document.managedObjectModel()
    for attributes in DiagramOptions.Attributes.allCases {
      let options = DiagramOptions(attributes: attributes)
      let layout = DiagramLayout(ModelDiagram(of: model, options))
      #expect(layout.frames.count == model.entities.count)
      expectSeparateBoxes(layout)
      expectClearLines(layout)
      let text = SVGWriter.text(layout, title: "Model")
      #expect(text.hasSuffix("</svg>\n"))
      #expect(text == SVGWriter.text(DiagramLayout(ModelDiagram(of: model, options)), title: "Model"))
    }
  }
}
