import DebianIndexReading
import SQLiteAccess

/// Reads packages, for digests.
final class SQLiteReader {
  private let packages: SQLiteStatement
  private let key: SQLiteStatement
  private let tags: SQLiteStatement
  private let dependencies: SQLiteStatement

  init(_ connection: SQLiteConnection) throws {
    packages = try connection.prepare(
      """
      SELECT package.id, name.text, package.version, package.architecture, maintainer.name, maintainer.address,
        section.name
      FROM package JOIN name ON name.id = package.name_id
        LEFT JOIN maintainer ON maintainer.id = package.maintainer_id
        LEFT JOIN section ON section.id = package.section_id
      """)
    key = try connection.prepare(
      """
      SELECT name.text, package.version, package.architecture
      FROM package JOIN name ON name.id = package.name_id WHERE package.id = ?
      """)
    tags = try connection.prepare(
      "SELECT tag.name FROM package_tag JOIN tag ON tag.id = package_tag.tag_id WHERE package_tag.package_id = ?"
    )
    dependencies = try connection.prepare(
      """
      SELECT dependency.kind, dependency.clause, dependency.position, name.text, dependency.architecture,
        dependency.relation, dependency.version
      FROM dependency JOIN name ON name.id = dependency.target_id
      WHERE dependency.package_id = ? ORDER BY dependency.kind, dependency.clause, dependency.position
      """)
  }

  func digest() throws -> ArchiveDigest {
    var digest = ArchiveDigest()
    while try packages.step() {
      let id = packages.int(0)
      var hash = PackageHash(
        name: packages.text(1) ?? "", version: packages.text(2) ?? "", architecture: packages.text(3) ?? "")
      hash.add(maintainer: packages.text(4).map { Maintainer(name: $0, address: packages.text(5) ?? "") })
      hash.add(section: packages.text(6))
      hash.add(tags: try tags(of: id))
      try addDependencies(of: id, to: &hash)
      digest.add(hash)
    }
    return digest
  }

  func digest(ofKeys ids: [Int64]) throws -> ArchiveDigest {
    var digest = ArchiveDigest()
    for id in ids {
      try key.bind(1, id)
      while try key.step() {
        digest.add(
          PackageHash(name: key.text(0) ?? "", version: key.text(1) ?? "", architecture: key.text(2) ?? ""))
      }
    }
    return digest
  }

  private func tags(of id: Int64) throws -> [String] {
    try tags.bind(1, id)
    var found: [String] = []
    while try tags.step() { found.append(tags.text(0) ?? "") }
    return found
  }

  private func addDependencies(of id: Int64, to hash: inout PackageHash) throws {
    try dependencies.bind(1, id)
    while try dependencies.step() { hash.add(dependency: try currentDependency()) }
  }

  private func currentDependency() throws -> Dependency {
    guard let kind = DependencyKind(rawValue: Int(dependencies.int(0))) else {
      throw SQLiteError(code: 0, message: "A dependency has no kind")
    }
    let relation = dependencies.text(5).flatMap(VersionRelation.init(rawValue:))
    return Dependency(
      kind: kind, group: Int(dependencies.int(1)), position: Int(dependencies.int(2)),
      target: dependencies.text(3) ?? "", architecture: dependencies.text(4),
      constraint: relation.map { VersionConstraint($0, dependencies.text(6) ?? "") })
  }
}
