// swift-tools-version: 6.1
import PackageDescription

// A separate package, so that the requirements of measuring (other engines) never reach users of
// Perdure.

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "perdure-benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "perdure", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(name: "CLMDB", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(name: "CRocksDB", providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]),
    .systemLibrary(name: "CLevelDB", providers: [.apt(["libleveldb-dev"]), .brew(["leveldb"])]),
    .target(name: "CLogFloor", cSettings: [.define("_GNU_SOURCE")]),
    // The engine alone, compared with other key-value stores.
    .executableTarget(
      name: "LogBenchmark",
      dependencies: [
        "CSQLite", "CLMDB", "CRocksDB", "CLevelDB", "CLogFloor", "Measuring",
        .product(name: "PerdureLog", package: "perdure"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LogBenchmarkTests", dependencies: ["LogBenchmark", "CLogFloor", "Measuring"],
      swiftSettings: settings),
    // Code that all benchmarks share.
    .target(name: "SQLiteAccess", dependencies: ["CSQLite"], swiftSettings: settings),
    .target(name: "Measuring", swiftSettings: settings),
    // The same import and the same queries for every engine.
    .executableTarget(
      name: "ArchiveBenchmark",
      dependencies: [
        "CSQLite", "SQLiteAccess", "Measuring",
        .product(name: "_DebianIndexReading", package: "perdure"),
        .product(name: "_DebianArchiveGraph", package: "perdure"),
        .product(name: "Perdure", package: "perdure"),
        .product(name: "PerdureLog", package: "perdure"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ArchiveBenchmarkTests",
      dependencies: [
        "ArchiveBenchmark", .product(name: "_DebianIndexReading", package: "perdure"),
      ],
      swiftSettings: settings),
    // A graph as in typical programs, and its typical operations.
    .executableTarget(
      name: "GraphBenchmark",
      dependencies: [
        "SQLiteAccess", "Measuring",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Perdure", package: "perdure"),
        .product(name: "PerdureLog", package: "perdure"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "GraphBenchmarkTests", dependencies: ["GraphBenchmark", "Measuring"], swiftSettings: settings),
    .target(name: "CAllocation"),
    // The cost of objects, compared with objects of a plain class. The classes are in a separate
    // module, as in a user's program.
    .executableTarget(
      name: "ObjectBenchmark",
      dependencies: [
        "CAllocation", "Measuring",
        .product(name: "Perdure", package: "perdure"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    // Instructions of operations on objects, which are the same in every run.
    .executableTarget(
      name: "InstructionBenchmark",
      dependencies: [
        "Measuring",
        .product(name: "Perdure", package: "perdure"),
        .product(name: "PerdureLog", package: "perdure"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "InstructionBenchmarkTests", dependencies: ["InstructionBenchmark", "Measuring"],
      swiftSettings: settings),
  ]
)
