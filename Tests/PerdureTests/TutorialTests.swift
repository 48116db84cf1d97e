import Foundation
import Testing

/// Compiles each numbered code file of the tutorial separately. `ReadingListExampleTests` runs the
/// last files.
@Suite(
  "The tutorial",
  .enabled(
    if: Compiler.found != nil || ProcessInfo.processInfo.environment["CI"] != nil,
    "There is no swiftc in PATH, or no modules beside the tests."))
struct TutorialTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Sources/Perdure/Perdure.docc/Tutorial")

  private static func text(_ file: String) throws -> String {
    try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
  }

  @Test(
    "Each numbered code file compiles",
    arguments: (1...12).map { String(format: "ReadingList-%02d.swift", $0) })
  func compiles(_ file: String) throws {
    let compiler = try #require(Compiler.found, "There is no swiftc in PATH, or no modules beside the tests.")
    let result = try compiler.compile(try Self.text(file))
    #expect(result.status == 0 && result.output == "", "\(file): \(result.output)")
  }

  @Test("The manifest of the tutorial is valid")
  func manifest() throws {
    let compiler = try #require(Compiler.found, "There is no swiftc in PATH, or no modules beside the tests.")
    let manifest = try Self.text("ReadingList-Package.swift")
    #expect(manifest.hasPrefix("// swift-tools-version: 6.1\n"))
    #expect(try compiler.checkManifest(manifest, version: "6.1") == "")
    let wrong = manifest.replacing(".executableTarget", with: ".program")
    #expect(try compiler.checkManifest(wrong, version: "6.1").contains("program"))
  }

  @Test("The steps of the tutorial show all code files in order")
  func order() throws {
    let shown = try Self.text("ReadingListTutorial.tutorial").matches(of: /file: "(.+?)"/)
      .map { String($0.output.1) }
    let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
      .filter { $0.hasSuffix(".swift") }.sorted()
    #expect(files.count == 14)
    let steps = files.filter { $0 != "ReadingList-Package.swift" }
    #expect(shown == ["ReadingList-Package.swift"] + steps)
  }
}
