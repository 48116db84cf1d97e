import ChildProcesses
import Foundation
import Testing

@Suite("Generated classes of the models of public projects")
struct CorpusCodeCompilingTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let corpus = environment["PERDURE_MODEL_CORPUS"]

  /// The folder of the repository.
  private static let repository = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../..").standardizedFileURL

  /// The folder with the products of the running build.
  private static var products: String? {
    for start in [Bundle.main.bundlePath, CommandLine.arguments.first ?? ""] {
      var folder = URL(filePath: start)
      for _ in 0..<4 {
        if FileManager.default.fileExists(atPath: folder.path + "/Modules/Perdure.swiftmodule") {
          return folder.path
        }
        folder.deleteLastPathComponent()
      }
    }
    return nil
  }

  /// The compilation takes minutes. Therefore this test needs both variables, which
  /// `make test-long MODEL_CORPUS=FOLDER` sets.
  @Test(
    "The classes compile in each style without warnings, and an object of each entity is stored and read",
    .enabled(if: corpus != nil && environment["PERDURE_STEPS"] != nil))
  func compiles() throws {
    let run = try ChildRun(
      Self.repository.appending(path: "Scripts/check-corpus-code"),
      [Self.corpus ?? "", try #require(Self.products)])
    #expect(run.status == 0, "\(run.output)\(run.errors)")
    #expect(run.output.contains("stored and read one object of each of "))
  }
}
