import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Predicates evaluated for single objects")
struct ObjectPredicateTests {
  private func context() throws -> ManagedObjectContext {
    let context = try Staff.context()
    let companies = ["Acme", "Moon"].map { context.company($0) }
    for (number, name) in ["Ann", "Bob", "Cy", "Dee"].enumerated() {
      let worker = context.worker(name, email: number == 2 ? nil : "\(name)@x")
      worker.salary = Int64(number * 1000)
      worker.company = number == 3 ? nil : companies[number % 2]
      if number > 0 { worker.mentor = try context.fetch(FetchRequest<Employee>()).first { $0 !== worker } }
    }
    return context
  }

  private static let formats = [
    "TRUEPREDICATE", "salary > 1000", "company.name == 'Acme'", "company == nil", "email == nil",
    "company.workers.@count > 1", "ANY company.workers.name BEGINSWITH 'A'", "name MATCHES '[A-C].*'",
    "SUBQUERY(company.workers, $w, $w.salary < salary).@count > 0", "mentor.name != name", "mentor != nil",
    "company.workerCount == 1", "salary & 1000 != 0", "entity.name == 'Employee'", "NOT name LIKE '?o*'",
  ]

  @Test("A predicate is true for exactly the objects that a fetch returns, saved or not")
  func sameAsFetch() throws {
    let context = try context()
    func compare(_ comment: Comment) throws {
      let all = try context.fetch(FetchRequest<Employee>())
      for format in Self.formats {
        let predicate = try FetchPredicate(format: format)
        let fetched = try Set(context.fetch(FetchRequest<Employee>(predicate: predicate)))
        #expect(try Set(all.filtered(by: predicate)) == fetched, "\(comment): \(format)")
        for worker in all {
          #expect(
            try predicate.evaluate(with: worker) == fetched.contains(worker), "\(comment): \(format)")
        }
      }
    }
    try compare("unsaved")
    try context.save()
    try compare("saved")
    let all = try context.fetch(FetchRequest<Employee>(sortDescriptors: [FetchOrder("name")]))
    (all[0].name, all[1].salary, all[3].company) = ("Zed", 5, all[0].company)
    try compare("changed")
    context.delete(all[0])
    try compare("one deleted")
    context.reset()
    try compare("reset")
  }

  @Test("A predicate is false for an object with an unsaved deletion, and no fetch returns the object")
  func deleted() throws {
    let context = try context()
    try context.save()
    let all = try context.fetch(FetchRequest<Employee>(sortDescriptors: [FetchOrder("name")]))
    let new = context.worker("New")
    context.delete(all[1])
    context.delete(new)
    for format in Self.formats {
      let predicate = try FetchPredicate(format: format)
      let fetched = try Set(context.fetch(FetchRequest<Employee>(predicate: predicate)))
      #expect(try Set(all.filtered(by: predicate)) == fetched, "\(format)")
      #expect(try !predicate.evaluate(with: all[1]), "\(format)")
    }
    #expect(throws: FetchError.self) { try FetchPredicate(format: "nonsense == 1").evaluate(with: all[1]) }
    context.rollback()
    #expect(try FetchPredicate(format: "TRUEPREDICATE").evaluate(with: all[1]))
  }

  @Test("Filtering keeps the order of objects of several entities and contexts")
  func several() throws {
    let (first, second) = (try context(), try context())
    let parties: [Party] = try first.fetch(FetchRequest<Party>()) + second.fetch(FetchRequest<Party>())
    let named = try parties.filtered(by: FetchPredicate(format: "name IN {'Acme', 'Bob'}"))
    #expect(named == parties.filter { $0.name == "Acme" || $0.name == "Bob" })
    #expect(named.count == 4)
    #expect(try [Party]().filtered(by: FetchPredicate(format: "nonsense == 1")).isEmpty)
  }

  @Test("Evaluation throws the same errors as a fetch, and substitutes variables")
  func refused() throws {
    let context = try context()
    let worker = try context.fetch(FetchRequest<Employee>())[0]
    for format in [
      "salery > 1", "name == 3", "salary == $x", "friends[0] == nil", "name MATCHES '('", "abs(name) > 1",
    ] {
      let predicate = try FetchPredicate(format: format)
      let inHand = #expect(throws: FetchError.self) { try predicate.evaluate(with: worker) }
      let fetched = #expect(throws: FetchError.self) {
        try context.fetch(FetchRequest<Employee>(predicate: predicate))
      }
      #expect(inHand == fetched, "\(format)")
    }
    let predicate = try FetchPredicate(format: "salary >= $least")
    #expect(try predicate.evaluate(with: worker, variables: ["least": worker.salary]))
    #expect(try !predicate.evaluate(with: worker, variables: ["least": worker.salary + 1]))
  }
}
