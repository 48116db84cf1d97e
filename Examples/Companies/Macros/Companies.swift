// Companies with workers: a complete program whose classes become entities by macros.
//
//     swift run CompaniesWithMacros
//
// Examples/Companies/InCode does the same with a model that is made in code.

import Perdure

@Entity
class Party: ManagedObject {
  @Attribute(.indexed) var name: String
}

@Entity
final class Company: Party {
  @Relationship(inverse: "company", deleteRule: .cascade) var workers: ToMany<Worker>
  @Attribute(.indexed, derived: "workers.@count") private(set) var workerCount: Int
}

@Entity
final class Worker: Party {
  @Attribute(.unique) var email: String?
  var salary: Int64 = 1000
  @Relationship(inverse: "workers") var company: Company?

  override func willSave() {
    // Set the email only if it differs, because a change calls willSave again.
    if let lower = email?.lowercased(), lower != email { email = lower }
  }

  override func validateForInsert() throws { try checkSalary() }
  override func validateForUpdate() throws { try checkSalary() }

  private func checkSalary() throws {
    if salary < 0 { throw PerdureError.invalid(self, "salary", "must not be negative") }
  }
}

@main
enum Program {
  static func main() throws {
    let container = try PersistentContainer(
      name: "Companies", classes: [Party.self, Company.self, Worker.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let company = try found(context)
    print("\(company.name) has \(company.workerCount) workers")
    try ask(context)
    try refuse(context, company)
    try dissolve(container, context, company)
  }

  /// Setting either end of a relationship changes both ends immediately.
  private static func found(_ context: ManagedObjectContext) throws -> Company {
    let company = Company(context: context)
    company.name = "Acme"
    for (name, salary) in [("Ada", 3000), ("Grace", 2000), ("Li", 1500)] as [(String, Int64)] {
      let worker = Worker(context: context)
      (worker.name, worker.email, worker.salary) = (name, "\(name)@Example.org", salary)
      worker.company = company
    }
    try context.save()
    return company
  }

  private static func ask(_ context: ManagedObjectContext) throws {
    var request = Worker.fetchRequest { $0.salary > 1600 && $0.company.name == "Acme" }
    request.sortDescriptors = [FetchOrder(\Worker.name)]
    for worker in try context.fetch(request) {
      print("\(worker.name) <\(worker.email ?? "-")> \(worker.salary)")
    }
  }

  /// A rejected save changes nothing. Its error names the object and the rule.
  private static func refuse(_ context: ManagedObjectContext, _ company: Company) throws {
    let worker = Worker(context: context)
    (worker.name, worker.salary, worker.company) = ("Max", -5, company)
    do {
      try context.save()
    } catch {
      for detail in error.details { print("refused: \(detail.property) \(detail.rule)") }
    }
    context.rollback()
    print("\(company.workerCount) workers after the rollback")
  }

  /// The workers are deleted with their company. The snapshot remains, because it is a value.
  private static func dissolve(
    _ container: PersistentContainer, _ context: ManagedObjectContext, _ company: Company
  ) throws {
    let picture = try TypedSnapshot(company, including: \.workers)
    context.delete(company)
    try context.save()
    print("\(try container.newContext().count(for: Worker.fetchRequest())) workers are left")
    print("\(picture.name) had " + picture.workers.map(\.name).sorted().joined(separator: ", "))
  }
}
