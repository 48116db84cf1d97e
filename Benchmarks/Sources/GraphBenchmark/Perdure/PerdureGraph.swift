import Foundation
import Perdure
import PerdureLog

/// The graph as objects of Perdure, with classes as users write them.
final class PerdureGraph: GraphEngine {
  static let name = "Perdure"
  static let settings = "objects by macros, otherwise as it comes"
  static let workloads = Workload.allCases

  let data: GraphData
  private let path: String
  private var container: PersistentContainer?
  /// Ids as a program keeps them, by the numbers of workers and of companies.
  private(set) var workers: [ManagedObjectID] = []
  private(set) var companies: [ManagedObjectID] = []
  /// What `traverse` has read, for `traverseAgain`.
  private var traversed: ManagedObjectContext?

  init(folder: URL, data: GraphData) throws {
    self.data = data
    path = folder.appendingPathComponent("graph.perdure").path
  }

  func close() throws {
    traversed = nil
    try container?.close()
    container = nil
  }

  func open(_ durability: SaveDurability) throws {
    let container = try PersistentContainer(
      name: "graph", classes: [Company.self, Worker.self, Project.self],
      description: .init(path: path, durability: durability == .power ? .powerLoss : .processCrash))
    try container.loadPersistentStores()
    self.container = container
  }

  func newContext() throws -> ManagedObjectContext {
    guard let container else { throw GraphClosed() }
    return container.newContext()
  }

  func perform(_ workload: Workload, _ script: Script) throws -> Answer {
    if workload == .open { try open(.process) }
    let context = try workload == .traverseAgain ? traversed ?? newContext() : newContext()
    switch workload {
    case .insert: return try insert()
    case .getByID: return get(script.gets, context)
    case .getByEmail:
      return try fetch(script.emails.map { data.email($0) }, context) { text in
        Worker.fetchRequest { $0.email == text }
      }
    case .fetchEqual:
      return try fetch(script.names, context) { text in Worker.fetchRequest { $0.lastName == text } }
    case .fetchRange:
      return try fetch(script.salaries, context) { low in Worker.fetchRequest { $0.salary.in(low..<low + 10) } }
    case .fetchPrefix:
      return try fetch(script.prefixes, context) { text in
        Worker.fetchRequest { $0.lastName.hasPrefix(text) }
      }
    case .countByPredicate: return try count(context)
    case .materialise: return try fetch([()], context) { Worker.fetchRequest() }
    case .traverse, .traverseAgain:
      traversed = context
      return traverse(script.companies, context)
    case .managers: return managers(script.chains, context)
    case .sumComputed: return sums(context) { ($0.workers.count, $0.workers.reduce(0) { $0 + $1.salary }) }
    case .sumDerived: return sums(context) { ($0.workerCount, $0.salarySum) }
    case .sortIndexed: return try first(FetchOrder(\Worker.email), context)
    case .sortUnindexed: return try first(FetchOrder(\Worker.rating), context)
    case .updateAll, .updateEach, .updateEachDurable, .moveWorker, .deleteWorker, .deleteCompany:
      return try change(workload, script, context)
    case .open:
      return try fetch([data.email(0)], context) { text in Worker.fetchRequest { $0.email == text } }
    }
  }

  func content() throws -> Answer {
    let context = try newContext()
    var answer = Answer()
    for worker in try context.fetch(Worker.fetchRequest()) {
      answer.add(
        worker.values, company: worker.company?.name, manager: worker.manager?.email,
        projects: worker.projects.map(\.title))
    }
    return answer
  }

  /// Ten thousand workers a save, each with a context of its own.
  private func insert() throws -> Answer {
    var answer = Answer()
    for start in stride(from: 0, to: data.companyCount, by: 10) {
      let context = try newContext()
      var inserted: [Worker] = []
      var founded: [Company] = []
      for number in start..<min(start + 10, data.companyCount) {
        founded.append(insertCompany(number, &inserted, context))
      }
      try context.save()
      workers += inserted.map(\.objectID)
      companies += founded.map(\.objectID)
      answer.addChanges(inserted.count)
    }
    return answer
  }

  private func insertCompany(
    _ number: Int, _ inserted: inout [Worker], _ context: ManagedObjectContext
  ) -> Company {
    let company = Company(context: context)
    company.name = data.companyName(number)
    let projects = (0..<GraphData.projectsPerCompany).map { place in
      let project = Project(context: context)
      project.title = data.projectTitle(number * GraphData.projectsPerCompany + place)
      project.company = company
      return project
    }
    let first = inserted.count - number * GraphData.companySize
    for place in 0..<GraphData.companySize {
      let worker = Worker(context: context)
      let number = number * GraphData.companySize + place
      worker.set(data.worker(number))
      worker.company = company
      if let manager = data.manager(number) { worker.manager = inserted[first + manager] }
      worker.projects.insert(
        contentsOf: data.projects(number).map { projects[$0 % GraphData.projectsPerCompany] })
      inserted.append(worker)
    }
    return company
  }
}

/// A question to a graph that is not open.
struct GraphClosed: Error {}
