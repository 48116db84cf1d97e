import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Objects that were edited in an event")
struct EventEditsTests {
  @Test("An event visits only the objects that were edited after the previous event")
  func edited() throws {
    let context = try Staff.context(.engine)
    let workers = (0..<50).map { context.worker("w\($0)") }
    context.processPendingChanges()
    let edits = { context.core.registry.memory.pointee.eventEdits }
    #expect(edits().isComplete && edits().references.isEmpty)
    workers[3].salary = 4
    workers[3].salary = 5
    context.delete(workers[4])
    let added = context.worker("later")
    let edited = Set([workers[3], workers[4], added].map(\.reference))
    #expect(edits().references.count == 3 && Set(edits().references) == edited)
    context.processPendingChanges()
    #expect(edits().references.isEmpty)
  }

  @Test("An event with edits calls the observers once, with only the objects edited in it")
  func observed() throws {
    let context = try Staff.context(.engine)
    let workers = (0..<20).map { context.worker("w\($0)") }
    var heard: [Set<ManagedObject>] = []
    let observation = context.observe { heard.append($0.updatedObjects) }
    context.processPendingChanges()
    workers[7].salary = 4
    context.processPendingChanges()
    context.processPendingChanges()
    workers[8].salary = 5
    context.processPendingChanges()
    withExtendedLifetime(observation) {}
    #expect(heard == [[], [workers[7]], [workers[8]]])
  }
}
