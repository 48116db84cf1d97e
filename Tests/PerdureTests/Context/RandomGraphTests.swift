// Compares a context with plain values. After random changes, saves, rollbacks and refreshes, both
// must show the same graph.

import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Random graphs")
struct RandomGraphTests {
  @Test("A context equals a model of plain values, before and after saving", arguments: StoreKind.allCases)
  func random(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("random graphs")
    for _ in 0..<(kind == .naive ? 12 : kind == .engine ? 6 : 4) {
      var world = try World(kind, SeededGenerator(seed: random.next()))
      for step in 0..<150 {
        try world.step()
        if step % 5 == 4 { try world.check() }
        try world.checkKept()
      }
      #expect(world.watch.count > 0)
    }
  }
}

private struct World {
  typealias Kind = TwinObject.Kind

  let container: PersistentContainer
  let context: ManagedObjectContext
  var random: SeededGenerator
  /// The content of the context, and of the store.
  var current = StaffTwin()
  var saved = StaffTwin()
  var ids: [Int: ManagedObjectID] = [:]
  /// The retained objects. Other objects are freed and loaded again.
  var held: [ManagedObject] = []
  var watch = KeptWatch()
  var trace: [String] = []

  init(_ store: StoreKind, _ random: SeededGenerator) throws {
    container = try Staff.container(store)
    context = container.newContext()
    self.random = random
  }

  // MARK: Steps

