import Perdure
import PerdureModel
import Testing

// Changed, committed and primitive values.

@Suite("Changed and committed values")
struct ChangesTests {
  private func names(_ values: [String: Any?]) -> [String] { values.keys.sorted() }

  /// Whether the dictionary contains a key with the value nil.
  private func isNil(_ values: [String: Any?], _ key: String) -> Bool {
    if case .some(.none) = values[key] { true } else { false }
  }

  @Test("Changed values differ from the stored values, and setting a stored value again is not a change")
  func changed() throws {
    let context = try Staff.context()
    let (worker, company) = (context.worker("W"), context.company("C"))
    try context.save()
    #expect(worker.changedValues().isEmpty && !worker.hasPersistentChangedValues)
    worker.salary = 1000
    #expect(worker.isUpdated && worker.changedValues().isEmpty && !worker.hasPersistentChangedValues)
    worker.salary = 4
    worker.company = company
    #expect(names(worker.changedValues()) == ["company", "salary"] && worker.hasPersistentChangedValues)
    #expect(worker.changedValues()["salary"] as? Int == 4)
    #expect(worker.changedValues()["company"] as? Company === company)
    #expect(names(company.changedValues()) == ["workers"])
    #expect(company.changedValues()["workers"] as? Set<ManagedObject> == [worker])
    worker.company = nil
    #expect(names(worker.changedValues()) == ["salary"] && company.changedValues().isEmpty)
    try context.save()
    #expect(worker.changedValues().isEmpty)
  }

  @Test("A new object has changed values for non-default properties, and no committed values")
  func inserted() throws {
    let context = try Staff.context()
    let worker = context.worker("W")
    let project = Project(context: context)
    project.members.insert(worker)
    #expect(names(worker.changedValues()) == ["name", "projects"])
    #expect(names(project.changedValues()) == ["members"] && project.hasPersistentChangedValues)
    let committed = worker.committedValues(forKeys: ["name", "salary", "company", "projects"])
    #expect(committed.count == 4 && isNil(committed, "name") && isNil(committed, "company"))
    #expect(committed["projects"] as? Set<ManagedObject> == [])
  }

  @Test("Committed values equal the stored values of attributes and of every kind of relationship")
  func committed() throws {
    let context = try Staff.context()
    let (worker, other, company) = (context.worker("W"), context.worker("O"), context.company("C"))
    let project = Project(context: context)
    (worker.company, company.chief, worker.mentor) = (company, worker, other)
    project.members.insert(worker)
    try context.save()
    worker.name = "changed"
    worker.setPrimitiveValue("primitive", forKey: "email")
    (worker.company, company.chief, worker.mentor) = (nil, other, nil)
    project.members.replace(with: [other])
    let values = worker.committedValues(forKeys: nil)
    #expect(values["name"] as? String == "W" && values["salary"] as? Int == 1000)
    #expect(isNil(values, "email"))
    #expect(values["company"] as? Company === company && values["leads"] as? Company === company)
    #expect(values["mentor"] as? Employee === other)
    #expect(values["projects"] as? Set<ManagedObject> == [project])
    #expect(values["friends"] as? Set<ManagedObject> == [])
    let ofCompany = company.committedValues(forKeys: ["workers", "workerCount", "chief"])
    #expect(ofCompany["workers"] as? Set<ManagedObject> == [worker])
    #expect(ofCompany["workerCount"] as? Int == 1)
    #expect(company.workerCount == 0 && ofCompany["chief"] as? Employee === worker)
  }

  @Test("A primitive value is saved only together with another change of the object")
  func primitives() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = context.worker("W")
    worker.setPrimitiveValue(Int64(7), forKey: "salary")
    #expect(worker.salary == 7 && worker.primitiveValue(forKey: "salary") as? Int == 7)
    try context.save()
    worker.setPrimitiveValue(Int64(8), forKey: "salary")
    worker.setPrimitiveValue("p@example.org", forKey: "email")
    #expect(worker.salary == 8 && worker.email == "p@example.org" && worker.name == "W")
    #expect(!worker.hasChanges && !context.hasChanges && worker.changedValues().isEmpty)
    try context.save()
    #expect(try container.newContext().same(worker).salary == 7)
    worker.name = "V"
    try context.save()
    let copy = try container.newContext().same(worker)
    #expect(copy.salary == 8 && copy.email == "p@example.org" && copy.name == "V")
    worker.setPrimitiveValue(nil, forKey: "email")
    context.refresh(worker, mergeChanges: false)
    #expect(worker.email == "p@example.org")
  }

  @Test("A custom accessor that calls will, primitive and did methods behaves like a generated accessor")
  func accessors() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let worker = setup.worker("W")
    try setup.save()
    let context = container.newContext()
    let copy = context.object(with: worker.objectID)
    #expect(copy.isFault)
    copy.willAccessValue(forKey: "salary")
    #expect(!copy.isFault && copy.primitiveValue(forKey: "salary") as? Int == 1000)
    copy.didAccessValue(forKey: "salary")
    copy.willChangeValue(forKey: "salary")
    copy.setPrimitiveValue(11, forKey: "salary")
    #expect(!copy.hasChanges)
    copy.didChangeValue(forKey: "salary")
    #expect(copy.isUpdated && copy.changedValues()["salary"] as? Int == 11)
    try context.save()
    #expect(try container.newContext().same(worker).salary == 11)
  }

  @Test("By name, a relationship has a mutable set, ids without instances, and a fault state")
  func relationships() throws {
    let container = try Staff.container()
    let setup = container.newContext()
    let (company, worker) = (setup.company("C"), setup.worker("W"))
    setup.worker("V").company = company
    worker.company = company
    #expect(!worker.hasFault(forRelationshipNamed: "company"))
    try setup.save()
    let context = container.newContext()
    let copy = context.object(with: company.objectID)
    #expect(Set(copy.objectIDs(forRelationshipNamed: "workers")) == Set(company.workers.objectIDs))
    #expect(context.registeredObjects == [copy] && copy.hasFault(forRelationshipNamed: "workers"))
    let same = context.object(with: worker.objectID)
    #expect(same.hasFault(forRelationshipNamed: "company"))
    #expect(same.objectIDs(forRelationshipNamed: "company") == [company.objectID])
    #expect(!same.hasFault(forRelationshipNamed: "company"))
    let workers = copy.mutableSetValue(forKey: "workers")
    workers.remove(same)
    #expect(workers.count == 1 && same.value(forKey: "company") == nil && context.hasChanges)
    workers.insert(same)
    #expect(copy.objectIDs(forRelationshipNamed: "workers").count == 2)
  }
}
