import PerdureTestSupport
import Testing

@testable import Perdure

@Entity final class Waypoint: ManagedObject {
  var number: Int64
  @Relationship(inverse: "start", deleteRule: .cascade) var roads: ToMany<Road>
  @Relationship(inverse: "end") var arrivals: ToMany<Road>
}

@Entity final class Road: ManagedObject {
  var length: Int64
  @Relationship(inverse: "roads") var start: Waypoint?
  @Relationship(inverse: "arrivals") var end: Waypoint?
}

/// A depth-first search that reads every number and length.
private struct Search {
  private(set) var lengths: [Int64: [Int64]] = [:]
  private(set) var visited: [ManagedObject] = []

  mutating func visit(_ waypoint: Waypoint) {
    let number = waypoint.number
    guard lengths[number] == nil else { return }
    lengths[number] = []
    visited.append(waypoint)
    for road in waypoint.roads {
      visited.append(road)
      lengths[number]?.append(road.length)
      if let end = road.end { visit(end) }
    }
    lengths[number]?.sort()
  }
}

@Suite("Neighbourhoods: objects with adjacent ids are read together in walks through small groups")
struct NeighbourhoodTests {
  private static let count = 640

  private func container(_ kind: StoreKind = .engine) throws -> PersistentContainer {
    let classes: [ManagedObject.Type] = [Waypoint.self, Road.self]
    let container = PersistentContainer(
      name: "Roads", model: try ManagedObjectModel(classes.map(\.entityDescription)), classes: classes,
      description: .inMemory, factory: kind.factory)
    try container.loadPersistentStores()
    return container
  }

  /// Inserts waypoints. Each has a road to the waypoint that follows it in `order`, and two more
  /// roads if `isWide`.
  ///
  /// - Returns: The first waypoint.
  private func build(
    _ order: [Int], isWide: Bool, in context: ManagedObjectContext
  ) throws -> ManagedObjectID {
    let waypoints = order.indices.map { number in
      let waypoint = Waypoint(context: context)
      waypoint.number = Int64(number)
      return waypoint
    }
    let following = Dictionary(uniqueKeysWithValues: zip(order, order.dropFirst() + [order[0]]))
    for number in order.indices {
      let next = try #require(following[number])
      let ends = isWide ? [next, (number + 7) % order.count, (number + 20) % order.count] : [next]
      for end in ends {
        let road = Road(context: context)
        (road.length, road.start, road.end) = (Int64(number * 1_000 + end), waypoints[number], waypoints[end])
      }
    }
    try context.save()
    return waypoints[order[0]].objectID
  }

