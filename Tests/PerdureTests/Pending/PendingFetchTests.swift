// Compares fetches over unsaved changes with the results of the reference evaluator. The evaluator
// evaluates every object in the state that the context shows.

import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Fetches over a layer of unsaved changes")
struct PendingFetchTests {
  @Test("A fetch finds the objects that the evaluator accepts, in order and within the window")
  func likeEvaluator() throws {
    var random = SeededGenerator.forTest("fetches over layers")
    for _ in 0..<4 {
      var scene = try LayeredScene(SeededGenerator(seed: random.next()))
      for round in 0..<10 {
        for _ in 0..<12 { scene.edit() }
        try expectLayer(scene.context)
        for _ in 0..<40 { try compare(scene.context, SeededGenerator(seed: random.next())) }
        if round % 3 == 2 { try scene.context.save() }
      }
    }
  }

  private static let entities = ["Party", "Company", "Employee", "Manager", "Tag", "Badge"]

  private func compare(_ context: ManagedObjectContext, _ random: SeededGenerator) throws {
    let core = context.core
    var random = random
    let entity = try #require(core.graph.store.entity(named: random.pick(Self.entities)))
    var generator = RandomPredicate(core.graph.store, random)
    let query = generator.query(entity)
    core.editing.deleteRules.propagateDeletes()
    let shown = try core.reading.layerFollower.shownView()
    let fetch = try PreparedFetch(query, core.graph.store)
    let plan = FetchPlanner.plan(fetch, FetchStatistics(shown))
    let executor = FetchExecutor(fetch, plan, view: shown)
    let found = try executor.references()
    let expected = try NaiveFetch.references(query, shownBy: core)
    #expect(try executor.count() == expected.count, "\(plan) for \(query)")
    if query.order.isEmpty {
      #expect(
        found.count == expected.count && Set(found).count == found.count, "\(plan) for \(query)")
    } else {
      #expect(found == expected, "\(plan) for \(query)")
    }
    if query.limit == nil, query.offset == 0 {
      #expect(Set(found) == Set(expected), "\(plan) for \(query)")
    }
  }

  @Test("Repeated fetches do not update the layer, and neither does an edit that is set back")
  func updates() throws {
    let context = try Staff.context(.engine)
    let ada = context.worker("Ada")
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "name == 'Ada'"))
    #expect(try context.count(for: request) == 1)
    let revision = context.core.reading.layerFollower.layerRevision
    for _ in 0..<5 { #expect(try context.fetch(request) == [ada]) }
    #expect(context.core.reading.layerFollower.layerRevision == revision)
    ada.name = "Eve"
    ada.name = "Ada"
    #expect(context.core.registry.memory.pointee.edits.references == [ada.reference])
    #expect(try context.fetch(request) == [ada])
    // The row has not changed, so the layer has not changed.
    #expect(context.core.reading.layerFollower.layerRevision == revision)
    ada.name = "Eve"
    #expect(try context.fetch(request).isEmpty)
    #expect(context.core.reading.layerFollower.layerRevision > revision)
  }

  @Test("Edits while a fetch visits its rows do not affect this fetch, and the next fetch includes them")
  func frozen() throws {
    let context = try Staff.context(.engine)
    for number in 0..<600 { context.worker("w\(number)").salary = 1 }
    let shown = try context.core.reading.layerFollower.shownView()
    let entity = try #require(context.core.graph.shape(of: Employee.self)).number
    var visited = 0
    try shown.visitRows(entity: entity, descending: false) { reference, _ in
      context.core.registry.instance(of: reference).setValue(Int64(2), forKey: "salary")
      context.worker("later")
      if visited % 50 == 0 { _ = try context.core.reading.layerFollower.shownView() }
      visited += 1
      return true
    }
    #expect(visited == 600)
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "salary == 2"))
    #expect(try context.count(for: request) == 600)
    #expect(try context.count(for: FetchRequest<Employee>()) == 1200)
  }

  @Test("After a fetch of a changed object and a rollback, the object shows its stored row")
  func adoption() throws {
    let context = try Staff.context(.engine)
    let ada = context.worker("Ada")
    try context.save()
    ada.name = "Eve"
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "name == 'Eve'"))
    #expect(try context.fetch(request) == [ada])
    context.rollback()
    #expect(ada.name == "Ada")
    #expect(try context.fetch(request).isEmpty)
  }

  @Test("A child's fetch gives objects their rows, including those that its parent has not saved")
  func adoptionInChild() throws {
    let parent = try Staff.context(.engine)
    for number in 0..<5 { parent.worker("w\(number)").salary = 9005 }
    let child = parent.newChildContext()
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "salary == 9005"))
    let found = try child.fetch(request)
    let requestCount = child.statistics.rowRequestCount
    #expect(found.map(\.name).sorted() == (0..<5).map { "w\($0)" })
    #expect(child.statistics.rowRequestCount == requestCount)
  }

  @Test("A merge of a save keeps the layer only if the save changes no pending object")
  func merges() throws {
    let container = try Staff.container()
    let (here, there) = (container.newContext(), container.newContext())
    here.automaticallyMergesChangesFromParent = true
    let (ada, bob) = (here.worker("Ada"), here.worker("Bob"))
    try here.save()
    ada.salary = 9002
    here.worker("new").mentor = ada
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "salary > 9000"))
    #expect(try here.count(for: request) == 1)
    let builder = try #require(here.core.reading.layerFollower.contextLayer).builder
    let updateCount = builder.updateCount
    there.refreshAllObjects()
    try #require(there.existingObject(with: bob.objectID) as? Employee).salary = 9003
    there.worker("Eve").salary = 9004
    try there.save()
    #expect(try here.count(for: request) == 3)
    // Without a count of commits, the context cannot know that nothing else was saved.
    if here.core.viewState.view.countsCommits {
      #expect(
        here.core.reading.layerFollower.contextLayer?.builder === builder
          && builder.updateCount == updateCount)
    }
    try expectLayer(here)
    // Another context changes the mentor of a pending object.
    try #require(there.existingObject(with: ada.objectID) as? Employee).name = "Ida"
    try there.save()
    #expect(try here.count(for: request) == 3)
    #expect(ada.name == "Ida" && here.core.reading.layerFollower.contextLayer?.builder !== builder)
    try expectLayer(here)
  }
}
