import Perdure
import PerdureTestSupport
import Testing

/// Contexts of every kind work on many threads at the same time. This suite also runs under the
/// thread sanitizer.
@Suite("Many contexts on one store")
struct CrowdTests {
  private static let rounds = 12

  /// One company with one worker, which all tasks change.
  private struct World: Sendable {
    let container: PersistentContainer
    let company: ManagedObjectID
    let idol: ManagedObjectID

    init() async throws {
      let container = try Staff.container(.stored)
      self.container = container
      (company, idol) = try await container.performBackgroundTask { context in
        let (company, idol) = (context.company("all"), context.worker("idol"))
        (idol.company, idol.salary) = (company, 0)
        try context.save()
        return (company.objectID, idol.objectID)
      }
    }

    func idol(_ context: ManagedObjectContext) throws -> Employee {
      try #require(context.existingObject(with: idol) as? Employee)
    }

    func company(_ context: ManagedObjectContext) throws -> Company {
      try #require(context.existingObject(with: company) as? Company)
    }
  }

  @Test("No change is lost, both ends agree, and a pinned context's state stays the same")
  func crowd() async throws {
    let world = try await World()
    let saves = world.container.saves(bufferingNewest: 10_000)
    let listener = Task {
      var inserted: Set<ManagedObjectID> = []
      for await save in saves { inserted.formUnion(save.insertedObjectIDs) }
      return inserted
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask { try await Self.add(world) }
        group.addTask { try await Self.addByChildren(world) }
        group.addTask { try await Self.hireAndDismiss(world) }
        group.addTask { try await Self.watch(world) }
        group.addTask { try await Self.follow(world) }
      }
      try await group.waitForAll()
    }
    let added = 4 * Self.rounds
    try await world.container.performBackgroundTask { context in
      let (idol, company) = (try world.idol(context), try world.company(context))
      #expect(idol.salary == Int64(added))
      #expect(idol.friends.count == added)
      #expect(company.workerCount == added + 1 && company.workers.count == added + 1)
    }
    try expectWhole(world.container)
    listener.cancel()
    // The count includes the workers that were created and deleted again.
    #expect(await listener.value.count == added + 2 * Self.rounds)
  }

  /// Adds one to the salary of the shared worker `idol`, and adds a new friend of this worker.
  /// Other tasks do the same.
  private static func add(_ world: World) async throws {
    try await world.container.performBackgroundTask { context in
      context.mergePolicy = .error.merging("salary", of: "Employee", by: .sum)
      for _ in 0..<rounds {
        try befriend(world, context)
        try context.save()
      }
    }
  }

  private static func befriend(_ world: World, _ context: ManagedObjectContext) throws {
    let (idol, worker) = (try world.idol(context), context.worker("friend"))
    worker.company = try world.company(context)
    idol.friends.insert(worker)
    idol.salary += 1
  }

  /// Makes the same changes in a child context. The child saves, and then the parent saves.
  private static func addByChildren(_ world: World) async throws {
    try await world.container.performBackgroundTask { parent in
      parent.mergePolicy = .error.merging("salary", of: "Employee", by: .sum)
      for _ in 0..<rounds {
        let child = parent.newChildContext()
        try befriend(world, child)
        try child.save()
        try parent.save()
      }
    }
  }

  private static func hireAndDismiss(_ world: World) async throws {
    for _ in 0..<rounds {
      let id = try await world.container.performBackgroundTask { context in
        let worker = context.worker("for a day")
        worker.company = try world.company(context)
        try context.save()
        return worker.objectID
      }
      try await world.container.performBackgroundTask { context in
        context.delete(context.object(with: id))
        try context.save()
      }
    }
  }

  /// Reads one pinned state of the store twice.
  private static func watch(_ world: World) async throws {
    try await world.container.performBackgroundTask { context in
      for _ in 0..<rounds {
        try context.setQueryGeneration(from: .current)
        func seen() throws -> [Int64] {
          let (idol, company) = (try world.idol(context), try world.company(context))
          return [idol.salary, Int64(idol.friends.count), Int64(company.workerCount)]
        }
        let before = try seen()
        #expect(before[0] == before[1])
        context.refreshAllObjects()
        #expect(try seen() == before)
        try context.setQueryGeneration(from: nil)
      }
    }
  }

  /// Merges the saves of other contexts automatically. The number of friends may only grow.
  private static func follow(_ world: World) async throws {
    let background = world.container.newBackgroundContext()
    let events = background.events(bufferingNewest: 10_000)
    let listener = Task {
      // A merge reports the refreshed objects before it ends. This context makes no changes itself.
      for await event in events {
        switch event.kind {
        case .didMerge: break
        case .objectsDidChange:
          #expect(event.insertedObjectIDs.isEmpty && event.updatedObjectIDs.isEmpty)
        default: Issue.record("unexpected event: \(event)")
        }
      }
    }
    try await background.perform { $0.automaticallyMergesChangesFromParent = true }
    var last: Int64 = 0
    for _ in 0..<rounds {
      let friends = try await background.perform { context in
        let idol = try world.idol(context)
        #expect(idol.salary == Int64(idol.friends.count))
        #expect(idol.friends.allSatisfy { $0.friends.contains(idol) })
        context.processPendingChanges()
        return Int64(idol.friends.count)
      }
      #expect(friends >= last)
      last = friends
    }
    listener.cancel()
    await listener.value
  }
}
