import Foundation
import SQLiteAccess

/// A design in SQLite with a cache of objects, written specifically for the traversal T1. When T1
/// first visits a composite part, it is read with all its atomic parts and connections.
final class SQLiteDesign: DesignEngine {
  static let name = SQLiteAccessByC.engineName

  private let size: DesignSize
  private let addition: DesignAddition
  private let path: String
  private var connection: SQLiteAccessByC?
  private var statements: [String: SQLiteStatement] = [:]
  private var root: PlainAssembly?

  init(folder: URL, design: DesignData) throws {
    path = folder.appendingPathComponent("design.sqlite").path
    size = design.size
    addition = DesignAddition(design)
    try open()
    try access { try fill(design) }
    try close()
  }

  private func open() throws {
    let connection = try SQLiteAccessByC(path: path)
    for pragma in SQLGraphSettings.pragmas(.process) { try connection.execute(pragma) }
    try connection.execute(Self.schema)
    self.connection = connection
  }

  func close() throws {
    (statements, root) = ([:], nil)
    try connection?.close()
    connection = nil
  }

  func prepare(_ workload: DesignWorkload) throws {
    if workload == .traverseHot, root == nil { _ = try perform(.traverseCold) }
    guard workload != .traverseHot else { return }
    try close()
    try open()
  }

  func perform(_ workload: DesignWorkload) throws -> Answer {
    guard let connection else { throw GraphClosed() }
    switch workload {
    case .traverseCold, .traverseHot: return try connection.reading(walk)
    case .range: return try connection.reading { try atomics("WHERE date >= \(DesignSize.rangeStart)") }
    case .scan: return try connection.reading { try atomics("") }
    case .join:
      return try connection.reading { try atomics("JOIN document ON document.id = atomic.document") }
    case .insert: try connection.inTransaction(insert)
    case .delete: try connection.inTransaction(delete)
    }
    var answer = Answer()
    answer.addChanges(DesignAddition.count)
    return answer
  }

  // MARK: Reading

  private func statement(_ sql: String) throws -> SQLiteStatement {
    if let found = statements[sql] { return found }
    guard let connection else { throw GraphClosed() }
    let made = try connection.prepare(sql)
    statements[sql] = made
    return made
  }

  private func walk() throws -> Answer {
    let root = try self.root ?? assemblies()
    self.root = root
    var walk = PlainWalk(size, read: read)
    try walk.visit(root)
    return walk.answer
  }

  /// Reads all assemblies. Their composite parts are not read yet.
  private func assemblies() throws -> PlainAssembly {
    var found: [Int64: PlainAssembly] = [:]
    var composites: [Int64: PlainComposite] = [:]
    // The upper levels have lower ids, so they come first.
    let rows = try statement("SELECT id, parent, type, date FROM assembly ORDER BY id")
    var root: PlainAssembly?
    while try rows.step() {
      let assembly = PlainAssembly(.init(type: rows.text(2) ?? "", buildDate: rows.int(3)))
      found[rows.int(0)] = assembly
      if let parent = found[rows.int(1)] { parent.parts.append(assembly) } else { root = assembly }
    }
    let links = try statement("SELECT base, composite FROM private ORDER BY base")
    while try links.step() {
      let id = links.int(1)
      let composite = composites[id] ?? PlainComposite(id: id)
      composites[id] = composite
      found[links.int(0)]?.privates.append(composite)
    }
    guard let root else { throw GraphClosed() }
    return root
  }

  private func atomic(_ row: SQLiteStatement) -> PlainAtomic {
    PlainAtomic(
      id: row.int(0), type: row.text(1) ?? "", buildDate: row.int(2), x: row.int(3), y: row.int(4),
      documentID: row.int(5))
  }

  private static let columns = "atomic.id, atomic.type, atomic.date, atomic.x, atomic.y, atomic.document"

  private func read(_ composite: PlainComposite) throws {
    let rows = try statement("SELECT \(Self.columns) FROM atomic WHERE composite = ? ORDER BY id")
    try rows.bind(1, composite.id)
    while try rows.step() { composite.atomics.append(atomic(rows)) }
    let links = try statement(
      """
      SELECT source, target, connection.type, length FROM atomic JOIN connection ON source = atomic.id
      WHERE composite = ?
      """)
    try links.bind(1, composite.id)
    let first = composite.atomics[0].id
    while try links.step() {
      let target = composite.atomics[Int(links.int(1) - first)]
      composite.atomics[Int(links.int(0) - first)].connections.append(
        PlainConnection(type: links.text(2) ?? "", length: links.int(3), target: target))
    }
  }

  private func atomics(_ rest: String) throws -> Answer {
    let rows = try statement("SELECT \(Self.columns) FROM atomic \(rest)")
    var found: [PlainAtomic] = []
    while try rows.step() { found.append(atomic(rows)) }
    var answer = Answer()
    for atomic in found { answer.add(atomic) }
    return answer
  }

  // MARK: Writing

  private func access(_ body: () throws -> Void) throws {
    guard let connection else { throw GraphClosed() }
    try connection.inTransaction(body)
  }

  private func run(_ sql: String, _ numbers: [Int64?], _ texts: String...) throws {
    let statement = try statement(sql)
    for (place, number) in numbers.enumerated() { try statement.bind(Int32(place + 1), number) }
    for (place, text) in texts.enumerated() { try statement.bind(Int32(numbers.count + place + 1), text) }
    try statement.run()
  }

