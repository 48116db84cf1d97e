// Tests with a store that has no optional capabilities: the number of requests of operations,
// failed requests, and requests to an expired view.

import PerdurePredicates
import Synchronization
import Testing

@testable import Perdure

/// A container of the staff model on a naive store.
struct NaiveScene {
  let container: PersistentContainer
  let store: NaiveStore
  var requests: NaiveRequests { store.requests }

  init(classes: [ManagedObject.Type] = Staff.classes) throws {
    let model = try ManagedObjectModel(Staff.entities)
    let store = NaiveStore(StoreSchema(try StoredModel.initial(for: model)))
    self.store = store
    container = PersistentContainer(
      name: "Staff", model: model, classes: classes, description: .inMemory,
      factory: StoreFactory { _, _ in store })
    try container.loadPersistentStores()
  }

  /// Saves companies with workers. Each worker has a project.
  func fill(companies: Int, workers: Int = 2) throws {
    let context = container.newContext()
    for number in 0..<companies {
      let company = context.company("c\(number)")
      for place in 0..<workers {
        let worker = context.worker("w\(number)-\(place)", email: "w\(number)-\(place)@acme.com")
        worker.company = company
        let project = Project(context: context)
        project.title = "p\(number)-\(place)"
        worker.projects.insert(project)
      }
    }
    try context.save()
  }
}

@Suite("Requests to a store without capabilities")
struct NaiveStoreTests {
  @Test("A fetch takes at most one request, and one for each prefetched relationship")
  func fetches() throws {
    let scene = try NaiveScene()
    try scene.fill(companies: 150)
    for paths in [[], ["workers"], ["workers.projects"], ["workers.projects", "chief", "departments"]] {
      let context = scene.container.newContext()
      var request = FetchRequest<Company>()
      request.sortDescriptors = [FetchOrder("name")]
      request.relationshipKeyPathsForPrefetching = paths
      let relationships = Set(
        paths.flatMap { path in
          let names = path.split(separator: ".")
          return names.indices.map { names[...$0].joined(separator: ".") }
        })
      let before = scene.requests.counts
      let taken = try scene.requests.count {
        let companies = try context.fetch(request)
        #expect(companies.count == 150)
        for company in companies {
          _ = company.name
          if paths.first?.hasPrefix("workers") == true { _ = company.workers.map(\.name) }
        }
      }
      #expect(taken <= 1 + relationships.count, "\(paths): \(before) \(scene.requests.counts)")
    }
  }

  @Test("A count, a fetch by a unique key and a fetch of ids take one request each")
  func smallFetches() throws {
    let scene = try NaiveScene()
    try scene.fill(companies: 40)
    let context = scene.container.newContext()
    var (count, names, ids): (Int, [String], [ManagedObjectID]) = (0, [], [])
    let counting = try scene.requests.count { count = try context.count(for: FetchRequest<Employee>()) }
    let request = try FetchRequest<Employee>(
      predicate: FetchPredicate(format: "email == %@", "w3-1@acme.com"))
    let fetching = try scene.requests.count { names = try context.fetch(request).map { $0.name } }
    let fetchingIDs = try scene.requests.count { ids = try context.fetchIDs(FetchRequest<Employee>()) }
    #expect(count == 80 && names == ["w3-1"] && ids.count == 80)
    #expect((counting, fetching, fetchingIDs) == (1, 1, 1))
  }

  @Test("Reading n siblings takes at most n / 64 + 1 requests")
  func siblings() throws {
    let scene = try NaiveScene()
    try scene.fill(companies: 1, workers: 300)
    let context = scene.container.newContext()
    let company = try #require(try context.fetch(Company.self).first)
    let workers = company.workers
    var names: Set<String> = []
    // The relationship itself is one request.
    let taken = scene.requests.count { for worker in workers { names.insert(worker.name) } }
    #expect(names.count == 300)
    #expect(taken <= 300 / 64 + 2, "\(scene.requests.counts)")
    var request = FetchRequest<Employee>()
    request.includesPropertyValues = false
    let other = scene.container.newContext()
    let all = try other.fetch(request)
    let read = scene.requests.count { for worker in all { _ = worker.name } }
    #expect(read <= 300 / 64 + 1)
  }

  @Test("A save takes at most three requests", arguments: [1, 100])
  func saves(count: Int) throws {
    // The container has no classes, because the default validation of a class reads every property,
    // as in Core Data.
    let scene = try NaiveScene(classes: [])
    let context = scene.container.newContext()
    func save(_ name: String) throws {
      let before = scene.requests.counts
      let taken = try scene.requests.count { try context.save() }
      #expect(taken <= 3, "\(name): \(before) \(scene.requests.counts)")
    }
    var workers: [ManagedObject] = []
    var companies: [ManagedObject] = []
    for number in 0..<count {
      companies.append(context.insertNewObject(forEntityName: "Company"))
      companies[number].setValue("c\(number)", forKey: "name")
      workers.append(context.insertNewObject(forEntityName: "Employee"))
      workers[number].setValue("w\(number)", forKey: "name")
      workers[number].setValue(companies[number], forKey: "company")
    }
    try save("insertions")
    for worker in workers { worker.setValue(5, forKey: "salary") }
    try save("changes")
    for worker in workers { worker.setValue(companies[0], forKey: "company") }
    try save("links")
    for company in companies.dropFirst() { context.delete(company) }
    try save("deletions")
    let others = scene.container.newContext()
    #expect(try others.count(for: FetchRequest<ManagedObject>(entityName: "Company")) == 1)
    let found = try others.fetch(FetchRequest<ManagedObject>(entityName: "Employee"))
    #expect(found.allSatisfy { $0.value(forKey: "salary") as? Int == 5 })
    #expect(Set(found.compactMap { ($0.value(forKey: "company") as? ManagedObject)?.objectID }).count == 1)
  }
}

