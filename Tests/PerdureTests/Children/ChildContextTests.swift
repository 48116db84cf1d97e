import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Suite("Child contexts")
struct ChildContextTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try Staff.container(.engine)
    context = container.newContext()
  }

  private func draft() throws -> ManagedObjectContext { context.newChildContext() }

  @Test("A child's save changes its parent, and is written to the store by the parent's save")
  func saves() throws {
    let child = try draft()
    let ada = child.worker("Ada")
    ada.salary = 7
    try child.save()
    #expect(!child.hasChanges && context.hasChanges && context.insertedObjects.count == 1)
    let above = try context.same(ada)
    #expect(above !== ada && above.name == "Ada" && above.salary == 7 && above.isInserted)
    #expect(try container.newContext().count(for: Employee.fetchRequest()) == 0)
    try context.save()
    #expect(try container.newContext().fetch(Employee.fetchRequest()).map(\.name) == ["Ada"])
    #expect(try container.newContext().existingObject(with: ada.objectID).objectID == ada.objectID)
  }

  @Test(
    "A child can delete an object that its parent has meanwhile saved without changes")
  func deletesWhatWasSaved() throws {
    let (ada, eve) = (context.worker("Ada"), context.worker("Eve"))
    let child = try draft()
    child.delete(try child.same(ada))
    try context.save()
    child.refresh(try child.same(eve), mergeChanges: true)
    try child.save()
    #expect(ada.isDeleted && context.deletedObjects == [ada])
    try context.save()
    #expect(try container.newContext().fetch(Employee.fetchRequest()).map(\.name) == ["Eve"])
  }

  @Test("If a child has advanced, its deletion of an object that the parent has changed is a conflict")
  func deletesNothingThatChanged() throws {
    let (ada, eve) = (context.worker("Ada"), context.worker("Eve"))
    let child = try draft()
    child.delete(try child.same(ada))
    ada.salary = 9
    try context.save()
    child.refresh(try child.same(eve), mergeChanges: true)
    let error = #expect(throws: PerdureError.self) { try child.save() }
    #expect(error?.code == .mergeConflict && !ada.isDeleted)
  }

  @Test(
    "A child sees its parent's unsaved changes in objects, relationships and fetches")
  func seesUnsaved() throws {
    let company = context.company("C")
    let (kept, gone) = (context.worker("kept", email: "k"), context.worker("gone"))
    for worker in [kept, gone] { company.workers.insert(worker) }
    company.chief = gone
    kept.friends.insert(gone)
    try context.save()
    context.delete(gone)
    kept.salary = 5
    let new = context.worker("new")
    new.company = company
    kept.friends.insert(new)

    let child = try draft()
    #expect(try child.fetch(FetchRequest<Employee> { $0.salary < 10 }).map(\.name) == ["kept"])
    let all = try child.fetch(Employee.fetchRequest()).sorted { $0.name < $1.name }
    #expect(all.map(\.name) == ["kept", "new"])
    #expect(all.map(\.hasChanges) == [false, false])
    let same = try child.same(company)
    #expect(same.workerCount == 2 && same.chief == nil && Set(same.workers.map(\.name)) == ["kept", "new"])
    #expect(try Set(child.same(kept).friends.map(\.name)) == ["new"])
    #expect(try child.count(for: FetchRequest<Employee> { $0.company != nil }) == 2)
    #expect(throws: PerdureError.self) { try child.existingObject(with: gone.objectID) }
  }

  @Test("A child does not show later changes of its parent until it refreshes")
  func staysAtItsState() throws {
    let child = try draft()
    context.worker("late")
    #expect(try child.count(for: Employee.fetchRequest()) == 0)
    child.refreshAllObjects()
    #expect(try child.count(for: Employee.fetchRequest()) == 1)
  }

  @Test("A child that merges automatically sees its parent's changes at the next fetch")
  func mergesByItself() throws {
    let child = try draft()
    child.automaticallyMergesChangesFromParent = true
    let late = context.worker("late")
    let same = try #require(try child.fetch(Employee.fetchRequest()).first)
    #expect(same.name == "late")
    late.name = "later"
    try context.save()
    #expect(try child.fetch(Employee.fetchRequest()).map(\.name) == ["later"] && same.name == "later")
  }

  @Test("Changes that a child discards have no effect")
  func rollback() throws {
    let ada = context.worker("Ada")
    try context.save()
    let child = try draft()
    try child.same(ada).name = "Eve"
    child.worker("new")
    child.rollback()
    #expect(try child.fetch(Employee.fetchRequest()).map(\.name) == ["Ada"])
    #expect(!context.hasChanges && ada.name == "Ada")
  }

  @Test("A child's changes of relationships appear at both ends in the parent")
  func relationships() throws {
    let (first, second) = (context.company("1"), context.company("2"))
    let ada = context.worker("Ada")
    ada.company = first
    first.chief = ada
    let project = Project(context: context)
    try context.save()
    let child = try draft()
    let draftAda = try child.same(ada)
    draftAda.company = try child.same(second)
    draftAda.leads = try child.same(second)
    draftAda.spouse = child.worker("Bob")
    draftAda.projects.insert(try child.same(project))
    try child.save()
    #expect(ada.company === second && first.workers.isEmpty && second.workerCount == 1)
    #expect(first.chief == nil && second.chief === ada && ada.leads === second)
    #expect(ada.spouse?.name == "Bob" && ada.spouse?.spouse === ada)
    #expect(project.members.contains(ada) && project.memberCount == 1)
    try context.save()
    let fresh = try container.newContext().same(ada)
    #expect(fresh.company?.name == "2" && fresh.leads?.name == "2" && fresh.spouse?.name == "Bob")
    #expect(fresh.projects.count == 1)
  }

  @Test("A child applies delete rules to stored objects and to its parent's unsaved objects")
  func deletes() throws {
    let company = context.company("C")
    let department = Department(context: context)
    department.company = company
    let ada = context.worker("Ada")
    ada.company = company
    try context.save()
    let new = context.worker("new")
    new.company = company
    let child = try draft()
    child.delete(try child.same(company))
    child.delete(try child.same(new))
    try child.save()
    #expect(Set(context.deletedObjects.map(\.objectID)) == [company.objectID, department.objectID])
    #expect(context.insertedObjects.isEmpty && ada.company == nil && new.managedObjectContext == nil)
    try context.save()
    let other = container.newContext()
    #expect(try other.count(for: Company.fetchRequest()) == 0)
    #expect(try other.count(for: Department.fetchRequest()) == 0)
    #expect(try other.fetch(Employee.fetchRequest()).map(\.name) == ["Ada"])
  }

  @Test("References that a child removes before a deletion do not deny the deletion, and do not cascade")
  func deletesAfterLettingGo() throws {
    for rule in [DeleteRule.deny, .cascade] {
      let scene = try ModelScene(
        EntityDescription("Owner", properties: [.toMany("parts", "Part", inverse: "owner")]),
        EntityDescription(
          "Part", properties: [.toOne("owner", "Owner", inverse: "parts", deleteRule: rule)]))
      for isStored in [true, false] {
        let (owner, part) = (scene.new("Owner"), scene.new("Part"))
        part.setValue(owner, forKey: "owner")
        if isStored { try scene.saveWhole() }
        let child = scene.context.newChildContext()
        let copy = try child.existingObject(with: part.objectID)
        copy.setValue(nil, forKey: "owner")
        child.delete(copy)
        try child.save()
        #expect(owner.mutableSetValue(forKey: "parts").isEmpty && !owner.isDeleted, "\(rule)")
        try scene.saveWhole()
      }
      #expect(try scene.count("Owner") == 2 && scene.count("Part") == 0, "\(rule)")
    }
  }

  @Test("A child's save is validated, and a refused save does not change the parent")
  func validation() throws {
    let company = context.company("C")
    let contract = Contract(context: context)
    contract.company = company
    let child = try draft()
    try child.same(contract).company = nil
    child.worker("new")
    let error = #expect(throws: PerdureError.self) { try child.save() }
    #expect(error?.code == .missingMandatoryProperty)
    #expect(child.hasChanges && contract.company === company && context.insertedObjects.count == 2)
  }

  @Test(
    "Parent and child may change different properties of an object; the same property is a conflict"
  )
  func conflicts() throws {
    let ada = context.worker("Ada")
    try context.save()
    let child = try draft()
    let draftAda = try child.same(ada)
    draftAda.salary = 1
    ada.name = "Eve"
    try child.save()
    #expect(ada.name == "Eve" && ada.salary == 1 && draftAda.name == "Eve")

    draftAda.name = "here"
    ada.name = "there"
    let error = #expect(throws: PerdureError.self) { try child.save() }
    #expect(error?.code == .mergeConflict)
    let versions = try #require(error?.conflicts.first?.properties.first)
    #expect(versions.base == .string("Eve") && versions.local == .string("here"))
    #expect(versions.store == .string("there") && draftAda.name == "here" && ada.name == "there")
    child.mergePolicy = .mergeByPropertyObjectTrump
    try child.save()
    #expect(ada.name == "here")
  }

  @Test(
    "A child's save does not conflict with its parent's earlier save",
    arguments: [
      MergePolicy.error, .rollback, .overwrite, .mergeByPropertyStoreTrump,
    ])
  func parentSavedMeanwhile(_ policy: MergePolicy) throws {
    let ada = context.worker("Ada")
    let child = try draft()
    child.mergePolicy = policy
    try child.same(ada).name = "Eve"
    try context.save()
    try child.save()
    #expect(ada.name == "Eve" && ada.isUpdated)
    try context.save()
    #expect(try container.newContext().same(ada).name == "Eve")
  }

  @Test("A child's change of an object that its parent has reset or deleted is a conflict")
  func parentReset() throws {
    let ada = context.worker("Ada")
    let child = try draft()
    try child.same(ada).name = "Eve"
    context.reset()
    #expect(try child.fetch(Employee.fetchRequest()).map(\.name) == ["Eve"])
    let error = #expect(throws: PerdureError.self) { try child.save() }
    #expect(error?.code == .mergeConflict && child.hasChanges && !context.hasChanges)
    child.rollback()
    #expect(try child.count(for: Employee.fetchRequest()) == 0)
  }

  @Test("Siblings see each other's saves when they advance")
  func siblings() throws {
    let (first, second) = (try draft(), try draft())
    let ada = first.worker("Ada")
    try first.save()
    #expect(try second.count(for: Employee.fetchRequest()) == 0)
    second.refreshAllObjects()
    try second.same(ada).salary = 2
    ada.email = "a"
    try second.save()
    try first.save()
    let above = try context.same(ada)
    #expect(above.salary == 2 && above.email == "a" && ada.salary == 2)
  }

  @Test("A grandchild's save changes only its parent")
  func grandchildren() throws {
    let child = try draft()
    let ada = child.worker("Ada")
    let grandchild = child.newChildContext()
    #expect(grandchild.parent === child && child.parent === context && context.parent == nil)
    let draft = try grandchild.same(ada)
    draft.name = "Eve"
    let bob = grandchild.worker("Bob")
    bob.spouse = draft
    try grandchild.save()
    #expect(ada.name == "Eve" && ada.spouse?.name == "Bob" && !context.hasChanges)
    try child.save()
    #expect(try context.same(bob).spouse?.name == "Eve")
    try context.save()
    #expect(try container.newContext().count(for: Employee.fetchRequest()) == 2)
  }

  @Test("A child's save checks uniqueness in the store and in the parent's unsaved changes")
  func uniqueness() throws {
    context.worker("stored", email: "s")
    try context.save()
    context.worker("pending", email: "p")
    let child = try draft()
    for email in ["s", "p"] {
      let twin = child.worker("twin", email: email)
      let error = #expect(throws: PerdureError.self) { try child.save() }
      #expect(error?.code == .constraintConflict)
      child.delete(twin)
    }
    try child.save()
  }

  @Test("A child's save causes one change event of its parent, and save events of the child")
  func events() throws {
    let ada = context.worker("Ada")
    let gone = context.worker("gone")
    try context.save()
    let child = try draft()
    try child.same(ada).name = "Eve"
    child.delete(try child.same(gone))
    let bob = child.worker("Bob")
    var (above, below): ([String], [ContextEventKind]) = ([], [])
    let observation = context.observe { told in
      let names = (told.insertedObjects.count, told.updatedObjects.count, told.deletedObjects.count)
      above.append("\(told.kind) \(names)")
    }
    let own = child.observe { below.append($0.kind) }
    try child.save()
    #expect(above == ["objectsDidChange (1, 1, 1)"])
    #expect(below == [.objectsDidChange, .willSave, .didSave])
    #expect(try context.same(bob).isInserted && ada.name == "Eve")
    withExtendedLifetime((observation, own)) {}
  }

  @Test("A child retains its parent")
  func lifetime() throws {
    func made() throws -> ManagedObjectContext {
      let parent = container.newContext()
      parent.worker("Ada")
      return parent.newChildContext()
    }
    let child = try made()
    try #require(try child.fetch(Employee.fetchRequest()).first).name = "Eve"
    try child.save()
    try child.parent?.save()
    #expect(try container.newContext().fetch(Employee.fetchRequest()).map(\.name) == ["Eve"])
  }

  @Test("If the parent cannot be read, a child's save throws and does not change the parent")
  func unreadable() throws {
    let (container, failing) = try UnreadableStore.container()
    let parent = container.newContext()
    let ada = parent.worker("Ada")
    try parent.save()
    let child = parent.newChildContext()
    let draft = try child.same(ada)
    draft.name = "Eve"
    ada.salary = 3
    failing.set([.rows])
    #expect(throws: PerdureError.self) { try child.save() }
    failing.set([])
    parent.rollback()
    try child.save()
    #expect(ada.name == "Eve")
  }

  @Test("A child of a context with several stores sees and saves the objects of all of them")
  func severalStores() throws {
    let joined = try Staff.context(.joined)
    let ada = joined.worker("Ada", email: "ada@acme.com")
    try joined.save()
    let child = joined.newChildContext()
    let draft = try #require(try child.existingObject(with: ada.objectID) as? Employee)
    draft.name = "Eve"
    draft.company = child.company("Acme")
    try child.save()
    #expect(ada.name == "Eve")
    try joined.save()
    let saved = try joined.fetch(Employee.self) { $0.company.name == "Acme" }
    #expect(saved == [ada])
  }
}
