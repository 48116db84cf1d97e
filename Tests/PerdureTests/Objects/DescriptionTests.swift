import FoundationEssentials
import Perdure
import PerdureModel
import Testing

@Suite("Descriptions in a log")
struct DescriptionTests {
  @Test("An object's description shows its class, identity, state and values without loading the object")
  func objects() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (worker, company) = (context.worker("W \"x\""), context.company("C"))
    let id = worker.objectID.uri
    #expect("\(worker)" == "<Employee \(id) inserted; name = \"W \\\"x\\\"\", salary = 1000>")
    worker.company = company
    worker.name = String(repeating: "n", count: 50)
    try context.save()
    let text = String(repeating: "n", count: 40)
    #expect("\(worker)" == "<Employee \(id); name = \"\(text)…\", salary = 1000, company = Company/p1>")
    worker.salary = 5
    #expect("\(worker)".contains("updated; name = ") && "\(worker)".contains("salary = 5"))
    context.delete(worker)
    #expect("\(worker)".hasPrefix("<Employee \(id) deleted; "))
    try context.save()
    #expect("\(worker)".hasPrefix("<Employee \(id) gone"))
    let other = container.newContext()
    let fault = other.object(with: company.objectID)
    #expect("\(fault)" == "<Company \(company.objectID.uri) fault>" && fault.isFault)
  }

  @Test("Data, URLs, decimals, Booleans and dates are shown in a readable form")
  func values() throws {
    let context = try Staff.context()
    let sample = Sample(context: context)
    (sample.bytes, sample.link) = (Data([1, 2, 3]), URL(string: "https://example.org"))
    let text = "\(sample)"
    #expect(text.contains("bytes = 3 bytes") && text.contains("link = https://example.org"))
    #expect(text.contains("exact = 3.14") && text.contains("flag = TRUE"))
    #expect(text.contains("moment = 2001-01-01"))
  }

  @Test("A context's description shows its size and unsaved changes; a container's shows its name and size")
  func contexts() throws {
    let container = try Staff.container()
    let context = container.newContext()
    #expect("\(context)" == "<ManagedObjectContext 0 objects; nothing unsaved>")
    let (one, two) = (context.worker("1"), context.worker("2"))
    try context.save()
    one.name = "x"
    context.delete(two)
    let three = context.worker("3")
    #expect("\(context)" == "<ManagedObjectContext 3 objects; 1 inserted, 1 updated, 1 deleted>")
    #expect(three.isInserted && "\(container)" == "<PersistentContainer Staff in memory; 8 entities>")
  }

  @Test("A request's description shows its entity, predicate, order, window and options")
  func requests() throws {
    var request = FetchRequest<Employee>(
      predicate: try FetchPredicate(format: "salary > 1000"), sortDescriptors: [FetchOrder("name")])
    #expect("\(request)" == "Employee where salary > 1000 order by name ascending")
    (request.fetchLimit, request.fetchOffset) = (20, 5)
    (request.includesSubentities, request.includesPendingChanges) = (false, false)
    #expect("\(request)".hasSuffix("limit 20 offset 5 without sub-entities without unsaved changes"))
    #expect("\(FetchRequest<ManagedObject>(entityName: "Party"))" == "Party")
  }

  @Test("A model's description shows each entity on a line")
  func models() throws {
    let model = try ManagedObjectModel([
      EntityDescription("Party", isAbstract: true, properties: [.string("name", optional: false)]),
      EntityDescription(
        "Firm", superentity: "Party",
        properties: [
          .toMany("staff", "Man", inverse: "firm", deleteRule: .cascade), .derived("size", "staff.@count"),
        ]),
      EntityDescription("Man", properties: [.toOne("firm", "Firm", inverse: "staff", optional: false)]),
    ])
    let lines = "\(model)".split(separator: "\n")
    #expect(lines.first?.hasPrefix("Model of 3 entities, version ") == true)
    #expect(
      lines.dropFirst() == [
        "  Party (abstract): name string!",
        "  Firm (Party): staff ->> Man.firm cascade, size int64 = staff.@count",
        "  Man: firm -> Firm.staff!",
      ])
  }

  @Test("A validation error shows every object, property, value and rule")
  func errors() throws {
    let context = try Staff.context()
    let (worker, contract) = (Employee(context: context), Contract(context: context))
    let error = #expect(throws: PerdureError.self) { try context.save() }
    let lines = (error?.description ?? "").split(separator: "\n")
    #expect(lines.count == 3 && lines.first?.hasPrefix("1560: 2 properties are invalid") == true)
    #expect(
      lines.contains {
        $0.hasPrefix("  1570 \(worker.objectID.uri) name = NULL: is required but was never set")
      })
    #expect(lines.contains { $0.hasPrefix("  1570 \(contract.objectID.uri) company = NULL: ") })
  }
}
