import Foundation
import GRDB

/// The graph as records of GRDB, with its query interface and its associations.
final class RecordGraph: GraphEngine {
  static let name = "GRDB records"
  static let settings = "7, Codable records and associations, \(SQLGraphSettings.text)"
  static let workloads = Workload.allCases

  typealias Key = WorkerRecord.CodingKeys

  let data: GraphData
  private let path: String
  private var queue: DatabaseQueue?

  init(folder: URL, data: GraphData) throws {
    self.data = data
    path = folder.appendingPathComponent("graph.sqlite").path
  }

  func open(_ durability: SaveDurability) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { database in
      for pragma in SQLGraphSettings.pragmas(durability) { try database.execute(sql: pragma) }
      try database.execute(sql: SQLGraphSettings.schema)
    }
    self.queue = queue
  }

  func close() throws {
    try queue?.writeWithoutTransaction { try $0.execute(sql: "PRAGMA optimize") }
    try queue?.close()
    queue = nil
  }

  func opened() throws -> DatabaseQueue {
    guard let queue else { throw GraphClosed() }
    return queue
  }

  func prepare(_ workload: Workload, _ script: Script) {}

  func perform(_ workload: Workload, _ script: Script) throws -> Answer {
    switch workload {
    case .insert: return try insert()
    case .updateAll, .findOrCreate, .updateEach, .updateEachDurable, .moveWorker, .deleteWorker,
      .deleteCompany:
      return try change(workload, script)
    case .units: return try units(script.units)
    case .close:
      try close()
      return .ofOneChange
    case .open:
      try open(.process)
      fallthrough
    default: return try opened().read { try answer(workload, script, $0) }
    }
  }

  private func answer(_ workload: Workload, _ script: Script, _ database: Database) throws -> Answer {
    switch workload {
    case .getByID:
      try fetch(script.gets, database) { WorkerRecord.filter(key: SQLGraphSettings.rowID($0)) }
    case .getByEmail: try fetch(script.emails, database) { WorkerRecord.filter(Key.email == $0) }
    case .fetchEqual: try fetch(script.names, database) { WorkerRecord.filter(Key.lastName == $0) }
    case .fetchRange:
      try fetch(script.salaries, database) { WorkerRecord.filter(Key.salary >= $0 && Key.salary < $0 + 10) }
    case .fetchPrefix:
      try fetch(script.prefixes, database) {
        WorkerRecord.filter(Key.lastName >= $0 && Key.lastName < $0 + "\u{10FFFF}")
      }
    case .fetchEither:
      try fetch(script.pairs, database) { pair in
        WorkerRecord.filter(
          Key.lastName == pair.name || Key.salary >= pair.salary && Key.salary < pair.salary + 10)
      }
    case .countByPredicate: try count(database)
    case .materialise: try fetch([()], database) { WorkerRecord.all() }
    case .traverse, .traverseAgain: try traverse(script.companies, database)
    case .managers: try managers(script.chains, database)
    case .sumComputed: try sumsOfRatings(database)
    case .sumKept: try keptSums(database)
    case .sortIndexed: try fetch([()], database) { WorkerRecord.order(Key.email).limit(100) }
    case .sortUnindexed: try fetch([()], database) { WorkerRecord.order(Key.rating).limit(100) }
    case .firstFiltered:
      try fetch([()], database) {
        WorkerRecord.filter(Key.isActive == true).order(Key.salary, Key.rating).limit(20)
      }
    case .deepOffset:
      try fetch([()], database) { WorkerRecord.order(Key.email).limit(100, offset: data.workerCount / 2) }
    default: try fetch([data.workers[0].email], database) { WorkerRecord.filter(Key.email == $0) }
    }
  }
}
