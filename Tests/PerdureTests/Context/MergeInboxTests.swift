import PerdureModel
import Testing

@testable import Perdure

@Suite("Saves that wait to be merged")
struct MergeInboxTests {
  private func event(_ id: ManagedObjectID) -> ContextEvent {
    var event = ContextEvent(.didSave)
    event.updatedObjectIDs = [id]
    event.values = [id: ["salary": .integer(1)]]
    return event
  }

  @Test("The inbox keeps only the newest waiting saves, and reports that older saves were dropped")
  func bounded() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let ids = (0..<3).map { context.worker("\($0)").objectID }
    try context.save()
    let inbox = MergeInbox(wake: nil)
    inbox.put(event(ids[0]))
    let first = inbox.take()
    #expect(first.isComplete && first.events.map(\.updatedObjectIDs) == [[ids[0]]])
    #expect(first.events.allSatisfy { $0.values.isEmpty })
    #expect(inbox.take().isEmpty)
    for number in 0..<1000 { inbox.put(event(ids[number == 0 ? 1 : 2])) }
    let waiting = inbox.take()
    #expect(!waiting.isComplete && waiting.events.count <= MergeInbox.eventsMax)
    #expect(waiting.events.allSatisfy { $0.updatedObjectIDs == [ids[2]] } && !waiting.events.isEmpty)
    #expect(inbox.take().isComplete)
  }

  @Test("A context that merges after many saves has also merged the first save")
  func allMerged() throws {
    let container = try Staff.container()
    let there = container.newContext()
    let (theirs, other) = (there.worker("contested"), there.worker("other"))
    try there.save()
    let here = container.newContext()
    here.automaticallyMergesChangesFromParent = true
    let mine = try here.same(theirs)
    mine.name = "here"
    theirs.name = "there"
    try there.save()
    for salary in 1...Int64(MergeInbox.eventsMax + 100) {
      other.salary = salary
      try there.save()
    }
    here.processPendingChanges()
    try here.save()
    there.refreshAllObjects()
    #expect(theirs.name == "here")
  }
}
