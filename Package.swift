// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

// The import diagram, read from the bottom up. Arrows point down only; siblings never import
// each other. ARCHITECTURE.md says what each target is for, and `make check` refuses an import
// that is not declared here.

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let argumentParser: Target.Dependency = .product(
  name: "ArgumentParser", package: "swift-argument-parser")

// Fetched only by packages that use PerdureLogging: a package gets the dependencies of the products
// that it names.
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let package = Package(
  name: "perdure",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Perdure", targets: ["Perdure"]),
    .plugin(name: "PerdureModelPlugin", targets: ["PerdureModelPlugin"]),
    .library(name: "PerdureModelCode", targets: ["PerdureModelCode"]),
    .library(name: "PerdureKeyedArchives", targets: ["PerdureKeyedArchives"]),
    .library(name: "PerdureLogging", targets: ["PerdureLogging"]),
    .library(name: "PerdureModelFiles", targets: ["PerdureModelFiles"]),
    .library(name: "PerdureBundledModels", targets: ["PerdureBundledModels"]),
    .library(name: "PerdureLog", targets: ["PerdureLog"]),
    .library(name: "PerdureTestSupport", targets: ["PerdureTestSupport"]),
    .executable(name: "perdure", targets: ["PerdureCLI"]),
    // For the package in Benchmarks only: what it needs of the example.
    .library(name: "_DebianIndexReading", targets: ["DebianIndexReading"]),
    .library(name: "_DebianArchiveGraph", targets: ["DebianArchiveGraph"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  ],
  targets: [
    // C
    .systemLibrary(
      name: "CLZ4", pkgConfig: "liblz4",
      providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
    .target(name: "CPerdureShims"),

    // Level 0: nothing of ours below them but C, and the sums that stores keep and predicates ask
    // for.
    .target(name: "PerdureNumbers", swiftSettings: settings),
    // Tables, JSON and progress as text, for programs and reports. The module itself writes
    // nothing.
    .target(name: "PerdureText", swiftSettings: settings),
    .target(name: "PerdureFileIO", dependencies: ["CPerdureShims"], swiftSettings: settings),
    .target(
      name: "PerdureFormat", dependencies: ["PerdureNumbers", "CPerdureShims"], swiftSettings: settings),
    // Where liblz4 can be expected. Elsewhere blocks are opened in Swift, and none are made.
    .target(
      name: "PerdureCompression",
      dependencies: [.target(name: "CLZ4", condition: .when(platforms: [.linux, .macOS]))],
      swiftSettings: settings),
    .target(name: "PerdurePredicates", dependencies: ["PerdureNumbers"], swiftSettings: settings),

    // Level 1
    .target(
      name: "PerdureLog",
      dependencies: [
        "PerdureFileIO", "PerdureFormat", "PerdureNumbers", "PerdureCompression", "CPerdureShims",
      ],
      swiftSettings: settings),
    .target(
      name: "PerdureModel", dependencies: ["PerdurePredicates", "PerdureText"], swiftSettings: settings),
    // Pictures of models as text. The module itself writes nothing.
    .target(
      name: "PerdureModelDiagrams", dependencies: ["PerdureModel", "PerdureText"], swiftSettings: settings),
    // By itself, as programs with models in code need no files.
    .target(
      name: "PerdureModelFiles",
      dependencies: ["PerdureFileIO", "PerdureModel", "PerdurePredicates", "PerdureText"],
      swiftSettings: settings),
    // Classes of models as source text; no files.
    .target(
      name: "PerdureModelCode", dependencies: ["PerdureModel", "PerdurePredicates", "PerdureText"],
      swiftSettings: settings),
    // Generates code from model files; the command and the plugin share it.
    .target(
      name: "PerdureModelGenerating",
      dependencies: [
        "PerdureModelFiles", "PerdureModelCode", "PerdureFileIO", "PerdurePredicates", "PerdureText",
      ],
      swiftSettings: settings),
    // The tool of the plugin. It has few dependencies, because every package with the plugin builds it.
    .executableTarget(
      name: "perdure-model-tool", dependencies: ["PerdureModelGenerating", "PerdureFileIO"],
      swiftSettings: settings),
    .plugin(name: "PerdureModelPlugin", capability: .buildTool(), dependencies: ["perdure-model-tool"]),
    .target(name: "PerdureMacros", dependencies: ["PerdureText"], swiftSettings: settings),
    // The program that the compiler starts. No test depends on it: its tests, and all modules that they use,
    // would be built a second time for the compiler's machine.
    .macro(name: "PerdureMacroPlugin", dependencies: ["PerdureMacros"], swiftSettings: settings),

    // Level 2
    .target(
      name: "Perdure",
      dependencies: [
        "PerdureFileIO", "PerdureLog", "PerdureModel", "PerdureNumbers", "PerdurePredicates",
        "PerdureMacroPlugin",
      ],
      swiftSettings: settings),
    .target(
      name: "PerdureTestSupport", dependencies: ["PerdureFileIO", "PerdureText"], swiftSettings: settings),
    // By itself, as it takes all of Foundation.
    .target(name: "PerdureKeyedArchives", dependencies: ["Perdure"], swiftSettings: settings),
    // Containers whose model is a file in a bundle. By itself, as it takes all of Foundation, and as
    // the tool of the plugin reads model files without the database.
    .target(
      name: "PerdureBundledModels", dependencies: ["Perdure", "PerdureModelFiles"], swiftSettings: settings),
    // By itself, as it takes swift-log.
    .target(name: "PerdureLogging", dependencies: ["Perdure", logging], swiftSettings: settings),

    // Level 3: programs
    .target(
      name: "PerdureCommands",
      dependencies: [
        "Perdure", "PerdureFileIO", "PerdureLog", "PerdureModelDiagrams", "PerdureModelGenerating",
        "PerdureText", argumentParser,
      ],
      swiftSettings: settings),
    // Its product is called perdure; the target is not, as some file systems do not tell it from
    // Perdure.
    .executableTarget(
      name: "PerdureCLI", dependencies: ["PerdureCommands"], path: "Sources/perdure-cli",
      swiftSettings: settings),
    .target(
      name: "DebianIndexReading",
      dependencies: [
        "PerdureFileIO", "PerdureText",
        .target(name: "CLZ4", condition: .when(platforms: [.linux, .macOS])),
      ],
      path: "Examples/DebianArchive/Reading", swiftSettings: settings),
    .target(
      name: "DebianArchiveGraph", dependencies: ["Perdure", "DebianIndexReading"],
      path: "Examples/DebianArchive/Graph", swiftSettings: settings),
    .executableTarget(
      name: "DebianArchive",
      // The engine and its files for the test that kills the import only.
      dependencies: [
        "Perdure", "PerdureLog", "PerdureFileIO", "PerdureText", "DebianArchiveGraph", "DebianIndexReading",
        argumentParser,
      ],
      path: "Examples/DebianArchive/Command", swiftSettings: settings),

    // Companies with workers, twice: the classes' entities made by macros, and a model in code.
    .executableTarget(
      name: "CompaniesWithMacros", dependencies: ["Perdure"], path: "Examples/Companies/Macros",
      swiftSettings: settings),
    .executableTarget(
      name: "CompaniesInCode", dependencies: ["Perdure"], path: "Examples/Companies/InCode",
      swiftSettings: settings),
    .executableTarget(
      name: "Conversations", dependencies: ["Perdure"], path: "Examples/Conversations",
      swiftSettings: settings),
    .executableTarget(
      name: "Journal", dependencies: ["Perdure"], path: "Examples/Journal", swiftSettings: settings),
    // Its model is a file of Core Data, from which the plugin makes classes. The plugin finds it in
    // the folder; the build would warn of a file that is neither a source nor excluded.
    .executableTarget(
      name: "Notes", dependencies: ["Perdure"], path: "Examples/Notes", exclude: ["Notes.xcdatamodeld"],
      swiftSettings: settings, plugins: ["PerdureModelPlugin"]),
    // The last step of the tutorial.
    .executableTarget(
      name: "ReadingList", dependencies: ["Perdure"], path: "Examples/ReadingList",
      swiftSettings: settings),

    // The proof: what attacks the store, the program that runs it, and a slice of it as tests. Made
    // of the public interface and PerdureTestSupport, as users' own suites are.
    .target(
      name: "PerdureProving",
      dependencies: [
        "PerdureFileIO", "PerdureFormat", "PerdureNumbers", "PerdureCompression", "PerdureLog",
        "PerdureTestSupport", "PerdureText",
      ],
      path: "Proof/Proving", swiftSettings: settings),
    .target(
      name: "PerdureGraphProving",
      dependencies: ["PerdureProving", "Perdure", "PerdureFileIO", "PerdureLog", "PerdureTestSupport"],
      path: "Proof/Graph", swiftSettings: settings),
    .executableTarget(
      name: "perdure-prove",
      dependencies: [
        "PerdureProving", "PerdureGraphProving", "PerdureFuzzing", "PerdureFileIO", "PerdureLog",
        "PerdureTestSupport", argumentParser,
      ],
      path: "Proof/Command", swiftSettings: settings),
    // Decoders that are given hostile bytes, and the program that libFuzzer is linked to (`make
    // fuzz`).
    .target(
      name: "PerdureFuzzing",
      dependencies: [
        "PerdureProving", "PerdureFileIO", "Perdure", "PerdureModel", "PerdurePredicates",
      ],
      path: "Proof/Fuzzing/Decoders", swiftSettings: settings),
    .executableTarget(
      name: "perdure-fuzz", dependencies: ["PerdureFuzzing", "PerdureProving", "PerdureTestSupport"],
      path: "Proof/Fuzzing/Command", swiftSettings: settings),
    .testTarget(
      name: "ProofTests",
      dependencies: ["PerdureProving", "PerdureFileIO", "PerdureLog", "PerdureTestSupport"],
      path: "Proof/Tests", swiftSettings: settings),
    // By themselves, so that those of the engine are built without the graph.
    .testTarget(
      name: "GraphProofTests",
      dependencies: [
        "PerdureGraphProving", "PerdureProving", "PerdureFuzzing", "Perdure", "PerdureLog",
        "PerdureTestSupport",
      ],
      path: "Proof/GraphTests", swiftSettings: settings),

    // Tests
    .target(name: "ChildProcesses", path: "Tests/ChildProcesses", swiftSettings: settings),
    // The program that tests kill while it saves.
    .executableTarget(
      name: "AlbumWriter", dependencies: ["Perdure", "PerdureLog"], path: "Tests/AlbumWriter",
      swiftSettings: settings),
    .testTarget(name: "PerdureTextTests", dependencies: ["PerdureText"], swiftSettings: settings),
    .testTarget(
      name: "PerdureFileIOTests", dependencies: ["PerdureFileIO", "PerdureTestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureFormatTests", dependencies: ["PerdureFormat", "PerdureNumbers", "PerdureTestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureCompressionTests",
      dependencies: ["PerdureCompression", "PerdureTestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "PerdurePredicatesTests", dependencies: ["PerdurePredicates", "PerdureTestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureLogTests",
      dependencies: [
        "PerdureLog", "PerdureFormat", "PerdureNumbers", "PerdureCompression", "PerdureFileIO",
        "PerdureTestSupport",
        "PerdureProving",
      ],
      // Files that tests read where they are.
      exclude: ["Golden/Stores"],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureModelTests", dependencies: ["PerdureModel", "PerdureTestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureModelDiagramsTests",
      dependencies: ["PerdureModelDiagrams", "PerdureModel", "PerdureModelFiles", "PerdureTestSupport"],
      // Files that tests read where they are.
      exclude: ["Golden"], swiftSettings: settings),
    .testTarget(
      name: "PerdureModelFilesTests",
      dependencies: [
        "PerdureModelFiles", "PerdureFileIO", "Perdure", "PerdureModel", "PerdurePredicates",
        "PerdureTestSupport",
      ],
      swiftSettings: settings),
    // Models whose generated code PerdureGeneratedCodeTests compiles.
    .target(
      name: "GeneratedCodeModels", dependencies: ["PerdureModelCode", "PerdurePredicates"],
      path: "Tests/GeneratedCodeModels", swiftSettings: settings),
    .testTarget(
      name: "PerdureModelCodeTests",
      dependencies: ["PerdureModelCode", "PerdurePredicates", "GeneratedCodeModels"],
      // Files that tests read where they are.
      exclude: ["Golden"],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureModelGeneratingTests",
      dependencies: [
        "PerdureModelGenerating", "PerdureModelCode", "PerdureModelDiagrams", "PerdureModelFiles",
        "PerdureTestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureGeneratedCodeTests",
      dependencies: ["Perdure", "PerdureModelCode", "GeneratedCodeModels"], swiftSettings: settings),
    .testTarget(
      name: "PerdureMacrosTests", dependencies: ["PerdureMacros"], swiftSettings: settings),
    .testTarget(
      name: "PerdureTests",
      dependencies: [
        "Perdure", "PerdureFileIO", "PerdureLog", "PerdureModel", "PerdurePredicates", "PerdureProving",
        "PerdureTestSupport", "ChildProcesses", "AlbumWriter",
      ],
      // Files that tests read where they are.
      exclude: ["Golden/Stores"],
      swiftSettings: settings),
    // What a user of Core Data expects, by rows of its documented behaviour, through the public
    // interface alone.
    .testTarget(
      name: "ConformanceTests", dependencies: ["Perdure", "PerdureTestSupport"], exclude: ["README.md"],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureKeyedArchivesTests",
      dependencies: ["PerdureKeyedArchives", "Perdure", "PerdureModelFiles"],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureBundledModelsTests",
      dependencies: ["PerdureBundledModels", "Perdure", "PerdureModelFiles", "PerdureTestSupport"],
      resources: [.copy("Staff.xcdatamodeld"), .copy("Broken.xcdatamodel")], swiftSettings: settings),
    .testTarget(
      name: "PerdureLoggingTests", dependencies: ["PerdureLogging", "Perdure", logging],
      swiftSettings: settings),
    .testTarget(
      name: "DebianArchiveTests",
      dependencies: [
        "DebianArchive", "DebianArchiveGraph", "DebianIndexReading", "Perdure", "PerdureLog",
        "PerdureTestSupport", "ChildProcesses",
        .target(name: "CLZ4", condition: .when(platforms: [.linux, .macOS])),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ExampleTests",
      dependencies: [
        "CompaniesWithMacros", "CompaniesInCode", "Conversations", "Journal", "Notes", "ReadingList",
        "Perdure",
        "PerdureTestSupport", "ChildProcesses",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "PerdureCommandsTests",
      dependencies: [
        "PerdureCommands", argumentParser, "Perdure", "PerdureFileIO", "PerdureLog", "PerdureTestSupport",
        "PerdureText", "ChildProcesses",
      ],
      swiftSettings: settings),
    .testTarget(name: "TidyTests", swiftSettings: settings),
  ]
)
