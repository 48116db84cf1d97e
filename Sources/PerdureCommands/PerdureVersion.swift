/// The version of the package.
enum PerdureVersion {
  /// The newest version of CHANGELOG.md; before its release with `-dev` behind it.
  static let number = "0.1.0-dev"
}
