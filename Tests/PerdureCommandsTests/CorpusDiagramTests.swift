import ArgumentParser
import Foundation
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Suite("Pictures of the models of public projects")
struct CorpusDiagramTests {
  /// The folder with the model files, which are not part of the repository.
  private static let corpus = ProcessInfo.processInfo.environment["PERDURE_MODEL_CORPUS"]

  /// The names of the pictures in `docs/diagrams`, and the model files.
  private static let models = [
    ("Moody", "objcio__core-data__Moody_MoodyModel_Moody.xml"),
    ("Groot", "gonzalezreal__Groot__Model.xml"),
    ("MagicalRecord", "magicalpanda__MagicalRecord__TestModel.xml"),
  ]

  @Test(
    "The pictures in docs/diagrams equal those that the command draws", .enabled(if: corpus != nil),
    arguments: models)
  func pictures(_ name: String, _ file: String) throws {
    let directory = try TemporaryDirectory()
    let model = directory.file("\(name).xcdatamodel")
    try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: "\(Self.corpus ?? "")/\(file)", toPath: "\(model)/contents")
    let output = directory.file("\(name).svg")
    #expect(try Outcome("model", "diagram", model, "--output", output).code == .success)
    let drawn = try Data(contentsOf: URL(filePath: output))
    let kept = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/diagrams/\(name).svg").standardizedFileURL
    // Look at the new picture before you keep it.
    if ProcessInfo.processInfo.environment["PERDURE_WRITE_GOLDEN"] != nil { try drawn.write(to: kept) }
    #expect(try Data(contentsOf: kept) == drawn)
  }
}
