import Testing

/// Compares the imports of the sources with the diagram in ARCHITECTURE.md, which is a table here.
@Suite("Import rules")
struct ImportRulesTests {
  private static let foundation = ["FoundationEssentials", "Foundation"]
  private static let system = ["Darwin", "Glibc", "Musl", "Android", "WinSDK", "ucrt"]

  /// The modules that each target may import.
  private static let allowed: [String: [String]] = [
    "PerdureFileIO": system + ["CPerdureShims", "Synchronization"],
    "PerdureNumbers": [],
    "PerdureText": [],
    "PerdureFormat": ["PerdureNumbers", "CPerdureShims"],
    "PerdureCompression": ["CLZ4"],
    // The system module provides logarithms and powers.
    "PerdurePredicates": foundation + system + ["PerdureNumbers", "_StringProcessing"],
    "PerdureLog": [
      "PerdureFileIO", "PerdureFormat", "PerdureNumbers", "PerdureCompression", "CPerdureShims",
      "Synchronization",
    ],
    "PerdureModel": foundation + ["PerdurePredicates", "PerdureText", "Synchronization"],
    "PerdureModelDiagrams": ["PerdureModel", "PerdureText"],
    "PerdureModelFiles": foundation + [
      "FoundationXML", "PerdureFileIO", "PerdureModel", "PerdurePredicates", "PerdureText",
    ],
    "PerdureModelCode": foundation + ["PerdureModel", "PerdurePredicates", "PerdureText"],
    "PerdureModelGenerating": foundation + [
      "PerdureFileIO", "PerdureModelCode", "PerdureModelFiles", "PerdurePredicates", "PerdureText",
    ],
    "perdure-model-tool": system + ["PerdureFileIO", "PerdureModelGenerating"],
    "PerdureMacros": foundation + system + ["PerdureText"],
    "PerdureMacroPlugin": ["PerdureMacros"],
    "Perdure": foundation + [
      "Dispatch", "PerdureFileIO", "PerdureLog", "PerdureModel", "PerdureNumbers", "PerdurePredicates",
      "Synchronization",
    ],
    "PerdureTestSupport": [
      "FoundationEssentials", "Foundation", "PerdureFileIO", "PerdureText", "Synchronization",
    ],
    "PerdureKeyedArchives": ["Foundation", "Perdure"],
    "PerdureBundledModels": ["Foundation", "Perdure", "PerdureModelFiles"],
    "PerdureLogging": ["Logging", "Perdure"],
    // Foundation reads the dates, decimals, UUIDs and URLs of command lines.
    "PerdureCommands": foundation + [
      "Perdure", "PerdureFileIO", "PerdureLog", "PerdureModelDiagrams", "PerdureModelGenerating",
      "PerdureText", "ArgumentParser",
    ],
    "perdure-cli": ["PerdureCommands"],
    // The targets of the proof. `PerdureProving`, which tests the engine, does not import the
    // graph.
    "PerdureProving": foundation + system + [
      "PerdureCompression", "PerdureFileIO", "PerdureFormat", "PerdureLog", "PerdureNumbers",
      "PerdureTestSupport", "PerdureText",
      "Synchronization",
    ],
    "PerdureGraphProving": foundation + [
      "Perdure", "PerdureFileIO", "PerdureLog", "PerdureProving", "PerdureTestSupport",
    ],
    "perdure-prove": foundation + [
      "ArgumentParser", "PerdureFileIO", "PerdureFuzzing", "PerdureGraphProving", "PerdureLog",
      "PerdureProving",
      "PerdureTestSupport",
    ],
  ]

  /// The folders of the targets that are not in Sources.
  private static let folders = [
    "PerdureProving": "Proof/Proving", "PerdureGraphProving": "Proof/Graph", "perdure-prove": "Proof/Command",
  ]

  @Test("Every target imports only modules below it", arguments: allowed.keys.sorted())
  func importsPointDown(_ target: String) throws {
    let allowed = Set(try #require(Self.allowed[target]))
    let files = try Repository.swiftFiles(in: Self.folders[target] ?? "Sources/\(target)")
    #expect(!files.isEmpty)
    for file in files {
      for module in Self.imports(of: file) {
        #expect(allowed.contains(module), "\(file.path) imports \(module)")
      }
    }
  }

  @Test("Only the listed parts of the graph import the engine")
  func engineBehindTheSeam() throws {
    let knowing = ["Coordination/", "Container/", "Verification/", "Perdure.swift"]
    for file in try Repository.swiftFiles(in: "Sources/Perdure") {
      guard Self.imports(of: file).contains("PerdureLog") else { continue }
      #expect(
        knowing.contains { file.path.hasPrefix("Sources/Perdure/" + $0) }, "\(file.path) imports the engine")
    }
  }

  private static func imports(of file: Repository.SourceFile) -> [String] {
    file.lines.compactMap { line in
      let words = line.split(separator: " ").filter { !$0.hasPrefix("@") }
      guard let position = words.firstIndex(of: "import"), position <= 1, words.count > position + 1 else {
        return nil
      }
      let access = words.prefix(position)
      guard access.allSatisfy({ ["public", "package", "internal", "private", "fileprivate"].contains($0) })
      else {
        return nil
      }
      return String(words[words.count - 1].split(separator: ".")[0])
    }
  }
}
