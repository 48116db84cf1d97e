import Perdure
import PerdureModel
import Testing

@Suite("Unusual graphs")
struct HostileGraphTests {
  @Test("A ring of ten thousand cascades is deleted completely")
  func longCascade() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let departments = (0..<10_000).map { _ in Department(context: context) }
    for (parent, child) in zip(departments, departments.dropFirst()) { child.parent = parent }
    try context.save()
    departments[0].parent = departments[9_999]
    try context.save()
    context.delete(departments[5_000])
    #expect(try context.count(for: FetchRequest<Department>()) == 0)
    try context.save()
    #expect(try container.newContext().count(for: FetchRequest<Department>()) == 0)
  }

  @Test("A loop over members visits exactly the members at its start, even if it deletes and inserts members")
  func deleteWhileIterating() throws {
    let context = try Staff.context()
    let company = context.company("C")
    for number in 0..<50 { context.worker("w\(number)").company = company }
    for round in 0..<2 {
      var seen = 0
      for worker in company.workers {
        seen += 1
        if seen % 5 == 0 {
          context.delete(worker)
          context.processPendingChanges()
        }
        if round == 1, seen == 7 { try context.save() }
        if seen == 9 { company.workers.insert(context.worker("late \(round)")) }
      }
      #expect(seen == (round == 0 ? 50 : 41))
      try context.save()
    }
    for worker in try context.fetch(FetchRequest<Employee>()) {
      context.delete(worker)
      try context.save()
    }
    #expect(company.workers.isEmpty && company.workerCount == 0)
  }

  @Test("An object can be its own friend, spouse and mentor, and can be deleted")
  func selfLinks() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = context.worker("W")
    worker.friends.insert(worker)
    worker.spouse = worker
    worker.mentor = worker
    #expect(worker.friends.count == 1 && worker.friends.contains(worker) && worker.spouse === worker)
    try context.save()
    let copy = try container.newContext().same(worker)
    #expect(copy.friends.count == 1 && copy.spouse === copy && copy.mentor === copy)
    worker.friends.remove(worker)
    #expect(worker.friends.isEmpty)
    worker.friends.insert(worker)
    let other = context.worker("O")
    other.spouse = worker
    #expect(worker.spouse === other)
    worker.spouse = worker
    #expect(other.spouse == nil && worker.spouse === worker)
    try context.save()
    context.delete(worker)
    try context.save()
    #expect(other.spouse == nil)
    #expect(try container.newContext().count(for: FetchRequest<Employee>()) == 1)
  }

  @Test("After a failed save everything is unchanged, and a rollback removes all changes")
  func failedSave() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (one, two) = (context.worker("A", email: "a"), context.worker("B", email: "b"))
    let company = context.company("C")
    one.company = company
    try context.save()
    two.email = "a"
    two.friends.insert(one)
    company.chief = two
    let new = context.worker("N")
    new.company = company
    context.delete(one)
    one.setValue(nil, forKey: "name")
    let error = #expect(throws: PerdureError.self) {
      // The deletion frees "a" for `two`, but another worker also uses "a".
      context.worker("D", email: "a").company = company
      try context.save()
    }
    #expect(error?.code == .constraintConflict)
    #expect(context.insertedObjects.count == 2 && context.deletedObjects == [one])
    #expect(two.friends.isEmpty && company.chief === two && company.workerCount == 2)
    context.rollback()
    #expect(!context.hasChanges)
    #expect(two.email == "b" && two.friends.isEmpty && company.chief == nil && company.workerCount == 1)
    #expect(one.name == "A" && one.company === company && !one.isDeleted)
    #expect(new.managedObjectContext == nil)
    try context.save()
    #expect(try container.newContext().count(for: FetchRequest<Employee>()) == 2)
  }

  @Test(
    "After a reset, the next save refuses changes of old objects, and links to old objects have no effect")
  func afterReset() throws {
    let context = try Staff.context()
    let worker = context.worker("W")
    worker.company = context.company("C")
    try context.save()
    let (workers, company) = (try #require(worker.company).workers, try #require(worker.company))
    context.reset()
    worker.salary = 5
    worker.friends.insert(worker)
    workers.insert(worker)
    workers.removeAll()
    company.setValue(nil, forKey: "name")
    context.delete(worker)
    context.refresh(worker, mergeChanges: true)
    #expect(context.updatedObjects.isEmpty && worker.managedObjectContext == nil)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.details.map(\.property) == ["salary", "friends", "workers", "name"])
    #expect(Array(workers).isEmpty && workers.count == 0)
    let again = try context.same(worker)
    #expect(again !== worker && again.company?.name == "C" && again.salary == 1000)
    again.mentor = worker
    #expect(again.mentor == nil)
    #expect(!worker.isDeleted && !worker.isInserted && !worker.hasChanges)
    #expect("\(worker)".contains("gone"))
  }

  @Test("A hundred thousand insertions and links are rolled back completely")
  func largeRollback() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let company = context.company("C")
    try context.save()
    for number in 0..<100_000 {
      let worker = context.worker("w")
      worker.salary = Int64(number)
      worker.company = company
    }
    #expect(company.workerCount == 100_000)
    context.rollback()
    #expect(company.workerCount == 0 && !context.hasChanges)
    #expect(try context.count(for: FetchRequest<Employee>()) == 0)
    #expect(context.registeredObjects == [company])
    try context.save()
  }

  @Test("Predicates, sort descriptors and keys can have paths of ten steps")
  func longPaths() throws {
    let context = try Staff.context()
    let chain = (0...10).map { context.worker("w\($0)") }
    for (one, next) in zip(chain, chain.dropFirst()) { one.mentor = next }
    let path = Array(repeating: "mentor", count: 10).joined(separator: ".") + ".name"
    for _ in 0..<2 {
      let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "\(path) == 'w10'"))
      #expect(try context.fetch(request) == [chain[0]])
      let sorted = FetchRequest<Employee>(sortDescriptors: [FetchOrder(path, ascending: false)])
      #expect(try context.fetch(sorted).first === chain[0])
      let none = FetchRequest<Employee>(predicate: try FetchPredicate(format: "\(path) == nil"))
      #expect(try context.count(for: none) == 10)
      try context.save()
    }
    #expect(chain[0].value(forKeyPath: path) as? String == "w10")
    #expect(chain[1].value(forKeyPath: path) == nil)
    let wide = "company" + String(repeating: ".workers.company", count: 4) + ".workers.name"
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "ANY \(wide) == 'w1'"))
    #expect(try context.count(for: request) == 0)
    let company = context.company("C")
    chain[0].company = company
    chain[1].company = company
    #expect(try context.count(for: request) == 2)
    try context.save()
    #expect(try context.count(for: request) == 2)
  }

  @Test("Predicates of the greatest depth are evaluated on rows and on unsaved objects")
  func deepPredicates() throws {
    let context = try Staff.context()
    let worker = context.worker("W")
    // Predicates with an even and with an odd number of negations.
    let subquery = "SUBQUERY(friends, $x, $x.name == 'W').@count == 0 AND "
    let deep = [20, 21].map { depth in
      subquery + String(repeating: "(NOT (salary < 0 OR ", count: depth) + "TRUEPREDICATE"
        + String(repeating: "))", count: depth)
    }
    let negations = [40, 41].map { String(repeating: "NOT ", count: $0) + "name == 'W'" }
    for (text, isTrue) in zip(deep + negations, [true, false, true, false]) {
      let predicate = try FetchPredicate(format: text)
      for _ in 0..<2 {
        #expect(try context.fetch(FetchRequest<Employee>(predicate: predicate)) == (isTrue ? [worker] : []))
        worker.salary += 1
        #expect(try context.fetch(FetchRequest<Employee>(predicate: predicate)) == (isTrue ? [worker] : []))
        try context.save()
      }
    }
  }

  @Test("A predicate can have thousands of alternatives and list elements")
  func manyAlternatives() throws {
    let context = try Staff.context()
    context.worker("W").salary = 7_001
    let alternatives = (0..<10_000).map { "salary == \($0)" }.joined(separator: " OR ")
    let list = (0..<10_000).map { "\($0 * 7_001)" }.joined(separator: ", ")
    let predicate = try FetchPredicate(format: "(\(alternatives)) AND salary IN {\(list)}")
    for _ in 0..<2 {
      #expect(try context.count(for: FetchRequest<Employee>(predicate: predicate)) == 1)
      try context.save()
    }
  }
}
