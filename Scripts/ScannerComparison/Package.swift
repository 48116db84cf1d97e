// swift-tools-version: 6.1
import PackageDescription

// A separate package, so that users of Perdure do not fetch swift-syntax.

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "scanner-comparison",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1")
  ],
  targets: [
    // A link to the scanner of the macros' plugin, which is not a library.
    .target(name: "DeclarationScanning", swiftSettings: settings),
    .executableTarget(
      name: "ScannerComparison",
      dependencies: [
        "DeclarationScanning",
        .product(name: "SwiftParser", package: "swift-syntax"),
        .product(name: "SwiftSyntax", package: "swift-syntax"),
      ],
      swiftSettings: settings),
  ]
)
