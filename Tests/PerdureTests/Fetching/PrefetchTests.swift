import Perdure
import PerdureTestSupport
import Testing

@Suite("Prefetching of related objects")
struct PrefetchTests {
  private static let count = 150

  /// Returns a container with companies. Each company has a project and two workers. Both workers
  /// are in the project.
  private func container() throws -> PersistentContainer {
    let container = try Staff.container()
    let context = container.newContext()
    for number in 0..<Self.count {
      let company = context.company("c\(number)")
      let project = Project(context: context)
      project.title = "p\(number)"
      for place in 0..<2 {
        let worker = context.worker("w\(number)-\(place)")
        worker.company = company
        worker.projects.insert(project)
      }
    }
    try context.save()
    return container
  }

  @Test("A prefetched to-one relationship costs one row request, and later accesses cost none")
  func toOne() throws {
    let context = try container().newContext()
    var request = FetchRequest<Employee>()
    request.prefetch { $0.company }
    #expect(request.relationshipKeyPathsForPrefetching == ["company"])
    let workers = try context.fetch(request)
    let fetched = context.statistics
    #expect(fetched.rowRequestCount == 1 && fetched.rowCount == Self.count)
    #expect(Set(workers.compactMap(\.company?.name)).count == Self.count)
    #expect(context.statistics == fetched)
    withExtendedLifetime(workers) { #expect(context.registeredObjects.count == 2 * Self.count) }
  }

  @Test("A prefetched path through to-many relationships costs at most two requests for each relationship")
  func toMany() throws {
    let context = try container().newContext()
    var request = FetchRequest<Company>()
    request.relationshipKeyPathsForPrefetching = ["workers.projects", "workers"]
    let companies = try context.fetch(request)
    let fetched = context.statistics
    // The naive store passes rows with the relationships.
    #expect(fetched.rowRequestCount == (StoreKind.current == .naive ? 0 : 2))
    #expect(fetched.relationshipRequestCount == 2)
    #expect(fetched.rowCount == 3 * Self.count)
    var titles: Set<String> = []
    for company in companies {
      #expect(company.workers.count == 2)
      for worker in company.workers {
        #expect(worker.name.hasPrefix("w"))
        for project in worker.projects { titles.insert(project.title) }
      }
    }
    #expect(titles.count == Self.count)
    #expect(context.statistics == fetched)
  }

  @Test("Prefetched relationships show unsaved changes and inserted objects")
  func changes() throws {
    let context = try container().newContext()
    let new = context.worker("new")
    var request = FetchRequest<Employee>(sortDescriptors: [FetchOrder("name")])
    let first = try #require(try context.fetch(request).dropFirst().first)
    let company = context.company("fresh")
    first.company = company
    request.relationshipKeyPathsForPrefetching = ["company", "projects"]
    let workers = try context.fetch(request)
    #expect(workers.first === new && new.company == nil && Array(new.projects).isEmpty)
    #expect(first.company === company && workers.allSatisfy { $0 === new || $0.projects.count == 1 })
  }

  @Test("Prefetching also reads the relationships of fetched faults")
  func faults() throws {
    let context = try container().newContext()
    var request = FetchRequest<Employee>()
    request.includesPropertyValues = false
    request.relationshipKeyPathsForPrefetching = ["company"]
    let workers = try context.fetch(request)
    let fetched = context.statistics
    #expect(workers.compactMap(\.company?.name).count == 2 * Self.count)
    #expect(context.statistics == fetched)
  }

  @Test("A wrong prefetching path or a negative batch size causes a typed error, and no row is read")
  func mistakes() throws {
    let context = try container().newContext()
    func error(_ path: String, batch: Int = 0) -> FetchError? {
      var request = FetchRequest<Company>()
      request.relationshipKeyPathsForPrefetching = [path]
      request.fetchBatchSize = batch
      return #expect(throws: FetchError.self) { try context.fetch(request) }
    }
    let misspelt = error("worker")
    #expect(misspelt?.code == .unknownProperty && misspelt?.suggestions == ["workers"])
    #expect(error("workers.name")?.code == .notARelationship)
    #expect(error("workers.name")?.key == "workers.name")
    #expect(error("workers.company.nmae")?.code == .unknownProperty)
    #expect(error("")?.code == .unknownProperty)
    #expect(error("workers", batch: -1)?.code == .invalidWindow)
    #expect(context.statistics.rowRequestCount == 0)
  }
}
