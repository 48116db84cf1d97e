import Foundation
import Perdure
import PerdureLog

/// The graph as objects of Perdure, with classes as users write them.
final class PerdureGraph: GraphEngine {
  static let name = "Perdure"
  static let settings = "objects by macros, a new context for each workload, otherwise the defaults"
  static let workloads = Workload.allCases

  let data: GraphData
  private let path: String
  private var container: PersistentContainer?
  /// The ids by the numbers of workers and companies. A program may store such ids.
  private(set) var workers: [ManagedObjectID] = []
  private(set) var companies: [ManagedObjectID] = []
  /// The objects of a traversal, kept for the next one.
  private var walked: (context: ManagedObjectContext, objects: [ManagedObject])?

  init(folder: URL, data: GraphData) throws {
    self.data = data
    path = folder.appendingPathComponent("graph.perdure").path
  }

  func close() throws {
    walked = nil
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

  func prepare(_ workload: Workload, _ script: Script) throws {
    walked = nil
    guard workload == .traverseAgain else { return }
    let context = try newContext()
    walked = (context, objectsAlong(script.companies, context))
    _ = traverse(script.companies, context)
  }

  func perform(_ workload: Workload, _ script: Script) throws -> Answer {
    if workload == .open { try open(.process) }
    if workload == .units { return try units(script.units) }
    let context = try walked?.context ?? newContext()
    switch workload {
    case .insert: return try insert()
    case .getByID: return get(script.gets, context)
    case .getByEmail: return try get(script.emails, context)
    case .fetchEqual:
      return try fetch(script.names, context) { text in Worker.fetchRequest { $0.lastName == text } }
    case .fetchRange:
      return try fetch(script.salaries, context) { low in Worker.fetchRequest { $0.salary.in(low..<low + 10) }
      }
    case .fetchPrefix:
      return try fetch(script.prefixes, context) { text in
        Worker.fetchRequest { $0.lastName.hasPrefix(text) }
      }
    case .fetchEither:
      return try fetch(script.pairs, context) { pair in
        Worker.fetchRequest { $0.lastName == pair.name || $0.salary.in(pair.salary..<pair.salary + 10) }
      }
    case .countByPredicate: return try count(context)
    case .materialise: return try fetch([()], context) { Worker.fetchRequest() }
    case .traverse, .traverseAgain: return traverse(script.companies, context)
    case .managers: return managers(script.chains, context)
    case .sumComputed: return sums(context) { ($0.workerCount, $0.ratingSum) }
    case .sumKept: return sums(context) { ($0.workerCount, Double($0.salarySum)) }
    case .sortIndexed: return try first(FetchOrder(\Worker.email), context)
    case .sortUnindexed: return try first(FetchOrder(\Worker.rating), context)
    case .firstFiltered:
      var request = Worker.fetchRequest { $0.isActive == true }
      request.sortDescriptors = [FetchOrder(\Worker.salary), FetchOrder(\Worker.rating)]
      request.fetchLimit = 20
      return try fetch([()], context) { request }
    case .deepOffset:
      var request = Worker.fetchRequest()
      request.sortDescriptors = [FetchOrder(\Worker.email)]
      (request.fetchOffset, request.fetchLimit) = (data.workerCount / 2, 100)
      return try fetch([()], context) { request }
    case .updateAll, .updateEach, .updateEachDurable, .moveWorker, .deleteWorker, .deleteCompany:
      return try change(workload, script, context)
    case .findOrCreate: return try findOrCreate(script.imports, context)
    case .units, .close:
      try close()
      return .ofOneChange
    case .open:
      return try fetch([data.workers[0].email], context) { text in Worker.fetchRequest { $0.email == text } }
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
    for company in try context.fetch(Company.fetchRequest()) {
      answer.add(company.name)
      answer.add(count: company.workerCount, sum: Double(company.salarySum), among: 1)
    }
    for project in try context.fetch(Project.fetchRequest()) {
      answer.add("\(project.title): \(project.workers.count)")
    }
    return answer
  }

  /// Inserts ten thousand workers per save, each time with a new context.
  private func insert() throws -> Answer {
    var answer = Answer()
    for numbers in data.companyBatches {
      let context = try newContext()
      var inserted: [Worker] = []
      var founded: [Company] = []
      for number in numbers { founded.append(insertCompany(number, &inserted, context)) }
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
    let head = inserted.count
    for place in 0..<GraphData.companySize {
      let worker = Worker(context: context)
      let number = number * GraphData.companySize + place
      worker.set(data.workers[number])
      worker.company = company
      if let manager = data.manager(number) {
        worker.manager = inserted[head + manager % GraphData.companySize]
      }
      for project in data.projects(number) {
        worker.projects.insert(projects[project % GraphData.projectsPerCompany])
      }
      inserted.append(worker)
    }
    return company
  }
}