  mutating func step() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<20: insert()
    case 20..<45: setToOne()
    case 45..<60: toggleLink()
    case 60..<66: rename()
    case 66..<74: delete()
    case 74..<78: process()
    case 78..<86: try save()
    case 86..<88: rollback()
    case 88..<92: context.refreshAllObjects()
    case 92..<97: try changeElsewhere()
    default: held.removeAll { _ in Bool.random(using: &random) }
    }
  }

  private func object<T: ManagedObject>(_ number: Int, in context: ManagedObjectContext) -> T {
    context.object(with: ids[number]!) as! T
  }

  private func worker(_ number: Int) -> Employee { object(number, in: context) }

  private mutating func pick(_ kind: Kind) -> Int? {
    let living = current.living(kind)
    return living.isEmpty ? nil : random.pick(living)
  }

  private mutating func insert() {
    let kind = random.pick(Kind.allCases)
    var twin = TwinObject(kind: kind)
    let number = ids.count
    let made: ManagedObject
    switch kind {
    case .company: made = context.company("")
    case .worker: made = context.worker("")
    case .project: made = Project(context: context)
    case .department: made = Department(context: context)
    case .contract:
      guard let company = pick(.company) else { return }
      let contract = Contract(context: context)
      contract.company = object(company, in: context) as Company
      twin.toOne["company"] = company
      made = contract
    }
    if kind == .project || kind == .department { twin.name = kind == .project ? "untitled" : "department" }
    ids[number] = made.objectID
    current.objects[number] = twin
    if random.chance(50) { held.append(made) }
    trace.append("insert \(kind) \(number)")
  }

  private mutating func setToOne() {
    let choices: [(property: String, from: Kind, to: Kind)] = [
      ("company", .worker, .company), ("leads", .worker, .company), ("spouse", .worker, .worker),
      ("mentor", .worker, .worker), ("parent", .department, .department),
      ("company", .department, .company),
    ]
    let choice = random.pick(choices)
    guard let source = pick(choice.from) else { return }
    let target = random.chance(80) ? pick(choice.to) : nil
    let value: ManagedObject? = target.map { object($0, in: context) }
    current.set(choice.property, of: source, to: target)
    trace.append("set \(choice.property) of \(source) to \(target.map(String.init) ?? "nil")")
    setFromOneSide(choice.property, source, target, value)
  }

  /// Links two objects. The change is made at either end.
  private mutating func setFromOneSide(
    _ property: String, _ source: Int, _ target: Int?, _ value: ManagedObject?
  ) {
    guard let target, random.chance(50) else {
      context.object(with: ids[source]!).setValue(value, forKey: property)
      return
    }
    let company: Company? = value as? Company
    switch property {
    case "company" where current.objects[source]?.kind == .worker: company?.workers.insert(worker(source))
    case "company": company?.departments.insert(object(source, in: context))
    case "leads": company?.chief = worker(source)
    case "spouse": worker(target).spouse = worker(source)
    case "parent": (value as? Department)?.children.insert(object(source, in: context))
    default: context.object(with: ids[source]!).setValue(value, forKey: property)
    }
  }

  private mutating func toggleLink() {
    guard let source = pick(.worker) else { return }
    if random.chance(35) {
      guard let other = pick(.worker) else { return }
      trace.append("friends \(source) \(other)")
      toggle(worker(source).friends, worker(other))
      current.toggleFriends(source, other)
      return
    }
    guard let project = pick(.project) else { return }
    let target: Project = object(project, in: context)
    if random.chance(40) {
      trace.append("bookmark \(source) \(project)")
      toggle(worker(source).bookmarks, target)
      current.objects[source]?.bookmarks.formSymmetricDifference([project])
    } else {
      let isFull = current.membership.count { $0.to == project } >= 3
      if isFull, !current.membership.contains(TwinLink(from: source, to: project)) { return }
      trace.append("member \(source) \(project)")
      if random.chance(50) {
        toggle(worker(source).projects, target)
      } else {
        toggle(target.members, worker(source))
      }
      current.toggleMember(source, project)
    }
  }

  private func toggle<T: ManagedObject>(_ relationship: ToMany<T>, _ object: T) {
    if relationship.contains(object) { relationship.remove(object) } else { relationship.insert(object) }
  }

  private mutating func rename() {
    guard let number = pick(random.chance(50) ? .worker : .company) else { return }
    let name = "name \(trace.count)"
    context.object(with: ids[number]!).setValue(name, forKey: "name")
    current.objects[number]?.name = name
    trace.append("rename \(number)")
  }

  private mutating func delete() {
    guard let number = pick(random.pick(Kind.allCases)) else { return }
    trace.append("delete \(number)")
    context.delete(context.object(with: ids[number]!))
    current.objects[number]?.isDeleted = true
    // Applies the delete rules at once, so that no object stays linked to a deleted object.
    process()
  }

  private mutating func process() {
    context.processPendingChanges()
    current.propagateDeletes()
  }

  private mutating func save() throws {
    trace.append("save")
    do {
      try context.save()
    } catch {
      #expect(current.isDenied, "\(error) after \(trace)")
      #expect(error.code == .relationshipDeniedDelete || error.code == .multipleValidationErrors)
      rollback()
      return
    }
    #expect(!current.isDenied, "saved in spite of deny after \(trace)")
    current.save()
    saved = current
    #expect(!context.hasChanges)
    try check(current, in: container.newContext())
  }

  private mutating func rollback() {
    trace.append("rollback")
    context.rollback()
    current = saved
  }

  /// Another context changes and saves links of an object. In this context, the object has no
  /// unsaved changes. Then this context refreshes all objects.
  private mutating func changeElsewhere() throws {
    let other = container.newContext()
    let workers = saved.living(.worker).filter { current.objects[$0] == saved.objects[$0] }
    guard let source = workers.randomElement(using: &random) else { return }
    let worker: Employee = object(source, in: other)
    if random.chance(50), let company = saved.living(.company).randomElement(using: &random) {
      guard !current.isDeleted(company) else { return }
      trace.append("elsewhere: company of \(source) is \(company)")
      worker.company = object(company, in: other) as Company
      saved.set("company", of: source, to: company)
      current.set("company", of: source, to: company)
    } else if let friend = saved.living(.worker).randomElement(using: &random), !current.isDeleted(friend) {
      let link = TwinLink(from: min(source, friend), to: max(source, friend))
      let isAdded = !saved.friendship.contains(link)
      trace.append("elsewhere: friends \(source) \(friend) \(isAdded)")
      toggle(worker.friends, object(friend, in: other) as Employee)
      let isChangedHere = saved.friendship.contains(link) != current.friendship.contains(link)
      saved.friendship.formSymmetricDifference([link])
      // If both contexts added the link, or both removed it, its state in this context stays the
      // same.
      if !isChangedHere { current.friendship.formSymmetricDifference([link]) }
    }
    try other.save()
    context.refreshAllObjects()
  }

  // MARK: Checks

  func check() throws {
    try check(current, in: context)
  }

  mutating func checkKept() throws {
    let trace = trace
    try watch.check(context, ids.values, &random, "after \(trace)")
  }

  private func check(_ twin: StaffTwin, in context: ManagedObjectContext) throws {
    for (number, expected) in twin.objects where !expected.isDeleted {
      switch expected.kind {
      case .worker: checkWorker(number, expected, twin, context)
      case .company: checkCompany(number, expected, twin, context)
      case .project:
        let project: Project = object(number, in: context)
        let members = Set(twin.membership.filter { $0.to == number }.map(\.from))
        compare(project.members.objectIDs, members, "members of \(number)")
        #expect(project.memberCount == members.count)
      case .department:
        let department: Department = object(number, in: context)
        compare(department.company, expected.toOne["company"], "company of \(number)")
        compare(department.parent, expected.toOne["parent"], "parent of \(number)")
        compare(
          department.children.objectIDs, twin.sources("parent", of: number, .department),
          "children of \(number)")
      case .contract:
        compare(
          (object(number, in: context) as Contract).company, expected.toOne["company"], "company of \(number)"
        )
      }
    }
    #expect(try context.count(for: Employee.fetchRequest()) == twin.living(.worker).count, "\(trace)")
    let employed = FetchRequest<Employee> { $0.company != nil }
    let count = twin.living(.worker).count { twin.objects[$0]?.toOne["company"] != nil }
    #expect(try context.count(for: employed) == count, "\(trace)")
  }

  private func checkWorker(
    _ number: Int, _ expected: TwinObject, _ twin: StaffTwin, _ context: ManagedObjectContext
  ) {
    let worker: Employee = object(number, in: context)
    #expect(worker.name == expected.name, "\(trace)")
    compare(worker.company, expected.toOne["company"], "company of \(number)")
    compare(worker.leads, expected.toOne["leads"], "leads of \(number)")
    compare(worker.spouse, expected.toOne["spouse"], "spouse of \(number)")
    compare(worker.mentor, expected.toOne["mentor"], "mentor of \(number)")
    compare(worker.friends.objectIDs, twin.friends(of: number), "friends of \(number)")
    compare(worker.bookmarks.objectIDs, expected.bookmarks, "bookmarks of \(number)")
    let projects = Set(twin.membership.filter { $0.from == number }.map(\.to))
    compare(worker.projects.objectIDs, projects, "projects of \(number)")
    #expect(worker.projects.count == projects.count)
  }

  private func checkCompany(
    _ number: Int, _ expected: TwinObject, _ twin: StaffTwin, _ context: ManagedObjectContext
  ) {
    let company: Company = object(number, in: context)
    #expect(company.name == expected.name, "\(trace)")
    let workers = twin.sources("company", of: number, .worker)
    compare(company.workers.objectIDs, workers, "workers of \(number)")
    #expect(company.workerCount == workers.count, "count of \(number) after \(trace)")
    compare(company.chief, twin.sources("leads", of: number, .worker).first, "chief of \(number)")
    compare(
      company.departments.objectIDs, twin.sources("company", of: number, .department),
      "departments of \(number)")
    compare(
      company.contracts.objectIDs, twin.sources("company", of: number, .contract), "contracts of \(number)")
  }

  private func compare(_ object: ManagedObject?, _ expected: Int?, _ what: String) {
    #expect(object?.objectID == expected.flatMap { ids[$0] }, "\(what) after \(trace)")
  }

  private func compare(_ found: [ManagedObjectID], _ expected: Set<Int>, _ what: String) {
    #expect(found.count == expected.count, "\(what) after \(trace)")
    #expect(Set(found) == Set(expected.compactMap { ids[$0] }), "\(what) after \(trace)")
  }
}
