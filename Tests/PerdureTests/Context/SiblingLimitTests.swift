import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Siblings: what is kept for them does not grow with the walk")
struct SiblingLimitTests {
  @Test("What leads to nothing is forgotten too")
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

  @Test("One row that was removed does not end reading its siblings together", arguments: [0, 63, 64, 100])
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
