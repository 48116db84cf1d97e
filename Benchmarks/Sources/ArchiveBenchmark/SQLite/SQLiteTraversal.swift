import DebianIndexReading
import SQLiteAccess

/// Computes the dependency closure of a package by three methods. The closure is the package, and
/// all its direct and indirect dependencies.
final class SQLiteTraversal {
  private let packageClosure: SQLiteStatement
  private let nameClosure: SQLiteStatement
  private let packagesNamed: SQLiteStatement
  private let providers: SQLiteStatement
  private let targets: SQLiteStatement
  private let nameID: SQLiteStatement

  init(_ connection: SQLiteConnection) throws {
    let needs = "IN (\(DependencyKind.preDepends.rawValue), \(DependencyKind.depends.rawValue))"
    let provides = "= \(DependencyKind.provides.rawValue)"
    packageClosure = try connection.prepare(
      """
      WITH RECURSIVE closure (id) AS (
        SELECT package.id FROM package JOIN name ON name.id = package.name_id WHERE name.text = ?
        UNION
        SELECT package.id FROM closure
          JOIN dependency ON dependency.package_id = closure.id AND dependency.kind \(needs)
          JOIN package ON package.name_id = dependency.target_id
        UNION
        SELECT provider.package_id FROM closure
          JOIN dependency ON dependency.package_id = closure.id AND dependency.kind \(needs)
          JOIN dependency AS provider ON provider.target_id = dependency.target_id AND provider.kind \(provides)
      ) SELECT id FROM closure
      """)
    // One queue contains both names and packages. So a name is expanded once, even if thousands of
    // packages depend on it.
    nameClosure = try connection.prepare(
      """
      WITH RECURSIVE closure (is_package, id) AS (
        SELECT 1, package.id FROM package JOIN name ON name.id = package.name_id WHERE name.text = ?
        UNION
        SELECT 0, dependency.target_id FROM closure
          JOIN dependency ON dependency.package_id = closure.id AND dependency.kind \(needs)
          WHERE closure.is_package = 1
        UNION
        SELECT 1, package.id FROM closure
          JOIN package ON package.name_id = closure.id WHERE closure.is_package = 0
        UNION
        SELECT 1, provider.package_id FROM closure
          JOIN dependency AS provider ON provider.target_id = closure.id AND provider.kind \(provides)
          WHERE closure.is_package = 0
      ) SELECT id FROM closure WHERE is_package = 1
      """)
    packagesNamed = try connection.prepare("SELECT id FROM package WHERE name_id = ?")
    providers = try connection.prepare(
      "SELECT package_id FROM dependency WHERE target_id = ? AND kind \(provides)")
    targets = try connection.prepare(
      "SELECT target_id FROM dependency WHERE package_id = ? AND kind \(needs)")
    nameID = try connection.prepare("SELECT id FROM name WHERE text = ?")
  }

  func overPackages(from packageName: String) throws -> [Int64] {
    try packageClosure.bind(1, packageName)
    return try ids(packageClosure)
  }

  func overNamesAndPackages(from packageName: String) throws -> [Int64] {
    try nameClosure.bind(1, packageName)
    return try ids(nameClosure)
  }

  func statementPerNode(from packageName: String) throws -> [Int64] {
    try nameID.bind(1, packageName)
    guard let start = try ids(nameID).first else { return [] }
    var names: Set<Int64> = []
    var reached = try ids(packagesNamed, of: start)
    var packages = Set(reached)
    var next = 0
    while next < reached.count {
      for target in try ids(targets, of: reached[next]) where names.insert(target).inserted {
        for package in try ids(packagesNamed, of: target) where packages.insert(package).inserted {
          reached.append(package)
        }
        for package in try ids(providers, of: target) where packages.insert(package).inserted {
          reached.append(package)
        }
      }
      next += 1
    }
    return reached
  }

  private func ids(_ statement: SQLiteStatement, of id: Int64) throws -> [Int64] {
    try statement.bind(1, id)
    return try ids(statement)
  }

  private func ids(_ statement: SQLiteStatement) throws -> [Int64] {
    var ids: [Int64] = []
    while try statement.step() { ids.append(statement.int(0)) }
    return ids
  }
}
