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
    // Contains a symbolic link to the plugin's scanner, because no library product has the scanner.
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
