import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Suite("Saving")
struct SaveTests {
  @Test("The sets of changed objects are up to date after each change, and empty after the save")
  func sets() throws {
    let context = try Staff.context()
    let (changed, deleted) = (context.worker("changed"), context.worker("deleted"))
    try context.save()
    #expect(!context.hasChanges && !changed.hasChanges && !changed.isFault)
    let inserted = context.worker("inserted")
    changed.salary = 2
    context.delete(deleted)
    #expect(context.insertedObjects == [inserted] && inserted.isInserted)
    #expect(context.updatedObjects == [changed] && changed.isUpdated)
    #expect(context.deletedObjects == [deleted] && deleted.isDeleted)
    try context.save()
    #expect(context.insertedObjects.isEmpty && context.updatedObjects.isEmpty)
    #expect(context.deletedObjects.isEmpty && !context.hasChanges)
    #expect(!inserted.isInserted && !changed.isUpdated && !deleted.isDeleted)
    #expect(deleted.managedObjectContext == nil)
    #expect(changed.salary == 2)
  }

  @Test("An id is assigned at insertion, stays the same, and is temporary until the save")
  func identity() throws {
    let context = try Staff.context()
    let worker = context.worker("W")
    let id = worker.objectID
    #expect(id.isTemporaryID)
    try context.save()
    #expect(worker.objectID == id && worker.objectID.hashValue == id.hashValue)
    #expect(!worker.objectID.isTemporaryID)
    #expect(id.uri == "x-perdure://\(id.storeIdentifier)/Employee/p1")
  }

