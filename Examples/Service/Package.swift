// swift-tools-version: 6.1
import PackageDescription

// A package of its own: users of Perdure and its tests do not fetch an HTTP server.

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "perdure-service",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "perdure", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
  ],
  targets: [
    .target(
      name: "Shop",
      dependencies: [
        .product(name: "Perdure", package: "perdure"),
        .product(name: "Hummingbird", package: "hummingbird"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "ShopService",
      dependencies: [
        "Shop", .product(name: "Perdure", package: "perdure"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ShopTests",
      dependencies: [
        "Shop", "ShopService", .product(name: "Perdure", package: "perdure"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdTesting", package: "hummingbird"),
      ],
      swiftSettings: settings),
  ]
)
