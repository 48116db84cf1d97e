import Foundation

// Plain classes. The program must keep them consistent itself.

final class PlainCompany {
  var name: String
  var workers: [PlainWorker] = []
  var projects: [PlainProject] = []
  init(name: String) { self.name = name }
}

final class PlainWorker {
  var firstName: String
  var lastName: String
  var email: String
  var salary: Int64
  var rating: Double
  var hired: Double
  var isActive: Bool
  unowned var company: PlainCompany
  var manager: PlainWorker?
  var reports: [PlainWorker] = []
  var projects: [PlainProject] = []

  init(_ values: WorkerValues, company: PlainCompany) {
    self.company = company
    (firstName, lastName, email) = (values.firstName, values.lastName, values.email)
    (salary, rating, hired, isActive) = (values.salary, values.rating, values.hired, values.isActive)
  }

  var values: WorkerValues {
    WorkerValues(
      firstName: firstName, lastName: lastName, email: email, salary: salary, rating: rating, hired: hired,
      isActive: isActive)
  }
}

final class PlainProject {
  var title: String
  var workers: [PlainWorker] = []
  init(title: String) { self.title = title }
}

/// The lower bound: the graph as plain Swift objects in memory, with dictionaries by number, by
/// email and by last name. It has no storage, no order, and no undo.
final class PlainGraph: GraphEngine {
  static let name = "plain classes"
  static let settings = "Swift objects and dictionaries in memory, without a database: the lower bound"
  static let workloads: [Workload] = [
    .insert, .getByID, .getByEmail, .fetchEqual, .countByPredicate, .materialise, .traverse, .traverseAgain,
    .managers,
    .sumComputed, .sortUnindexed, .updateAll, .findOrCreate, .updateEach, .moveWorker, .deleteWorker,
    .deleteCompany,
  ]

  let data: GraphData
  var companies: [Int: PlainCompany] = [:]
  var workers: [Int: PlainWorker] = [:]
  var workersByEmail: [String: PlainWorker] = [:]
  var workersByLastName: [String: [PlainWorker]] = [:]

  init(folder: URL, data: GraphData) { self.data = data }

  func open(_ durability: SaveDurability) {}

  /// Keeps the graph, because there is no store to read it from.
  func close() {}

  deinit {
    // Managers and their reports retain each other, so these cycles are removed.
    for worker in workers.values { take(worker) }
  }

  func prepare(_ workload: Workload, _ script: Script) {}

  func perform(_ workload: Workload, _ script: Script) throws -> Answer {
    switch workload {
    case .insert: insert()
    case .getByID: read(script.gets) { number in workers[number].map { [$0] } ?? [] }
    case .getByEmail: read(script.emails) { text in workersByEmail[text].map { [$0] } ?? [] }
    case .fetchEqual: read(script.names) { workersByLastName[$0] ?? [] }
    case .countByPredicate: count()
    case .materialise: read([()]) { workers.values }
    case .traverse, .traverseAgain: traverse(script.companies)
    case .managers: managers(script.chains)
    case .sumComputed: sums()
    case .sortUnindexed: read([()]) { workers.values.sorted { $0.rating < $1.rating }.prefix(100) }
    default: change(workload, script)
    }
  }

  func content() -> Answer {
    var answer = Answer()
    for worker in workers.values {
      answer.add(
        worker.values, company: worker.company.name, manager: worker.manager?.email,
        projects: worker.projects.map(\.title))
    }
    for company in companies.values {
      answer.add(company.name)
      let sum = company.workers.reduce(0) { $0 + $1.salary }
      answer.add(count: company.workers.count, sum: Double(sum), among: 1)
      for project in company.projects { answer.add("\(project.title): \(project.workers.count)") }
    }
    return answer
  }
}
