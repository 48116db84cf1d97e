import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Entity class KeyedPerson: ManagedObject {
  @Attribute(.unique) var email: String
}

@Entity final class KeyedManager: KeyedPerson {
  var level: Int = 0
}

@Suite("Lookups by a unique key")
struct UniqueLookupTests {
  private static let emails = (0..<24).map { "w\($0)@acme.com" }

  @Test(
    "A lookup and a fetch find the same object after edits, deletions, saves and rollbacks",
    arguments: StoreKind.allCases)
  func likeFetch(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("lookups by a unique key, \(kind)")
    let container = try Staff.container(kind)
    let contexts = [container.newContext(), container.newContext()]
    for context in contexts { context.mergePolicy = .mergeByPropertyObjectTrump }
    for _ in 0..<60 {
      let context = random.pick(contexts)
      for _ in 0..<4 { try edit(context, &random) }
      try compare(context, &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1: save(context)
      case 2: context.rollback()
      default: break
      }
      try compare(context, &random)
    }
  }

  private func edit(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    let email = random.pick(Self.emails)
    let workers = try context.fetch(Employee.fetchRequest())
    switch Int.random(in: 0..<4, using: &random) {
    case 0 where !workers.contains { $0.email == email }: context.worker("new", email: email)
    case 1 where !workers.isEmpty: context.delete(random.pick(workers))
    case 2 where !workers.isEmpty: random.pick(workers).email = nil
    default:
      if workers.isEmpty || workers.contains(where: { $0.email == email }) { return }
      random.pick(workers).email = email
    }
  }

  /// Saves, or rolls back if the save fails, because the other context can have saved the same key.
  private func save(_ context: ManagedObjectContext) {
    do { try context.save() } catch { context.rollback() }
  }

  private func compare(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    for email in Self.emails {
      let request = FetchRequest<Employee>(
        predicate: try FetchPredicate(format: "email == %@", email))
      let expected: () throws -> Employee? = { try context.fetch(request).first }
      let found: () throws -> Employee? = {
        try context.first(Employee.self, where: \.email, equals: email)
      }
      // Either the lookup or the fetch reads the row first.
      let isLookupFirst = Int.random(in: 0..<2, using: &random) == 0
      let (left, right) = isLookupFirst ? (try found(), try expected()) : (try expected(), try found())
      #expect(left === right)
      #expect(left?.email == left.map { _ in email })
    }
  }

  @Test("A lookup in an entity finds objects of its subentities, and of no other entity")
  func subentity() throws {
    let container = try PersistentContainer(
      name: "Keys", classes: [KeyedPerson.self, KeyedManager.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let manager = KeyedManager(context: context)
    manager.email = "ada@acme.com"
    let person = KeyedPerson(context: context)
    person.email = "eve@acme.com"
    for _ in 0..<2 {
      #expect(try context.first(KeyedPerson.self, where: \.email, equals: "ada@acme.com") === manager)
      #expect(try context.first(KeyedPerson.self, where: \.email, equals: "eve@acme.com") === person)
      #expect(try context.first(KeyedManager.self, where: \.email, equals: "ada@acme.com") === manager)
      #expect(try context.first(KeyedManager.self, where: \.email, equals: "eve@acme.com") == nil)
      try context.save()
    }
  }

  @Test("An object that a lookup returns is loaded, and the lookup is one request")
  func requests() throws {
    let container = try Staff.container(.engine)
    let first = container.newContext()
    for number in 0..<20 { first.worker("w\(number)", email: "w\(number)") }
    try first.save()
    let context = container.newContext()
    let worker = try #require(try context.first(Employee.self, where: \.email, equals: "w7"))
    #expect(!worker.isFault)
    let before = context.statistics
    #expect(worker.name == "w7")
    #expect(try context.first(Employee.self, where: \.email, equals: "w7") === worker)
    var expected = ContextStatistics()
    expected.fetchRequestCount = 1
    #expect(context.statistics.since(before) == expected)
  }

  @Test("A lookup by an attribute that is not unique throws an error that names the attribute, each time")
  func notUnique() throws {
    let context = try Staff.context()
    for _ in 0..<2 {
      let error = #expect(throws: FetchError.self) {
        try context.first(Employee.self, where: \.name, equals: "Ada")
      }
      #expect(error?.code == .notUnique && error?.key == "name")
    }
  }

  @Test("A lookup of a class that the container lacks throws the same error as a fetch")
  func foreignClass() throws {
    let context = try Staff.context()
    let request = FetchRequest<KeyedCustomer>()
    let expected = #expect(throws: FetchError.self) { try context.fetch(request) }
    let error = #expect(throws: FetchError.self) {
      try context.first(KeyedCustomer.self, where: \.key, equals: 1)
    }
    #expect(error?.code == expected?.code && error?.entity == expected?.entity)
  }

  @Test("After the container is closed, a lookup throws the same error as a fetch")
  func closed() throws {
    let container = try Staff.container(.engine)
    let context = container.newContext()
    _ = try context.first(Employee.self, where: \.email, equals: "a")
    try container.close()
    let expected = #expect(throws: PerdureError.self) { try context.fetch(Employee.fetchRequest()) }
    let error = #expect(throws: PerdureError.self) {
      try context.first(Employee.self, where: \.email, equals: "a")
    }
    #expect(error?.code == expected?.code)
  }

  @Test("Keys that an index cannot hold are found too")
  func longKeys() throws {
    let context = try Staff.context()
    let long = String(repeating: "é", count: 3000)
    let worker = context.worker("Ada", email: long)
    #expect(try context.first(Employee.self, where: \.email, equals: long) === worker)
    #expect(try context.first(Employee.self, where: \.email, equals: long + "x") == nil)
    #expect(try context.first(Employee.self, where: \.email, equals: "") == nil)
  }
}