extension NaiveStoreTests {
  // `Department` declares no hooks and no validation. They can cause further requests.
  @Test("A save of many deletions takes at most three requests")
  func deletions() throws {
    let scene = try NaiveScene()
    let context = scene.container.newContext()
    for number in 0..<200 {
      let department = Department(context: context)
      department.name = "d\(number)"
    }
    try context.save()
    let other = scene.container.newContext()
    let departments = try other.fetch(Department.self)
    let before = scene.requests.counts
    let taken = try scene.requests.count {
      for department in departments { other.delete(department) }
      try other.save()
    }
    #expect(taken <= 3, "\(before) \(scene.requests.counts)")
    #expect(try scene.container.newContext().count(for: FetchRequest<Department>()) == 0)
  }
}

// MARK: - Requests that fail

/// Work on a context, with a result that does not depend on ids. Ends with a fetch or a count,
/// which throws the errors of earlier accessors.
private struct Operation: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let run: @Sendable (ManagedObjectContext) throws -> String
}

private func summary(_ context: ManagedObjectContext) throws -> String {
  var request = FetchRequest<Employee>()
  request.sortDescriptors = [FetchOrder("name")]
  let workers = try context.fetch(request).map { worker in
    "\(worker.name) \(worker.salary) \(worker.company?.name ?? "-") \(worker.projects.map(\.title).sorted())"
  }
  return try workers.joined(separator: "\n") + " \(context.count(for: FetchRequest<Company>()))"
}

private let operations = [
  Operation(testDescription: "fetch and walk") { context in try summary(context) },
  Operation(testDescription: "count") { context in
    try "\(context.count(for: FetchRequest<Employee>(where: { $0.company.name == "c1" })))"
  },
  Operation(testDescription: "insert and save") { context in
    if try context.count(for: FetchRequest<Employee>(where: { $0.name == "new" })) == 0 {
      context.worker("new").company = try context.fetch(Company.self) { $0.name == "c2" }.first
    }
    try context.save()
    return try summary(context)
  },
  Operation(testDescription: "update and save") { context in
    for worker in try context.fetch(Employee.self) {
      worker.salary = 7
      worker.company = try context.fetch(Company.self) { $0.name == "c3" }.first
    }
    try context.save()
    return try summary(context)
  },
  Operation(testDescription: "delete and save") { context in
    for company in try context.fetch(Company.self, where: { $0.name == "c1" }) { context.delete(company) }
    for project in try context.fetch(Project.self) { context.delete(project) }
    try context.save()
    return try summary(context)
  },
  Operation(testDescription: "refresh over unsaved changes") { context in
    for worker in try context.fetch(Employee.self) { worker.salary = 8 }
    context.refreshAllObjects()
    try context.save()
    return try summary(context)
  },
]

@Suite("Failed requests, and expired views")
struct FailedRequestTests {
  /// Runs an operation on a new scene, in which one request fails.
  ///
  /// - Parameter number: The number of the failing request from 0, or -1 for none.
  /// - Returns: The result of the operation. If the operation failed, this is the result of a
  ///   second run, after a rollback. Also whether the first run failed, the stored content, and the
  ///   number of requests of the first run.
  private func result(
    of operation: Operation, failing number: Int
  ) throws -> (result: String, hasFailed: Bool, stored: String, requestCount: Int) {
    let scene = try NaiveScene()
    try scene.fill(companies: 5)
    let context = scene.container.newContext()
    scene.requests.fail { $0 == number }
    let first = scene.requests.total
    var result: String?
    var hasFailed = false
    do { result = try operation.run(context) } catch { hasFailed = true }
    let requestCount = scene.requests.total - first
    scene.requests.succeed()
    if hasFailed {
      context.rollback()
      result = try operation.run(context)
    }
    return (try #require(result), hasFailed, try summary(scene.container.newContext()), requestCount)
  }

  @Test(
    "If one request fails, the operation or its repetition after a rollback has the normal result",
    arguments: operations)
  fileprivate func retries(_ operation: Operation) throws {
    let expected = try result(of: operation, failing: -1)
    #expect(!expected.hasFailed)
    var failureCount = 0
    for number in 0..<expected.requestCount {
      let found = try result(of: operation, failing: number)
      #expect(found.result == expected.result, "request \(number)")
      #expect(found.stored == expected.stored, "request \(number)")
      // If the failing request only reads ahead, the operation succeeds.
      failureCount += found.hasFailed ? 1 : 0
    }
    #expect(failureCount > 0)
  }

  @Test("A fetch from an expired view throws, and after a refresh the context saves its changes")
  func expiry() throws {
    let scene = try NaiveScene()
    try scene.fill(companies: 3)
    scene.requests.expireViews(after: 1)
    let context = scene.container.newContext()
    let worker = try #require(try context.fetch(Employee.self) { $0.name == "w0-0" }.first)
    worker.salary = 5
    let other = scene.container.newContext()
    for number in 0..<3 {
      _ = other.company("other \(number)")
      try other.save()
    }
    let error = #expect(throws: PerdureError.self) { try context.fetch(Company.self) }
    #expect(error?.code == .readFailed && error?.cause is StoreViewExpired)
    #expect(error?.message.contains("Refresh") == true)
    context.refreshAllObjects()
    #expect(try context.count(for: FetchRequest<Company>()) == 6)
    #expect(worker.salary == 5)
    try context.save()
    let salaries = try scene.container.newContext().fetch(Employee.self) { $0.name == "w0-0" }.map(\.salary)
    #expect(salaries == [5])
  }
}
