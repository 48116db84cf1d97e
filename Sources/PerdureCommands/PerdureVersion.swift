/// The version of the package.
enum PerdureVersion {
  /// The newest version in CHANGELOG.md, with the suffix `-dev` before its release.
  static let number = "0.1.0-dev"
}
