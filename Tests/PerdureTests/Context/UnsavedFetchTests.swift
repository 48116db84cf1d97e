import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

/// Fetches whose results depend on unsaved changes of related objects.
@Suite("Fetching over unsaved changes")
struct UnsavedFetchTests {
  private static let predicates = [
    "company.name == 'c1'", "company.workerCount > 3", "ANY friends.salary == 2", "NONE friends.salary == 3",
    "ALL friends.company.name == 'c0'", "mentor.salary >= 2", "mentor.mentor.name == 'w1'",
    "spouse.salary < 3",
    "leads.name == 'c2'", "company.chief.salary == 1", "ANY projects.title == 'p1'", "friends.@count == 2",
    "ANY company.workers.salary == 4", "company.workers.@max.salary == 4",
    "projects.@count > company.workerCount",
    "SUBQUERY(friends, $f, $f.company.name == 'c1' AND $f.salary > 1).@count > 0",
    "ANY bookmarks.title == 'p2'",
    "ANY bookmarks.members.salary == 2", "TERNARY(mentor.salary > 2, company.name, spouse.name) == 'c1'",
    "company.name == 'c1' OR salary == 3", "SELF['company'].name == 'c1'", "company['workerCount'] > 3",
    "TERNARY(salary > 2, mentor, spouse).salary == 2",
    "TERNARY(salary > 2, mentor, spouse)['company'].name == 'c1'",
    "ANY friends['salary'] == 2", "company['name'] == 'c1'",
  ]
  private static let orders = [
    [], ["company.name", "salary"], ["mentor.salary"], ["company.workerCount", "name"],
  ]

  private func answers(_ context: ManagedObjectContext) throws -> [[ManagedObjectID]] {
    var all: [[ManagedObjectID]] = []
    for (position, format) in Self.predicates.enumerated() {
      let order = Self.orders[position % Self.orders.count]
      var request = FetchRequest<Employee>(
        predicate: try FetchPredicate(format: format), sortDescriptors: order.map { FetchOrder($0) })
      let found = try context.fetchIDs(request)
      #expect(try context.count(for: request) == found.count, "\(format)")
      all.append(order.isEmpty ? found.sorted { $0.uri < $1.uri } : found)
      if !order.isEmpty {
        request.fetchLimit = 3
        #expect(try context.fetchIDs(request) == Array(found.prefix(3)), "\(format)")
      }
    }
    return all
  }

  @Test("A fetch finds the same objects in the same order before and after a save")
  func beforeAndAfter() throws {
    var random = SeededGenerator.forTest("fetching over unsaved changes")
    let container = try Staff.container()
    let context = container.newContext()
    for number in 0..<4 { _ = (context.company("c\(number)"), project(context, "p\(number)")) }
    for number in 0..<24 { _ = context.worker("w\(number)") }
    // Saves first, so that there are objects to edit even after a rollback.
    try context.save()
    var compared = 0
    for _ in 0..<40 {
      for _ in 0..<Int.random(in: 1...4, using: &random) { try edit(context, &random) }
      let before = try answers(context)
      do throws(PerdureError) {
        try context.save()
      } catch {
        context.rollback()
        continue
      }
      compared += 1
      let after = try answers(context)
      for (position, format) in Self.predicates.enumerated() {
        #expect(before[position] == after[position], "\(format)")
      }
      let fresh = try answers(container.newContext())
      #expect(fresh == after)
    }
    #expect(compared > 20)
  }

  private func project(_ context: ManagedObjectContext, _ title: String) -> Project {
    let project = Project(context: context)
    project.title = title
    return project
  }

  private func edit(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    let workers = try context.fetch(FetchRequest<Employee>(sortDescriptors: [FetchOrder("name")]))
    let companies = try context.fetch(FetchRequest<Company>(sortDescriptors: [FetchOrder("name")]))
    let projects = try context.fetch(FetchRequest<Project>(sortDescriptors: [FetchOrder("title")]))
    let (one, other, company) = (random.pick(workers), random.pick(workers), random.pick(companies))
    switch Int.random(in: 0..<14, using: &random) {
    case 0, 1: one.salary = Int64(Int.random(in: 0..<5, using: &random))
    case 2: one.company = random.chance(20) ? nil : company
    case 3: company.name = "c\(Int.random(in: 0..<4, using: &random))"
    case 4: company.chief = one
    case 5: one.friends.insert(other)
    case 6: one.friends.remove(other)
    case 7: one.mentor = random.chance(20) ? nil : other
    case 8: one.spouse = random.chance(20) ? nil : other
    case 9: random.pick(projects).members.insert(one)
    case 10: one.bookmarks.insert(random.pick(projects))
    case 11: random.pick(projects).title = "p\(Int.random(in: 0..<4, using: &random))"
    case 12:
      if workers.count > 12 { context.delete(one) }
    default: context.worker("w\(Int.random(in: 0..<24, using: &random))").company = company
    }
  }
}