  @Test(
    "A save with missing mandatory values names all of them and saves nothing, and succeeds after they are set"
  )
  func missing() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = Employee(context: context)
    let contract = Contract(context: context)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .multipleValidationErrors)
    #expect(Set(error?.details.map(\.property) ?? []) == ["name", "company"])
    #expect(error?.details.allSatisfy { $0.code == .missingMandatoryProperty } == true)
    #expect(context.insertedObjects == [worker, contract])
    worker.name = "W"
    let single = #expect(throws: PerdureError.self) { try context.save() }
    #expect(single?.code == .missingMandatoryProperty)
    #expect(single?.details.map(\.objectID) == [contract.objectID])
    #expect(single?.message.contains("connect one, or make the relationship optional") == true)
    contract.company = context.company("C")
    try context.save()
    #expect(try container.newContext().same(contract).company?.name == "C")
  }

  @Test("A save refuses a mandatory attribute that was set to nil")
  func nullifiedMandatory() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let worker = setup.worker("W")
    worker.name = "W"
    try setup.save()
    let context = container.newContext()
    let copy = try context.same(worker)
    copy.setValue(nil, forKey: "name")
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .missingMandatoryProperty)
    #expect(error?.message.contains("set it, or declare it with a default or as optional") == true)
    context.rollback()
    #expect(copy.name == "W")
  }

  @Test("A save refuses a to-many relationship with more objects than its maximum")
  func counts() throws {
    let context = try Staff.context()
    let project = Project(context: context)
    try context.save()
    let workers = ["a", "b", "c", "d"].map { context.worker($0) }
    project.members.insert(contentsOf: workers)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .relationshipExceedsMaximumCount)
    #expect(error?.details.first?.value == .integer(4))
    project.members.remove(workers[3])
    try context.save()
    #expect(project.memberCount == 3)
  }

  @Test("A save refuses two objects with the same unique value, and names both objects")
  func unique() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (first, second) = (context.worker("A", email: "x"), context.worker("B", email: "x"))
    let nobody = [context.worker("C"), context.worker("D")]
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .constraintConflict)
    let conflict = try #require(error?.conflicts.first)
    #expect(error?.message.hasPrefix("Employee.email must be unique") == true)
    guard case .duplicate(let constraint, let existing) = conflict.kind else {
      Issue.record("\(conflict)")
      return
    }
    #expect(constraint == ["email"])
    #expect(conflict.values == [.string("x")])
    let words = "\(conflict.objectID) has the same email \"x\" as \(existing)"
    #expect(error?.description.contains(words) == true)
    #expect(Set([existing, conflict.objectID]) == [first.objectID, second.objectID])
    #expect(context.insertedObjects.count == 2 + nobody.count)
    second.email = "y"
    try context.save()
    let other = container.newContext()
    let late = other.worker("E", email: "y")
    #expect(throws: PerdureError.self) { try other.save() }
    late.email = "z"
    try other.save()
  }

  @Test("One save can swap unique values of two objects, and reuse a deleted object's value")
  func uniqueSwap() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (first, second) = (context.worker("A", email: "x"), context.worker("B", email: "y"))
    try context.save()
    first.email = "y"
    second.email = "x"
    try context.save()
    #expect(first.email == "y")
    context.delete(first)
    let third = context.worker("C", email: "y")
    try context.save()
    #expect(third.email == "y")
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "email == 'y'"))
    #expect(try container.newContext().fetch(request).map(\.name) == ["C"])
  }

  @Test("If two contexts change one object, the second save throws and saves nothing")
  func conflict() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = context.worker("W")
    try context.save()
    let other = container.newContext()
    let copy = try other.same(worker)
    worker.salary = 1
    copy.salary = 2
    let stranger = other.worker("stranger")
    try context.save()
    let error = #expect(throws: PerdureError.self) { try other.save() }
    #expect(error?.code == .mergeConflict)
    #expect(error?.conflicts.map(\.objectID) == [copy.objectID])
    #expect(copy.salary == 2 && stranger.isInserted)
    #expect(throws: PerdureError.self) { try container.newContext().existingObject(with: stranger.objectID) }
    other.refresh(copy, mergeChanges: true)
    #expect(copy.salary == 2)
    try other.save()
    #expect(try container.newContext().same(worker).salary == 2)
  }

  @Test("Two contexts may link to one object at the same time")
  func linksDoNotConflict() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (company, first, second) = (context.company("C"), context.worker("A"), context.worker("B"))
    try context.save()
    let other = container.newContext()
    first.company = company
    try other.same(second).company = try other.same(company)
    try context.save()
    try other.save()
    let copy = try container.newContext().same(company)
    #expect(Set(copy.workers.map(\.name)) == ["A", "B"])
  }

  @Test("A save refuses a link to a deleted object, and the deletion of a newly linked object")
  func deletedTarget() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (first, second) = (context.company("first"), context.company("second"))
    let worker = context.worker("W")
    try context.save()
    let other = container.newContext()
    let copy = try other.same(worker)
    copy.company = try other.same(first)
    context.delete(first)
    try context.save()
    let refused = #expect(throws: PerdureError.self) { try other.save() }
    #expect(refused?.conflicts.map(\.kind) == [.targetMissing])
    copy.company = try other.same(second)
    try other.save()
    context.delete(second)
    let late = #expect(throws: PerdureError.self) { try context.save() }
    #expect(late?.conflicts.contains { $0.kind == .linksChanged } == true)
    context.refreshAllObjects()
    try context.save()
    #expect(try container.newContext().same(worker).company == nil)
  }

  /// Returns a container with entities for teams and their players.
  private static func teams(minCount: Int, optional: Bool = false) throws -> PersistentContainer {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Team",
        properties: [
          .toMany("players", "Player", inverse: "team", optional: optional, minCount: minCount)
        ]),
      EntityDescription("Player", properties: [.toOne("team", "Team", inverse: "players")]),
    ])
    let container = PersistentContainer(
      name: "Teams", model: model, classes: [], description: .inMemory, factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    return container
  }

  @Test("A to-many relationship that is not optional is never saved empty, for any minimum")
  func mandatoryToMany() throws {
    for minCount in [0, 1, 2] {
      let container = try Self.teams(minCount: minCount)
      let context = container.newContext()
      let team = context.insertNewObject(forEntityName: "Team")
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .relationshipLacksMinimumCount)
      let least = minCount == 2 ? "2 objects" : "1 object"
      #expect(error?.details.first?.rule == "must have at least \(least)")
      for _ in 0..<max(1, minCount) {
        context.insertNewObject(forEntityName: "Player").setValue(team, forKey: "team")
      }
      try context.save()
      let players = try context.fetch(FetchRequest<ManagedObject>(entityName: "Player"))
      for player in players { player.setValue(nil as ManagedObject?, forKey: "team") }
      #expect(throws: PerdureError.self) { try context.save() }
    }
  }

  @Test("If another context empties a relationship, additions conflict unless they reach the minimum")
  func additionsBesideEmptying() throws {
    for (added, isRefused) in [(1, true), (2, false)] {
      let container = try Self.teams(minCount: 2, optional: true)
      let contexts = (0..<2).map { _ in container.newContext() }
      let team = contexts[0].insertNewObject(forEntityName: "Team")
      let players = (0..<2).map { _ in contexts[0].insertNewObject(forEntityName: "Player") }
      for player in players { player.setValue(team, forKey: "team") }
      try contexts[0].save()
      contexts[1].refreshAllObjects()
      let same = try contexts[1].existingObject(with: team.objectID)
      for player in players { player.setValue(nil as ManagedObject?, forKey: "team") }
      try contexts[0].save()
      for _ in 0..<added {
        contexts[1].insertNewObject(forEntityName: "Player").setValue(same, forKey: "team")
      }
      if isRefused {
        let error = #expect(throws: PerdureError.self) { try contexts[1].save() }
        #expect(error?.code == .mergeConflict)
      } else {
        try contexts[1].save()
      }
    }
  }

  @Test("Two contexts may add and remove members as long as the minimum is kept")
  func additionsBesideLeastNumber() throws {
    for minCount in [0, 2] {
      let container = try Self.teams(minCount: minCount)
      func addPlayer(_ context: ManagedObjectContext, _ team: ManagedObject) {
        context.insertNewObject(forEntityName: "Player").setValue(team, forKey: "team")
      }
      let contexts = (0..<2).map { _ in container.newContext() }
      let team = contexts[0].insertNewObject(forEntityName: "Team")
      for _ in 0..<max(1, minCount) { addPlayer(contexts[0], team) }
      try contexts[0].save()
      contexts[1].refreshAllObjects()
      let same = try contexts[1].existingObject(with: team.objectID)
      addPlayer(contexts[0], team)
      addPlayer(contexts[1], same)
      try contexts[0].save()
      try contexts[1].save()
      contexts[0].refreshAllObjects()
      let request = FetchRequest<ManagedObject>(entityName: "Player")
      let players = try contexts.map { try $0.fetch(request).sorted { "\($0.objectID)" < "\($1.objectID)" } }
      #expect(players[0].count == max(1, minCount) + 2)
      players[0][0].setValue(nil as ManagedObject?, forKey: "team")
      players[1][1].setValue(nil as ManagedObject?, forKey: "team")
      try contexts[0].save()
      try contexts[1].save()
      contexts[0].refreshAllObjects()
      addPlayer(contexts[0], team)
      addPlayer(contexts[0], team)
      try contexts[0].save()
      contexts[1].refreshAllObjects()
      // Each context alone leaves enough members, but both together leave none.
      let members = try contexts.map { context in
        try context.fetch(request).filter { $0.value(forKey: "team") != nil }
          .sorted { "\($0.objectID)" < "\($1.objectID)" }
      }
      let least = max(1, minCount)
      for player in members[0].dropLast(least) { player.setValue(nil as ManagedObject?, forKey: "team") }
      for player in members[1].suffix(members[1].count - least) {
        player.setValue(nil as ManagedObject?, forKey: "team")
      }
      try contexts[0].save()
      let error = #expect(throws: PerdureError.self) { try contexts[1].save() }
      #expect(error?.code == .mergeConflict && error?.details.map(\.code) == [.relationshipLacksMinimumCount])
    }
  }
}
