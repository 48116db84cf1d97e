import PerdureTestSupport
import Testing

@testable import Perdure

/// Objects must show the current state, for any cached siblings and any retained objects. The test
/// keeps this state in plain values.
@Suite("Siblings in random walks")
struct SiblingRandomTests {
  private static let companyCount = 30

  /// The company and the mentor of each worker, by name.
  private struct Picture {
    var companyOf: [String: String] = [:]
    var mentorOf: [String: String] = [:]
  }

  @Test(
    "After random walks, changes, saves, rollbacks and reloads, objects show the current state",
    arguments: 0..<6)
  func walks(round: Int) throws {
    let seed = SeededGenerator.seedFromEnvironment() &+ UInt64(round)
    var random = SeededGenerator(seed: seed)
    let container = try Staff.container()
    let (context, other) = (container.newContext(), container.newContext())
    var saved = try fill(container.newContext(), &random)
    var picture = saved
    other.refreshAllObjects()
    context.refreshAllObjects()
    var held: [ManagedObject] = []
    for step in 0..<150 {
      let message: Comment = "seed \(seed), step \(step)"
      switch Int.random(in: 0..<10, using: &random) {
      case 0: held = []
      case 1: try change(context, &picture, &random)
      case 2 where context.hasChanges:
        try context.save()
        saved = picture
      case 3:
        context.rollback()
        picture = saved
      case 4 where !context.hasChanges:
        try change(other, &saved, &random)
        try other.save()
        context.refreshAllObjects()
        picture = saved
      case 5, 6: try look(atCompanies: context, picture, &held, &random, message)
      default: try look(atWorkers: context, picture, &held, &random, message)
      }
      if context.hasChanges { continue }
      other.refreshAllObjects()
    }
    held = []
    context.reset()
    #expect(context.core.registry.memory.pointee.blockCount <= 2, "seed \(seed)")
  }

  private func fill(
    _ context: ManagedObjectContext, _ random: inout SeededGenerator
  ) throws -> Picture {
    var picture = Picture()
    let companies = (0..<Self.companyCount).map { context.company("c\($0)") }
    var workers: [Employee] = []
    for number in 0..<150 {
      let worker = context.worker("w\(number)")
      if let company = companies.randomElement(using: &random), number % 7 != 0 {
        worker.company = company
        picture.companyOf[worker.name] = company.name
      }
      if let mentor = workers.randomElement(using: &random), number % 3 != 0 {
        worker.mentor = mentor
        picture.mentorOf[worker.name] = mentor.name
      }
      workers.append(worker)
    }
    try context.save()
    return picture
  }

  private func change(
    _ context: ManagedObjectContext, _ picture: inout Picture, _ random: inout SeededGenerator
  ) throws {
    let workers = try context.fetch(FetchRequest<Employee>(sortDescriptors: [FetchOrder("name")]))
    let companies = try context.fetch(FetchRequest<Company>(sortDescriptors: [FetchOrder("name")]))
    for _ in 0..<5 {
      guard let worker = workers.randomElement(using: &random),
        let company = companies.randomElement(using: &random)
      else { continue }
      let goes = Bool.random(using: &random)
      if goes { worker.company = company } else { company.workers.remove(worker) }
      if goes {
        picture.companyOf[worker.name] = company.name
      } else if picture.companyOf[worker.name] == company.name {
        picture.companyOf[worker.name] = nil
      }
    }
  }

  private func look(
    atWorkers context: ManagedObjectContext, _ picture: Picture, _ held: inout [ManagedObject],
    _ random: inout SeededGenerator, _ message: Comment
  ) throws {
    var request = FetchRequest<Employee>()
    request.includesPropertyValues = Bool.random(using: &random)
    if Bool.random(using: &random) { request.fetchBatchSize = Int.random(in: 1...80, using: &random) }
    if Bool.random(using: &random) { request.prefetch { $0.company } }
    var workers = try context.fetch(request)
    workers.shuffle(using: &random)
    for worker in workers.prefix(Int.random(in: 0...150, using: &random)) {
      #expect(worker.company?.name == picture.companyOf[worker.name], message)
      #expect(worker.mentor?.name == picture.mentorOf[worker.name], message)
      if Int.random(in: 0..<10, using: &random) == 0 { held.append(worker) }
      if Int.random(in: 0..<10, using: &random) == 0, let company = worker.company { held.append(company) }
    }
  }

  private func look(
    atCompanies context: ManagedObjectContext, _ picture: Picture, _ held: inout [ManagedObject],
    _ random: inout SeededGenerator, _ message: Comment
  ) throws {
    var request = FetchRequest<Company>()
    request.includesPropertyValues = Bool.random(using: &random)
    if Bool.random(using: &random) { request.prefetch { $0.workers } }
    var companies = try context.fetch(request)
    companies.shuffle(using: &random)
    for company in companies.prefix(Int.random(in: 0...Self.companyCount, using: &random)) {
      let expected = picture.companyOf.filter { $0.value == company.name }.map(\.key).sorted()
      if Bool.random(using: &random) { #expect(company.workers.count == expected.count, message) }
      #expect(company.workers.map(\.name).sorted() == expected, message)
      for worker in company.workers where Int.random(in: 0..<8, using: &random) == 0 {
        #expect(worker.mentor?.name == picture.mentorOf[worker.name], message)
        held.append(worker)
      }
    }
  }
}