  private func search(_ context: ManagedObjectContext, from first: ManagedObjectID) throws -> Search {
    var search = Search()
    search.visit(try #require(context.object(with: first) as? Waypoint))
    return search
  }

  @Test("A depth-first search over objects that were inserted together makes few requests")
  func depthFirst() throws {
    let container = try container()
    let first = try build(Array(0..<Self.count), isWide: true, in: container.newContext())
    let context = container.newContext()
    let search = try search(context, from: first)
    #expect(search.lengths.count == Self.count && search.visited.count == 4 * Self.count)
    let statistics = context.statistics
    #expect(statistics.rowRequestCount <= 4 * Self.count / 64 + 60)
    #expect(statistics.relationshipRequestCount <= 4 * Self.count / 64)
    #expect(statistics.rowCount <= 6 * Self.count)
  }

  @Test("A search along objects whose ids are far apart reads at most 16 rows of other objects")
  func distant() throws {
    let container = try container()
    let order = (0..<Self.count).map { $0 * 241 % Self.count }
    let first = try build(order, isWide: false, in: container.newContext())
    let context = container.newContext()
    var waypoint = try #require(context.object(with: first) as? Waypoint)
    var visited: [ManagedObject] = []
    for _ in 0..<Self.count {
      #expect(waypoint.number >= 0)
      visited.append(waypoint)
      waypoint = try #require(waypoint.roads.first { $0.length >= 0 }?.end)
    }
    let waypoints = Set(visited.map(\.objectID)).count
    #expect(waypoints == Self.count)
    #expect(context.statistics.rowCount <= 2 * Self.count + 16)
  }

  @Test(
    "Only reads of near objects earn credit for neighbourhoods, and unused neighbourhoods use up the credit")
  func credit() {
    var neighbourhoods = Neighbourhoods()
    func read(_ id: UInt64) -> Bool { neighbourhoods.shouldRead(around: ObjectReference(entity: 1, id: id)) }
    for step in UInt64(0)..<1_000 { #expect(!read(step * 389 % 5_000 + 1)) }
    // Several reads of one object are not reads of its neighbours.
    for _ in 0..<100 { #expect(!read(7)) }
    let made = (UInt64(0)..<2_200).count { read($0 * 3) }
    #expect((130...140).contains(made))
    for _ in 0..<64 { neighbourhoods.noteUse(ObjectReference(entity: 1, id: 1)) }
    for far in UInt64(1)...4 { #expect(!read(far * 20_000)) }
    #expect(read(80_001))
  }

  @Test("Neighbourhoods do not increase the number of requests of a loop over fetched objects")
  func wideLoop() throws {
    let container = try container()
    let first = try build(Array(0..<Self.count), isWide: false, in: container.newContext())
    let loop = container.newContext()
    // Neighbourhoods of waypoints exist, and their entity has credit.
    let waypoint = try #require(loop.object(with: first) as? Waypoint)
    var step = waypoint
    for _ in 0..<100 { step = try #require(step.roads.first { $0.length >= 0 }?.end) }
    let all = try loop.fetch(FetchRequest<Road>())
    let start = loop.statistics
    for position in all.indices {
      let end = all[position * 241 % all.count].end
      #expect((end?.number ?? -1) >= 0)
    }
    #expect(loop.statistics.since(start).rowRequestCount <= Self.count / 64 + 1)
    withExtendedLifetime(waypoint) {}
  }

  @Test("A neighbourhood is freed with its last instance")
  func lifetime() throws {
    let container = try container()
    let first = try build(Array(0..<Self.count), isWide: true, in: container.newContext())
    let context = container.newContext()
    do {
      let search = try search(context, from: first)
      #expect(search.visited.count == 4 * Self.count)
      #expect(context.core.registry.memory.pointee.blockCount > 0)
      withExtendedLifetime(search) {}
    }
    #expect(context.core.registry.memory.pointee.blockCount == 0)
  }

  @Test(
    "A search shows edits, saves of other contexts, deletions and new objects as fetches show them",
    arguments: StoreKind.allCases)
  func edits(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("neighbourhoods")
    let container = try container(kind)
    let (context, other) = (container.newContext(), container.newContext())
    let first = try build(Array(0..<200), isWide: true, in: container.newContext())
    context.refreshAllObjects()
    for round in 0..<20 {
      other.refreshAllObjects()
      try change(other, keeping: first, &random)
      try other.save()
      if random.chance(70) { context.refreshAllObjects() }
      if random.chance(50) { try change(context, keeping: first, &random) }
      context.processPendingChanges()
      let search = try search(context, from: first)
      var expected: [Int64: [Int64]] = [:]
      for waypoint in try context.fetch(FetchRequest<Waypoint>()) { expected[waypoint.number] = [] }
      for road in try context.fetch(FetchRequest<Road>()) {
        if let start = road.start { expected[start.number, default: []].append(road.length) }
      }
      for (number, lengths) in search.lengths {
        #expect(lengths == expected[number]?.sorted(), "round \(round), waypoint \(number)")
      }
      context.rollback()
    }
  }

  /// Changes, deletes and inserts some waypoints and roads.
  private func change(
    _ context: ManagedObjectContext, keeping first: ManagedObjectID, _ random: inout SeededGenerator
  ) throws {
    let waypoints = try context.fetch(FetchRequest<Waypoint>())
    var roads = try context.fetch(FetchRequest<Road>())
    for _ in 0..<10 {
      if let road = roads.popLast(), random.chance(30) { context.delete(road) }
      let road = random.pick(roads)
      road.length += 1
      road.end = random.pick(waypoints)
      let added = Road(context: context)
      (added.length, added.start, added.end) = (-1, random.pick(waypoints), random.pick(waypoints))
    }
    for waypoint in waypoints where waypoint.objectID != first && random.chance(1) {
      context.delete(waypoint)
    }
  }
}
