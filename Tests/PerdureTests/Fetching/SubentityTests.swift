import Perdure
import PerdurePredicates
import Testing

@testable import Perdure

@Entity(indexes: [["name"]]) private class Vessel: ManagedObject {
  var name: String
  @Relationship(inverse: "vessels") var port: Port?
}

@Entity private final class Ferry: Vessel {
  var cars: Int = 0
}

@Entity private final class Port: ManagedObject {
  var name: String
  @Relationship(inverse: "port") var vessels: ToMany<Vessel>
}

@Suite("Objects of subentities")
struct SubentityTests {
  /// Returns a context with a port, three unsaved vessels and three unsaved ferries.
  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Ports", classes: [Vessel.self, Ferry.self, Port.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let port = Port(context: context)
    port.name = "P"
    for name in ["v1", "v2", "v3"] { make(Vessel(context: context), name, port) }
    for name in ["f1", "f2", "f3"] { make(Ferry(context: context), name, port) }
    return context
  }

  private func make(_ vessel: Vessel, _ name: String, _ port: Port) {
    (vessel.name, vessel.port) = (name, port)
  }

  private static let predicates = [
    "TRUEPREDICATE", "name != 'x'", "name BEGINSWITH 'f' OR name BEGINSWITH 'v'",
    "name IN {'f1', 'v1', 'f2', 'v2'}", "port.name == 'P'", "SELF IN %@", "port == %@",
    "port.vessels.@count > 0", "ANY port.vessels.name == 'f1'",
  ]

  private func check(_ context: ManagedObjectContext, _ expected: [String], _ comment: String) throws {
    let everyone = try context.fetch(FetchRequest<Vessel>())
    let port = try context.fetch(FetchRequest<Port>())[0]
    for text in Self.predicates {
      let argument: any PredicateArgument = text.hasPrefix("SELF") ? everyone : port
      let predicate = try FetchPredicate(
        format: text, argumentArray: text.contains("%@") ? [argument] : [])
      for includesSubentities in [true, false] {
        for order in [[], [FetchOrder("name")], [FetchOrder("name", ascending: false)]] {
          var request = FetchRequest<Vessel>(predicate: predicate, sortDescriptors: order)
          request.includesSubentities = includesSubentities
          var wanted = expected.filter { includesSubentities || $0.hasPrefix("v") }
          if text.contains("name IN") { wanted = wanted.filter { text.contains("'\($0)'") } }
          if text.hasPrefix("ANY"), !expected.contains("f1") { wanted = [] }
          let place: Comment = "\(comment): \(text), with sub-entities: \(includesSubentities)"
          let found = try context.fetch(request)
          #expect(found.map(\.name).sorted() == wanted, place)
          #expect(try context.count(for: request) == wanted.count, place)
          #expect(try Set(context.fetchIDs(request)) == Set(found.map(\.objectID)), place)
          request.fetchLimit = 2
          #expect(try context.count(for: request) == min(2, wanted.count), place)
          #expect(try context.fetch(request).count == min(2, wanted.count), place)
        }
      }
    }
  }

  @Test("Every kind of request includes or excludes objects of subentities, in every state")
  func everyWay() throws {
    let context = try context()
    var names = ["f1", "f2", "f3", "v1", "v2", "v3"]
    try check(context, names, "unsaved")
    try context.save()
    try check(context, names, "saved")
    let port = try context.fetch(FetchRequest<Port>())[0]
    for vessel in try context.fetch(FetchRequest<Vessel>()) {
      if vessel.name.hasSuffix("3") { vessel.name += "b" }
      if vessel.name.hasSuffix("2") { context.delete(vessel) }
    }
    make(Ferry(context: context), "fnew", port)
    make(Vessel(context: context), "vnew", port)
    names = ["f1", "f3b", "fnew", "v1", "v3b", "vnew"]
    try check(context, names, "changed")
    try context.save()
    try check(context, names, "saved again")
    context.delete(try #require(try context.fetch(FetchRequest<Ferry>()).first { $0.name == "f1" }))
    names.removeAll { $0 == "f1" }
    try check(context, names, "deleted")
  }

  @Test("Lists and != accept objects of any entity, and == accepts those of the parent entity")
  func mixed() throws {
    let context = try context()
    for _ in 0..<2 {
      let all = try context.fetch(FetchRequest<Vessel>(sortDescriptors: [FetchOrder("name")]))
      let (ferry, vessel) = (all[0], all[3])
      let port = try context.fetch(FetchRequest<Port>())[0]
      func ferries(_ format: String, _ arguments: any PredicateArgument...) throws -> Int {
        let predicate = try FetchPredicate(format: format, argumentArray: arguments)
        return try context.count(for: FetchRequest<Ferry>(predicate: predicate))
      }
      #expect(try ferries("SELF IN %@", [vessel.objectID, ferry.objectID, port.objectID]) == 1)
      #expect(try ferries("NOT SELF IN %@", [vessel.objectID, ferry.objectID, port.objectID]) == 2)
      #expect(try ferries("SELF != %@", vessel) == 3)
      #expect(try ferries("SELF != %@", ferry) == 2)
      #expect(try ferries("SELF != %@", port) == 3)
      #expect(try ferries("SELF == %@", vessel) == 0)
      #expect(try ferries("ANY port.vessels IN %@", [port.objectID, vessel.objectID]) == 3)
      #expect(try ferries("NONE port.vessels IN %@", [port.objectID]) == 3)
      let error = #expect(throws: FetchError.self) { try ferries("SELF == %@", port) }
      #expect(error?.code == .typeMismatch)
      try context.save()
    }
  }

  @Test("A request for an entity by name finds objects of its subentities only if these are included")
  func otherClasses() throws {
    let context = try context()
    for _ in 0..<2 {
      var request = FetchRequest<ManagedObject>(entityName: "Vessel")
      request.sortDescriptors = [FetchOrder("name")]
      for includesSubentities in [false, true] {
        request.includesSubentities = includesSubentities
        let ferries = includesSubentities ? ["f1", "f2", "f3"] : []
        let found = try context.fetch(request)
        #expect(found.map { $0["name"] as? String } == ferries + ["v1", "v2", "v3"])
        #expect(found.compactMap { ($0 as? Ferry)?.name } == ferries)
        #expect(try context.count(for: request) == found.count)
      }
      try context.save()
    }
  }
}
