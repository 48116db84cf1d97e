/// A stanza's data about one version of one package for one architecture.
public struct PackageRecord: Sendable {
  /// The package's name.
  public var name: String
  /// The version; empty if the stanza gives none.
  public var version: String
  /// The architecture of the package, or `all`; empty if the stanza gives none.
  public var architecture: String
  /// The maintainer of the package.
  public var maintainer: Maintainer?
  /// The section of the archive that contains the package.
  public var section: String?
  /// The importance of the package for a system.
  public var priority: String?
  /// The source package from which the package was built, without a version.
  public var source: String?
  /// The first line of the description.
  public var summary: String?
  /// The URL of the package's project.
  public var homepage: String?
  /// The disk space that the installed package needs, in KiB.
  public var installedSize: Int?
  /// The size of the package's file in bytes.
  public var size: Int?
  /// The tags of the package, each once.
  public var tags: [String]
  /// The dependencies of the package: by kind, in the order of `DependencyKind`, and for each kind
  /// in the order of its field.
  public var dependencies: [Dependency]
  /// The position of the package's stanza.
  public var place: SourcePlace
}

extension PackageRecord {
  /// Reads a stanza. If the stanza has no name, it is reported and the result is nil.
  ///
  /// Malformed tags and dependency clauses are reported and skipped. A malformed maintainer or size
  /// is nil, without a report. The rest of the stanza is used.
  public init?(_ stanza: Stanza, report: (ArchiveProblem) -> Void) {
    guard let name = stanza.text("Package"), !name.isEmpty else {
      report(ArchiveProblem(place: stanza.place, message: "A stanza without a package name was left out."))
      return nil
    }
    self.name = name
    version = stanza.text("Version") ?? ""
    architecture = stanza.text("Architecture") ?? ""
    maintainer = stanza.bytes("Maintainer").flatMap(MaintainerParser.parse)
    section = stanza.text("Section")
    priority = stanza.text("Priority")
    source = stanza.text("Source").flatMap { $0.split(separator: " ").first.map(String.init) }
    summary = stanza.bytes("Description").map { $0.prefix { $0 != UInt8(ascii: "\n") }.trimmingSpace().text }
    homepage = stanza.text("Homepage")
    installedSize = stanza.text("Installed-Size").flatMap { Int($0) }
    size = stanza.text("Size").flatMap { Int($0) }
    tags = Self.tags(stanza, report)
    dependencies = DependencyKind.allCases.flatMap { Self.dependencies(stanza, $0, report) }
    place = stanza.place
  }

  private static func tags(_ stanza: Stanza, _ report: (ArchiveProblem) -> Void) -> [String] {
    guard let field = stanza.bytes("Tag") else { return [] }
    return TagParser.parse(field) { entry in
      report(
        ArchiveProblem(
          place: stanza.place(of: "Tag"), message: "A tag that cannot be read was left out: \(entry)"))
    }
  }

  private static func dependencies(
    _ stanza: Stanza, _ kind: DependencyKind, _ report: (ArchiveProblem) -> Void
  ) -> [Dependency] {
    guard let field = stanza.bytes(kind.fieldName) else { return [] }
    return DependencyParser.parse(field, kind: kind) { clause in
      let message = "A clause of \(kind.fieldName) that cannot be read was left out: \(clause)"
      report(ArchiveProblem(place: stanza.place(of: kind.fieldName), message: message))
    }
  }
}
