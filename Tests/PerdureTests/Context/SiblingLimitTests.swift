import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("The size of the sibling cache does not depend on the number of relationships that are followed")
struct SiblingLimitTests {
  /// Creates lists of workers. The mentor of each worker is the worker created before it. The head
  /// of a list is created last.
  private func lists(_ count: Int, length: Int) throws -> PersistentContainer {
    let container = try Staff.container()
    let context = container.newContext()
    for _ in 0..<count {
      var last: Employee?
      for number in 0..<length {
        let worker = context.worker(number == length - 1 ? "head" : "w")
        worker.mentor = last
        last = worker
      }
    }
    try context.save()
    return container
  }

  private func heads(_ context: ManagedObjectContext) throws -> [Employee] {
    try context.fetch(FetchRequest<Employee>(predicate: FetchPredicate(format: "name == 'head'")))
  }

  @Test("Following a list of 20,000 objects keeps few blocks in memory, and no block after the release")
  func list() throws {
    let length = 20_000
    let context = try lists(2, length: length).newContext()
    do {
      let heads = try heads(context)
      try #require(heads.count == 2)
      var worker = heads[0]
      var count = 1
      while let next = worker.mentor {
        count += next.name.isEmpty ? 0 : 1
        worker = next
      }
      #expect(count == length)
      withExtendedLifetime(heads) {
        let blockCount = context.core.registry.memory.pointee.blockCount
        #expect(blockCount < 500)
      }
    }
    #expect(context.core.registry.memory.pointee.blockCount == 0)
  }

  @Test(
    "The first five steps along ten parallel lists need at most one request for each step")
  func sideBySide() throws {
    let context = try lists(10, length: 20).newContext()
    let heads = try heads(context)
    var workers = heads
    let before = context.statistics
    for _ in 0..<5 {
      workers = workers.compactMap(\.mentor)
      #expect(workers.allSatisfy { !$0.name.isEmpty })
    }
    #expect(workers.count == 10)
    #expect(context.statistics.since(before).rowRequestCount <= 5)
    for _ in 0..<14 { workers = workers.compactMap(\.mentor) }
    #expect(workers.count == 10 && workers.allSatisfy { $0.mentor == nil })
    withExtendedLifetime(heads) {}
  }

  @Test("The cache also drops entries of objects without related objects")
  func leadingToNothing() throws {
    let context = try Staff.container().newContext()
    let mentor = context.worker("w").shape.relationship(9)
    var relations = SiblingRelations()
    for block in 0..<2_000 {
      var builder = SiblingRelationBuilder(mentor)
      for _ in 0..<64 { builder.add(EmptyCollection()) }
      relations.add(builder.finish(mentor, block: block, epoch: 1, first: block * 64, group: nil))
    }
    #expect(relations.find(mentor, block: 1_999, epoch: 1) != nil)
    #expect(relations.find(mentor, block: 0, epoch: 1) == nil)
  }

  @Test("Siblings are still read together if one of their rows was removed", arguments: [0, 63, 64, 100])
  func removedRow(place: Int) throws {
    let container = try Staff.container()
    let writer = container.newContext()
    for number in 0..<640 { _ = writer.worker("w\(number)") }
    try writer.save()
    let (context, other) = (container.newContext(), container.newContext())
    var request = FetchRequest<Employee>()
    request.includesPropertyValues = false
    let workers = try context.fetch(request)
    other.delete(try other.same(workers[place]))
    try other.save()
    context.refreshAllObjects()
    let before = context.statistics
    #expect(workers[place].name == "" && workers[place].isDeleted)
    #expect(workers.count { $0.name.hasPrefix("w") } == 639)
    #expect(context.statistics.since(before).rowRequestCount <= 640 / SiblingGroup.blockCount + 1)
  }
}
