// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "reading-list",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://github.com/perdure/perdure", branch: "main")
  ],
  targets: [
    .executableTarget(
      name: "ReadingList", dependencies: [.product(name: "Perdure", package: "perdure")]),
    .testTarget(
      name: "ReadingListTests",
      dependencies: ["ReadingList", .product(name: "Perdure", package: "perdure")]),
  ]
)
