import Foundation
import Perdure
import PerdureLog

/// The store from which each scenario starts. It has ten companies, each with a thousand workers
/// and a hundred projects, and ten thousand notes. Every value is computed from the object's
/// number.
enum BaseGraph {
  static let companyCount = 10
  static let companySize = 1_000
  static let projectsPerCompany = 100
  static let noteCount = 10_000
  /// The number of workers with the same last name.
  static let namesakes = 20

  static var workerCount: Int { companyCount * companySize }

  static func companyName(_ company: Int) -> String { "Company \(company)" }
  static func projectTitle(_ project: Int) -> String { "Project \(project)" }
  static func email(_ worker: Int) -> String { "worker.\(worker)@example.org" }
  static func lastName(_ worker: Int) -> String { "Name \(worker % (workerCount / namesakes))" }
  /// All salaries are different. Their order differs from the order of the workers' numbers.
  static func salary(_ worker: Int) -> Int64 { 1_000 + Int64(worker * 7_919 % workerCount) }
  static func rating(_ worker: Int) -> Double { Double(worker * 6_007 % workerCount) + 0.5 }

  /// Makes a store with the graph, and closes it.
  static func make(at path: String) throws {
    let container = try container(at: path)
    try container.loadPersistentStores()
    for company in 0..<companyCount { try insertCompany(company, container.newContext()) }
    let context = container.newContext()
    for number in 0..<noteCount {
      let note = Note(context: context)
      (note.number, note.text) = (Int64(number), "Text \(number)")
    }
    try context.save()
    try container.close()
  }

  /// A container whose store is not loaded yet. Checkpoints and compaction do not run in the
  /// background, because they start at different times in each run.
  static func container(at path: String) throws -> PersistentContainer {
    var description = PersistentStoreDescription(path: path, durability: .processCrash)
    description.configuresEngine = { options in
      options.checkpoints.tailBytes = 1 << 30
      options.checkpoints.idleTailBytes = 1 << 30
      options.compactsAutomatically = false
      options.reserveBytes = 0
    }
    return try PersistentContainer(
      name: "graph", classes: [Company.self, Worker.self, Project.self, Note.self], description: description)
  }

  private static func insertCompany(_ number: Int, _ context: ManagedObjectContext) throws {
    let company = Company(context: context)
    company.name = companyName(number)
    let projects = (0..<projectsPerCompany).map { place in
      let project = Project(context: context)
      (project.title, project.company) = (projectTitle(number * projectsPerCompany + place), company)
      return project
    }
    var workers: [Worker] = []
    for place in 0..<companySize {
      let worker = Worker(context: context)
      worker.set(number * companySize + place)
      worker.company = company
      // A heap with eight children per node.
      if place > 0 { worker.manager = workers[(place - 1) / 8] }
      for step in 0..<3 { worker.projects.insert(projects[(place + step * 31) % projectsPerCompany]) }
      workers.append(worker)
    }
    try context.save()
  }
}

extension Worker {
  /// Sets all attributes to the values that follow from a worker's number.
  func set(_ worker: Int) {
    number = Int64(worker)
    (firstName, lastName, email) = ("Ada", BaseGraph.lastName(worker), BaseGraph.email(worker))
    (salary, rating) = (BaseGraph.salary(worker), BaseGraph.rating(worker))
    isActive = worker % 5 != 0
  }
}
