// Companies with workers: a complete program with a model that is made in code. The classes have
// accessors for the model's properties. The container compares these accessors with the model.
//
//     swift run CompaniesInCode
//
// Examples/Companies/Macros does the same with a model that is made from the classes.

import Perdure

@Accessors class Party: ManagedObject {
  override class var entityDescription: EntityDescription {
    EntityDescription(
      "Party", properties: [.string("name", optional: false)], indexes: [FetchIndexDescription(on: "name")])
  }

  var name: String
}

@Accessors final class Company: Party {
  override class var entityDescription: EntityDescription {
    EntityDescription(
      "Company", superentity: "Party",
      properties: [
        .toMany("workers", "Worker", inverse: "company", deleteRule: .cascade),
        .derived("workerCount", "workers.@count"),
      ], indexes: [FetchIndexDescription(on: "workerCount")])
  }

  var workers: ToMany<Worker>
  private(set) var workerCount: Int
}

@Accessors final class Worker: Party {
  override class var entityDescription: EntityDescription {
    EntityDescription(
      "Worker", superentity: "Party",
      properties: [
        .string("email"), .int64("salary", optional: false, default: 1000),
        .toOne("company", "Company", inverse: "workers"),
      ], uniquenessConstraints: [["email"]])
  }

  var email: String?
  var salary: Int64
  var company: Company?

  override func willSave() {
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
    let classes: [ManagedObject.Type] = [Party.self, Company.self, Worker.self]
    let model = try ManagedObjectModel(classes.map(\.entityDescription))
    let container = PersistentContainer(
      name: "Companies", model: model, classes: classes, description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let company = try found(context)
    print("\(company.name) has \(company.workerCount) workers")
    try ask(context)
    try refuse(context, company)
    try dissolve(container, context, company)
  }

  private static func found(_ context: ManagedObjectContext) throws -> Company {
    let company = Company(context: context)
    company.name = "Acme"
    for (name, salary) in [("Ada", 3000), ("Grace", 2000), ("Li", 1500)] as [(String, Int64)] {
      // Properties are accessed by name here. Access by name also works for entities without their
      // own class.
      let worker = context.insertNewObject(forEntityName: "Worker")
      worker["name"] = name
      worker["email"] = "\(name)@Example.org"
      worker["salary"] = salary
      worker["company"] = company
    }
    try context.save()
    return company
  }

  private static func ask(_ context: ManagedObjectContext) throws {
    let request = FetchRequest<Worker>(
      predicate: try FetchPredicate(format: "salary > %d AND company.name == %@", 1600, "Acme"),
      sortDescriptors: [FetchOrder("name")])
    for worker in try context.fetch(request) {
      print("\(worker.name) <\(worker.email ?? "-")> \(worker.salary)")
    }
  }

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

  private static func dissolve(
    _ container: PersistentContainer, _ context: ManagedObjectContext, _ company: Company
  ) throws {
    let picture = try company.snapshot(including: ["workers"])
    context.delete(company)
    try context.save()
    print("\(try container.newContext().count(for: FetchRequest<Worker>())) workers are left")
    let names = picture["workers"]?.objects.compactMap { $0["name"]?.value }
    print("Acme had " + (names ?? []).compactMap(text).sorted().joined(separator: ", "))
  }

  private static func text(_ value: Value) -> String? {
    if case .string(let text) = value { text } else { nil }
  }
}
