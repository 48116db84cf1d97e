// swift-tools-version: 6.1
import PackageDescription

// A separate package, so that users of Perdure and its tests do not fetch an HTTP server.

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let perdure: Target.Dependency = .product(name: "Perdure", package: "perdure")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")

let package = Package(
  name: "perdure-service",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "perdure", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.81.0"),
  ],
  targets: [
    // The model, the routes and the code of each request.
    .target(
      name: "Shop",
      dependencies: [perdure, hummingbird, .product(name: "Logging", package: "swift-log")],
      swiftSettings: settings),
    // The program.
    .executableTarget(
      name: "ShopService",
      dependencies: [
        "Shop", perdure, hummingbird, nio,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    // The tests need the program too: `ProcessTests` starts it and ends it.
    .testTarget(
      name: "ShopTests",
      dependencies: [
        "Shop", "ShopService", perdure, hummingbird, nio,
        .product(name: "HummingbirdTesting", package: "hummingbird"),
      ],
      swiftSettings: settings),
  ]
)
