import DebianIndexReading
import SQLiteAccess

/// Inserts packages, within a transaction of the caller.
final class SQLiteWriter {
  private struct NameEntry {
    var id: Int64
    var isPackage: Bool
  }

  private let connection: SQLiteConnection
  private var names: [String: NameEntry] = [:]
  private var maintainers: [Maintainer: Int64] = [:]
  private var sections: LabelTable
  private var tags: LabelTable
  private let findName: SQLiteStatement
  private let insertName: SQLiteStatement
  private let markPackageName: SQLiteStatement
  private let findMaintainer: SQLiteStatement
  private let insertMaintainer: SQLiteStatement
  private let insertPackage: SQLiteStatement
  private let insertTag: SQLiteStatement
  private let insertDependency: SQLiteStatement

  init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    sections = try LabelTable("section", connection)
    tags = try LabelTable("tag", connection)
    findName = try connection.prepare("SELECT id, is_package FROM name WHERE text = ?")
    insertName = try connection.prepare("INSERT INTO name (text, is_package) VALUES (?, ?)")
    markPackageName = try connection.prepare("UPDATE name SET is_package = 1 WHERE id = ?")
    findMaintainer = try connection.prepare("SELECT id FROM maintainer WHERE name = ? AND address = ?")
    insertMaintainer = try connection.prepare("INSERT INTO maintainer (name, address) VALUES (?, ?)")
    insertPackage = try connection.prepare(
      """
      INSERT INTO package (name_id, version, architecture, maintainer_id, section_id, source, priority, summary,
        homepage, installed_size, size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (name_id, version, architecture) DO NOTHING
      """)
    insertTag = try connection.prepare("INSERT INTO package_tag (package_id, tag_id) VALUES (?, ?)")
    insertDependency = try connection.prepare(
      """
      INSERT INTO dependency (package_id, kind, clause, position, target_id, architecture, relation, version)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """)
  }

  func insert(_ record: PackageRecord) throws {
    guard let package = try insertPackage(record) else { return }
    for tag in record.tags {
      try insertTag.bind(1, package)
      try insertTag.bind(2, try tags.id(of: tag))
      try insertTag.run()
    }
    for dependency in record.dependencies { try insert(dependency, of: package) }
  }

  /// Inserts a package. Returns its id; nil if the package already existed.
  private func insertPackage(_ record: PackageRecord) throws -> Int64? {
    try insertPackage.bind(1, try nameID(record.name, isPackage: true))
    try insertPackage.bind(2, record.version)
    try insertPackage.bind(3, record.architecture)
    try insertPackage.bind(4, try record.maintainer.map(maintainerID))
    try insertPackage.bind(5, try record.section.map { try sections.id(of: $0) })
    try insertPackage.bind(6, record.source)
    try insertPackage.bind(7, record.priority)
    try insertPackage.bind(8, record.summary)
    try insertPackage.bind(9, record.homepage)
    try insertPackage.bind(10, record.installedSize.map(Int64.init))
    try insertPackage.bind(11, record.size.map(Int64.init))
    try insertPackage.run()
    return connection.changeCount == 0 ? nil : connection.lastInsertedID
  }

  private func insert(_ dependency: Dependency, of package: Int64) throws {
    let target = try nameID(dependency.target, isPackage: false)
    try insertDependency.bind(1, package)
    try insertDependency.bind(2, Int64(dependency.kind.rawValue))
    try insertDependency.bind(3, Int64(dependency.group))
    try insertDependency.bind(4, Int64(dependency.position))
    try insertDependency.bind(5, target)
    try insertDependency.bind(6, dependency.architecture)
    try insertDependency.bind(7, dependency.constraint?.relation.rawValue)
    try insertDependency.bind(8, dependency.constraint?.version)
    try insertDependency.run()
  }

  private func nameID(_ text: String, isPackage: Bool) throws -> Int64 {
    var entry = try names[text] ?? storedName(text) ?? newName(text, isPackage: isPackage)
    if isPackage && !entry.isPackage {
      try markPackageName.bind(1, entry.id)
      try markPackageName.run()
      entry.isPackage = true
    }
    names[text] = entry
    return entry.id
  }

  private func storedName(_ text: String) throws -> NameEntry? {
    try findName.bind(1, text)
    guard try findName.step() else { return nil }
    defer { findName.reset() }
    return NameEntry(id: findName.int(0), isPackage: findName.int(1) != 0)
  }

  private func newName(_ text: String, isPackage: Bool) throws -> NameEntry {
    try insertName.bind(1, text)
    try insertName.bind(2, isPackage ? 1 : 0)
    try insertName.run()
    return NameEntry(id: connection.lastInsertedID, isPackage: isPackage)
  }

  private func maintainerID(_ maintainer: Maintainer) throws -> Int64 {
    if let known = maintainers[maintainer] { return known }
    try findMaintainer.bind(1, maintainer.name)
    try findMaintainer.bind(2, maintainer.address)
    let id: Int64
    if try findMaintainer.step() {
      id = findMaintainer.int(0)
      findMaintainer.reset()
    } else {
      try insertMaintainer.bind(1, maintainer.name)
      try insertMaintainer.bind(2, maintainer.address)
      try insertMaintainer.run()
      id = connection.lastInsertedID
    }
    maintainers[maintainer] = id
    return id
  }
}

/// A table of names with ids, and the ids that were already looked up.
private struct LabelTable {
  private let connection: SQLiteConnection
  private let find: SQLiteStatement
  private let insert: SQLiteStatement
  private var ids: [String: Int64] = [:]

  init(_ table: String, _ connection: SQLiteConnection) throws {
    self.connection = connection
    find = try connection.prepare("SELECT id FROM \(table) WHERE name = ?")
    insert = try connection.prepare("INSERT INTO \(table) (name) VALUES (?)")
  }

  mutating func id(of name: String) throws -> Int64 {
    if let known = ids[name] { return known }
    try find.bind(1, name)
    let id: Int64
    if try find.step() {
      id = find.int(0)
      find.reset()
    } else {
      try insert.bind(1, name)
      try insert.run()
      id = connection.lastInsertedID
    }
    ids[name] = id
    return id
  }
}
