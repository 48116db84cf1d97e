import Perdure
import PerdureModel
import Testing

@Suite("Objects that another context has deleted")
struct VanishedObjectTests {
  /// Returns a context with changes that involve a worker. Another context has deleted this worker,
  /// and the save was refused.
  private func refused(
    _ change: (Employee, Employee) -> Void
  ) throws -> (context: ManagedObjectContext, kept: Employee, gone: Employee) {
    let container = try Staff.container()
    let context = container.newContext()
    let (kept, gone) = (context.worker("kept"), context.worker("gone"))
    try context.save()
    change(kept, gone)
    let other = container.newContext()
    other.delete(try other.same(gone))
    try other.save()
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .mergeConflict)
    return (context, kept, gone)
  }

  @Test("If a linked object was deleted, the error names a remedy other than a refresh")
  func advice() throws {
    func message(_ change: (Employee, Employee) -> Void) throws -> String {
      let (context, _, _) = try refused(change)
      var found = ""
      do { try context.save() } catch { found = error.message }
      return found
    }
    let linked = try message { $0.mentor = $1 }
    #expect(linked.contains("link to another object or to nil") && !linked.contains("Refresh the objects"))
    let changed = try message { $1.name = "changed" }
    #expect(changed.contains("refresh(_:mergeChanges: false)") && !changed.contains("Refresh the objects"))
    let (context, kept, _) = try refused { $0.mentor = $1 }
    context.refreshAllObjects()
    #expect(throws: PerdureError.self) { try context.save() }
    kept.mentor = nil
    try context.save()
    #expect(!context.hasChanges)
    let (second, _, other) = try refused { $1.name = "changed" }
    second.refresh(other, mergeChanges: false)
    try second.save()
    let third = try Staff.container()
    let one = third.newContext()
    let worker = one.worker("W")
    try one.save()
    let two = third.newContext()
    worker.name = "mine"
    try two.same(worker).name = "theirs"
    try two.save()
    let error = #expect(throws: PerdureError.self) { try one.save() }
    #expect(error?.message.contains("Refresh the objects in question and save again.") == true)
    #expect(error?.message.contains("gone") == false)
  }

  @Test("The error recommends a refresh for links that a refresh removes")
  func refreshAdvice() throws {
    func check(_ change: (Employee, Employee) -> Void) throws {
      let (context, _, _) = try refused(change)
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.message.contains("Refresh the objects in question and save again.") == true)
      context.refreshAllObjects()
      try context.save()
      #expect(!context.hasChanges)
    }
    try check { $0.friends.insert($1) }
    try check { $1.friends.insert($0) }
    try check { $0.spouse = $1 }
  }

  @Test("The save drops links to a deleted object, even in a relationship with limits")
  func limitedLinks() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let project = Project(context: context)
    let workers = ["A", "B"].map { context.worker($0) }
    for worker in workers { project.members.insert(worker) }
    try context.save()
    project.members.remove(workers[0])
    let other = container.newContext()
    other.delete(try other.same(project))
    try other.save()
    try context.save()
    #expect(!context.hasChanges && workers[0].projects.isEmpty)
  }

  @Test("A refresh drops a one-to-one reference to a deleted object, and the save succeeds")
  func oneToOne() throws {
    let (context, kept, gone) = try refused { $0.spouse = $1 }
    context.refreshAllObjects()
    #expect(kept.spouse == nil)
    #expect(!context.updatedObjects.contains(gone))
    kept.name = "saved"
    try context.save()
    #expect(!context.hasChanges && gone.isDeleted)
  }

  /// This context has linked workers 0 and 1 as spouses, but not saved. Another context has deleted
  /// worker 1 and linked workers 0 and 2. Worker `changed` also has a new name in this context.
  private func marriedElsewhere(
    changing changed: Int
  ) throws -> (PersistentContainer, ManagedObjectContext, [Employee]) {
    let container = try Staff.container()
    let context = container.newContext()
    let workers = ["kept", "gone", "z"].map { context.worker($0) }
    try context.save()
    workers[0].spouse = workers[1]
    workers[changed].name = "changed"
    let other = container.newContext()
    other.delete(try other.same(workers[1]))
    try other.same(workers[0]).spouse = try other.same(workers[2])
    try other.save()
    return (container, context, workers)
  }

  @Test(
    "If a one-to-one reference is dropped, a pair that another context has saved stays",
    arguments: [false, true])
  func pairMadeElsewhere(movesOnFirst: Bool) throws {
    let (container, context, workers) = try marriedElsewhere(changing: 0)
    let (kept, z) = (workers[0], workers[2])
    if movesOnFirst {
      context.refresh(context.worker("new"), mergeChanges: true)
      #expect(kept.spouse == nil && z.spouse == nil)
    }
    context.refreshAllObjects()
    #expect(kept.spouse === z && z.spouse === kept && !z.hasChanges)
    try context.save()
    let third = container.newContext()
    #expect(try third.same(kept).spouse?.objectID == z.objectID && third.same(kept).name == "changed")
    #expect(try third.same(z).spouse?.objectID == kept.objectID)
    try expectWhole(container)
  }

  @Test("If the changes of a deleted object are discarded, a pair that another context has saved stays")
  func pairMadeElsewhereAndDiscarded() throws {
    let (container, context, workers) = try marriedElsewhere(changing: 1)
    let (kept, gone, z) = (workers[0], workers[1], workers[2])
    context.refresh(gone, mergeChanges: false)
    context.refreshAllObjects()
    #expect(kept.spouse === z && z.spouse === kept)
    try context.save()
    let third = container.newContext()
    #expect(try third.same(kept).spouse?.objectID == z.objectID)
    try expectWhole(container)
  }

  @Test("Connecting a deleted object changes nothing, and the next save reports the attempt")
  func connectingWhatIsGone() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let workers = ["W", "mentor", "gone"].map { context.worker($0) }
    let (worker, mentor, gone) = (workers[0], workers[1], workers[2])
    worker.mentor = mentor
    try context.save()
    let other = container.newContext()
    other.delete(try other.same(gone))
    try other.save()
    context.refreshAllObjects()
    worker.mentor = gone
    worker.friends.insert(gone)
    #expect(worker.mentor === mentor && worker.friends.isEmpty && !worker.hasChanges && gone.isDeleted)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.details.map(\.property) == ["mentor", "friends"])
    try context.save()
  }

  @Test("Dropping a one-to-one reference restores the earlier partner, unless that partner is taken")
  func partnerLeft() throws {
    for remarries in [false, true] {
      let container = try Staff.container()
      let context = container.newContext()
      let workers = ["kept", "gone", "left", "other"].map { context.worker($0) }
      let (kept, gone, left, another) = (workers[0], workers[1], workers[2], workers[3])
      kept.spouse = left
      try context.save()
      kept.spouse = gone
      if remarries { left.spouse = another }
      let other = container.newContext()
      other.delete(try other.same(gone))
      try other.save()
      context.refreshAllObjects()
      #expect(kept.spouse === (remarries ? nil : left))
      #expect(left.spouse === (remarries ? another : kept))
      #expect(context.hasChanges == remarries)
      try context.save()
      try expectWhole(container)
    }
  }

  @Test("A refresh drops a one-to-one reference whose column is in the deleted row")
  func columnInVanishedRow() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (worker, company) = (context.worker("W"), context.company("C"))
    try context.save()
    worker.leads = company
    let other = container.newContext()
    other.delete(try other.same(company))
    try other.save()
    #expect(throws: PerdureError.self) { try context.save() }
    context.refresh(company, mergeChanges: true)
    #expect(worker.leads == nil && !context.hasChanges)
    try context.save()
  }

  @Test("A refresh drops many-to-many links to a deleted object")
  func links() throws {
    let (context, kept, _) = try refused { $0.friends.insert($1) }
    context.refreshAllObjects()
    #expect(kept.friends.isEmpty)
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test("A refresh keeps a to-one reference to a deleted object, and the error names the remedy")
  func targetMissing() throws {
    let (context, kept, _) = try refused { $0.mentor = $1 }
    context.refreshAllObjects()
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.conflicts.first?.kind == .targetMissing)
    #expect(error?.description.contains("link to another object or to nil") == true)
    kept.mentor = nil
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test(
    "A deleted object that this context linked counts as deleted after the context has advanced",
    arguments: [false, true])
  func linkedTo(refreshesAll: Bool) throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (worker, company, project) = (context.worker("W"), context.company("C"), Project(context: context))
    try context.save()
    worker.company = company
    worker.bookmarks.insert(project)
    let other = container.newContext()
    other.delete(try other.same(company))
    other.delete(try other.same(project))
    try other.save()
    #expect(worker.company === company && !company.isDeleted, "the context has not advanced")
    if refreshesAll {
      context.refreshAllObjects()
    } else {
      context.refresh(Department(context: context), mergeChanges: true)
    }
    #expect(company.isDeleted && !company.isUpdated && !company.hasChanges)
    #expect(company.name == (refreshesAll ? "" : "C"), "refreshAllObjects discards loaded values")
    #expect(company.workers.isEmpty && company.workerCount == 0)
    #expect(worker.company == nil && worker.value(forKey: "company") == nil)
    #expect(worker.bookmarks.isEmpty && !worker.bookmarks.contains(project) && project.isDeleted)
    #expect(!context.updatedObjects.contains(company) && context.updatedObjects.contains(worker))
    func count<T: ManagedObject>(
      _ format: String, _ arguments: ManagedObject..., of type: T.Type
    ) throws -> Int {
      try context.count(
        for: FetchRequest<T>(predicate: try FetchPredicate(format: format, argumentArray: arguments)))
    }
    #expect(try count("SELF == %@", company, of: Company.self) == 0)
    #expect(try count("workers.@count == 1", of: Company.self) == 0)
    #expect(try context.fetch(FetchRequest<Company>()).isEmpty)
    #expect(try count("company != nil", of: Employee.self) == 0)
    #expect(try count("company == nil AND bookmarks.@count == 0", of: Employee.self) == 1)
    #expect(throws: PerdureError.self) { try context.existingObject(with: company.objectID) }
    // The context keeps the edit. Each save reports the edit until the program undoes it.
    let error = #expect(throws: PerdureError.self) { try context.save() }
    let conflict = error?.conflicts.first { $0.objectID == company.objectID }
    #expect(conflict?.kind == .targetMissing && conflict?.linkedFrom == [worker.objectID])
    #expect(error?.description.contains("is linked to by \(worker.objectID), and") == true)
    worker.company = nil
    worker.bookmarks.removeAll()
    try context.save()
    #expect(!context.hasChanges)
    try expectWhole(container)
  }

  @Test("A deleted object that this context changed counts as deleted, and no fetch returns it")
  func changed() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (worker, company, friend) = (context.worker("W"), context.company("C"), context.worker("F"))
    try context.save()
    worker.salary = 2000
    worker.company = company
    worker.friends.insert(friend)
    let other = container.newContext()
    other.delete(try other.same(worker))
    try other.save()
    context.refresh(company, mergeChanges: true)
    #expect(worker.isDeleted && worker.hasChanges && worker.salary == 2000 && worker.name == "W")
    #expect(worker.company == nil && company.workers.isEmpty && company.workerCount == 0)
    #expect(worker.friends.isEmpty && friend.friends.isEmpty)
    #expect(try context.fetch(FetchRequest<Employee>()) == [friend])
    #expect(try context.count(for: Employee.fetchRequest { $0.salary == 2000 }) == 0)
    #expect(try context.count(for: Company.fetchRequest { $0.workers.count > 0 }) == 0)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.conflicts.contains { $0.objectID == worker.objectID } == true)
    context.refresh(worker, mergeChanges: false)
    #expect(worker.isDeleted && !worker.hasChanges)
    context.refreshAllObjects()
    try context.save()
    #expect(!context.hasChanges)
    try expectWhole(container)
  }

  @Test("An unchanged object counts as deleted as soon as the context has advanced")
  func untouched() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = context.worker("W")
    try context.save()
    #expect(!worker.isDeleted && worker.name == "W")
    let other = container.newContext()
    other.delete(try other.same(worker))
    try other.save()
    #expect(!worker.isDeleted)
    context.refreshAllObjects()
    #expect(worker.isDeleted && worker.name == "")
  }

  @Test(
    "After a deletion is discarded, an object that another context deleted counts as deleted, without links")
  func deletionTakenBack() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (kept, gone) = (context.worker("kept"), context.worker("gone"))
    try context.save()
    kept.mentor = gone
    let other = container.newContext()
    other.delete(try other.same(gone))
    try other.save()
    context.delete(gone)
    context.refresh(gone, mergeChanges: false)
    #expect(gone.isDeleted && kept.mentor == nil)
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "mentor != nil"))
    #expect(try context.count(for: request) == 0)
  }

  @Test("Counting a relationship does not read it, even after another context has deleted an object")
  func counting() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (kept, gone, company) = (context.worker("kept"), context.worker("gone"), context.company("C"))
    kept.company = company
    try context.save()
    kept.mentor = gone
    kept.friends.insert(gone)
    let other = container.newContext()
    other.delete(try other.same(gone))
    try other.save()
    context.refresh(company, mergeChanges: true)
    #expect(gone.isDeleted && kept.friends.count == 0 && gone.friends.count == 0)
    let before = context.statistics.relationshipRequestCount
    #expect(company.workers.count == 1)
    #expect(context.statistics.relationshipRequestCount == before)
  }

  @Test("An object deleted in two contexts is not a conflict, even with links to the object")
  func deletedInBoth() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (kept, gone) = (context.worker("kept"), context.worker("gone"))
    try context.save()
    kept.mentor = gone
    kept.friends.insert(gone)
    context.delete(gone)
    let other = container.newContext()
    other.delete(try other.same(gone))
    try other.save()
    try context.save()
    #expect(!context.hasChanges && kept.mentor == nil && kept.friends.isEmpty)
    #expect(gone.managedObjectContext == nil)
    try expectWhole(container)
  }

  @Test(
    "Saves refuse changes of a deleted object until the changes are discarded or it is deleted here too"
  )
  func attributes() throws {
    for deletes in [false, true] {
      let (context, _, gone) = try refused { $1.name = "changed" }
      context.refreshAllObjects()
      #expect(throws: PerdureError.self) { try context.save() }
      if deletes { context.delete(gone) } else { context.refresh(gone, mergeChanges: false) }
      context.refreshAllObjects()
      try context.save()
      #expect(!context.hasChanges)
    }
  }
}
