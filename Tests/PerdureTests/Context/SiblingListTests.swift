import PerdureTestSupport
import Testing

@testable import Perdure

/// Walks along lists from several heads. The walks can have more steps than
/// `SiblingGroup.depthMax`, the distance up to which siblings are read together. Meanwhile another
/// context changes and removes members. The visited members must equal those in a dictionary of
/// names.
@Suite("Siblings along lists that change")
struct SiblingListTests {
  private typealias Links = [String: String?]

  @Test(
    "Walks that continue after other contexts' saves visit the members of the last refresh, with own changes",
    arguments: 0..<8)
  func walks(round: Int) throws {
    let seed = SeededGenerator.seedFromEnvironment() &+ UInt64(round)
    var random = SeededGenerator(seed: seed)
    let container = try Staff.container()
    let (context, other) = (container.newContext(), container.newContext())
    var stored = try fill(other, &random)
    context.refreshAllObjects()
    var seen = stored
    var walkers = try start(context, &random)
    for step in 0..<250 {
      let message: Comment = "seed \(seed), step \(step)"
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        try change(other, &stored, &random)
      case 1:
        context.rollback()
        context.refreshAllObjects()
        seen = stored
        walkers.removeAll { seen[$0.name] == nil }
      case 2:
        if let walker = walkers.randomElement(using: &random),
          let aim = walkers.randomElement(using: &random)
        {
          walker.object.mentor = aim.object
          seen[walker.name] = aim.name
        }
      case 3:
        context.rollback()
        context.refreshAllObjects()
        seen = stored
        walkers = try start(context, &random)
      default:
        walk(&walkers, seen, &random, message)
      }
    }
    walkers = []
    context.reset()
    #expect(context.core.registry.memory.pointee.blockCount <= 2, "seed \(seed)")
  }

  private struct Walker {
    var object: Employee
    var name: String
  }

  private func fill(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws -> Links {
    var links: Links = [:]
    var workers: [Employee] = []
    for number in 0..<200 {
      let worker = context.worker("w\(number)")
      // Mostly long parallel lists, some of which join.
      let mentor =
        Int.random(in: 0..<20, using: &random) == 0
        ? workers.randomElement(using: &random) : number < 5 ? nil : workers[number - 5]
      worker.mentor = mentor
      links.updateValue(mentor?.name, forKey: worker.name)
      workers.append(worker)
    }
    try context.save()
    return links
  }

  /// Returns some objects of one fetch. The context must have no changes.
  private func start(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws -> [Walker] {
    var request = FetchRequest<Employee>()
    request.includesPropertyValues = Bool.random(using: &random)
    let workers = try context.fetch(request).shuffled(using: &random)
    return workers.prefix(Int.random(in: 2...40, using: &random)).map { Walker(object: $0, name: $0.name) }
  }

  private func walk(
    _ walkers: inout [Walker], _ seen: Links, _ random: inout SeededGenerator, _ message: Comment
  ) {
    let heads = Bool.random(using: &random) ? walkers : []
    for _ in 0..<Int.random(in: 1...12, using: &random) {
      for place in walkers.indices where Int.random(in: 0..<4, using: &random) != 0 {
        let (object, name) = (walkers[place].object, walkers[place].name)
        let expected = seen[name] ?? nil
        let next = object.mentor
        #expect(next?.name == expected, message)
        if let next, let expected { walkers[place] = Walker(object: next, name: expected) }
      }
    }
    if !heads.isEmpty { walkers = heads }
  }

  /// Changes some mentors, and deletes one worker after removing all references to that worker.
  private func change(
    _ context: ManagedObjectContext, _ stored: inout Links, _ random: inout SeededGenerator
  ) throws {
    context.refreshAllObjects()
    var workers = try context.fetch(FetchRequest<Employee>(sortDescriptors: [FetchOrder("name")]))
    for _ in 0..<5 {
      guard let worker = workers.randomElement(using: &random) else { break }
      let mentor = workers.randomElement(using: &random)
      worker.mentor = mentor
      stored.updateValue(mentor?.name, forKey: worker.name)
    }
    if workers.count > 50, let place = workers.indices.randomElement(using: &random) {
      let removed = workers.remove(at: place)
      let name = removed.name
      for worker in workers where stored[worker.name] == .some(.some(name)) {
        worker.mentor = nil
        stored.updateValue(nil, forKey: worker.name)
      }
      stored.removeValue(forKey: name)
      context.delete(removed)
    }
    try context.save()
  }
}