  /// Fills the store. The ids of complex assemblies begin with 1. Base assemblies have the ids
  /// after them.
  private func fill(_ design: DesignData) throws {
    try run(
      "INSERT INTO module VALUES (?, ?, ?, ?)", [1, design.module.buildDate], design.module.type,
      DesignData.text("I am the manual for module #00000001.\n", size: size.manualSize))
    let insert = "INSERT INTO assembly(id, parent, date, type) VALUES (?, ?, ?, ?)"
    for (place, complex) in design.complexes.enumerated() {
      let parent = complex.parent.map { Int64($0 + 1) }
      try run(insert, [Int64(place + 1), parent, complex.part.buildDate], complex.part.type)
    }
    for (place, composite) in design.composites.enumerated() { try self.insert(composite, place) }
    for (place, base) in design.bases.enumerated() {
      let id = Int64(design.complexes.count + place + 1)
      try run(insert, [id, Int64(base.parent + 1), base.part.buildDate], base.part.type)
      for part in base.privates { try run("INSERT INTO private VALUES (?, ?)", [id, Int64(part + 1)]) }
      for part in base.shared { try run("INSERT INTO shared VALUES (?, ?)", [id, Int64(part + 1)]) }
    }
  }

  private func insert(_ composite: DesignData.Composite, _ place: Int) throws {
    let id = Int64(place + 1)
    try run(
      "INSERT INTO composite(id, date, type) VALUES (?, ?, ?)", [id, composite.part.buildDate],
      composite.part.type)
    let text = DesignData.text(
      "I am the documentation for composite part #\(composite.title.suffix(8)).\n", size: size.documentSize)
    try run("INSERT INTO document(id, title, text) VALUES (?, ?, ?)", [id], composite.title, text)
    let first = Int64(place * size.atomicPerComposite + 1)
    for (number, atomic) in composite.atomics.enumerated() {
      try run(
        "INSERT INTO atomic(id, date, x, y, document, composite, type) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [first + Int64(number), atomic.part.buildDate, atomic.x, atomic.y, atomic.documentID, id],
        atomic.part.type)
    }
    for (number, links) in composite.links.enumerated() {
      for link in links {
        try run(
          "INSERT INTO connection(source, target, length, type) VALUES (?, ?, ?, ?)",
          [first + Int64(number), first + Int64(link.target), link.length], link.type)
      }
    }
  }

  private func insert() throws {
    let complexCount = Int64((1..<DesignSize.levels).reduce(0) { count, _ in count * 3 + 1 })
    for (number, composite) in addition.composites.enumerated() {
      try insert(composite, size.compositeCount + number)
      let base = complexCount + Int64(addition.bases[number] + 1)
      try run("INSERT INTO private VALUES (?, ?)", [base, Int64(size.compositeCount + number + 1)])
    }
  }

  private func delete() throws {
    for number in 0..<DesignAddition.count {
      let id = Int64(size.compositeCount + number + 1)
      try run("DELETE FROM private WHERE composite = ?", [id])
      try run("DELETE FROM shared WHERE composite = ?", [id])
      try run("DELETE FROM connection WHERE source IN (SELECT id FROM atomic WHERE composite = ?)", [id])
      try run("DELETE FROM connection WHERE target IN (SELECT id FROM atomic WHERE composite = ?)", [id])
      try run("DELETE FROM atomic WHERE composite = ?", [id])
      try run("DELETE FROM document WHERE id = ?", [id])
      try run("DELETE FROM composite WHERE id = ?", [id])
    }
  }

  private static let schema = """
    CREATE TABLE IF NOT EXISTS module(id INTEGER PRIMARY KEY, date INTEGER, type TEXT, manual TEXT);
    CREATE TABLE IF NOT EXISTS assembly(id INTEGER PRIMARY KEY, parent INTEGER, type TEXT, date INTEGER);
    CREATE TABLE IF NOT EXISTS private(base INTEGER, composite INTEGER, PRIMARY KEY (base, composite)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS shared(base INTEGER, composite INTEGER, PRIMARY KEY (base, composite)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS composite(id INTEGER PRIMARY KEY, date INTEGER, type TEXT);
    CREATE TABLE IF NOT EXISTS document(id INTEGER PRIMARY KEY, title TEXT, text TEXT);
    CREATE TABLE IF NOT EXISTS atomic(
      id INTEGER PRIMARY KEY, type TEXT, date INTEGER, x INTEGER, y INTEGER, document INTEGER, composite INTEGER);
    CREATE TABLE IF NOT EXISTS connection(
      id INTEGER PRIMARY KEY, source INTEGER, target INTEGER, length INTEGER, type TEXT);
    CREATE INDEX IF NOT EXISTS private_composite ON private(composite);
    CREATE INDEX IF NOT EXISTS shared_composite ON shared(composite);
    CREATE INDEX IF NOT EXISTS atomic_date ON atomic(date);
    CREATE INDEX IF NOT EXISTS atomic_composite ON atomic(composite);
    CREATE INDEX IF NOT EXISTS connection_source ON connection(source);
    CREATE INDEX IF NOT EXISTS connection_target ON connection(target);
    CREATE INDEX IF NOT EXISTS document_title ON document(title);
    """
}
