import Perdure
import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Costs of an undo")
struct UndoCostTests {
  @Test("The undo of a saved deletion does not read the unsaved links of other objects")
  func unrelatedLinks() throws {
    let (container, failing) = try UnreadableStore.container()
    let context = container.newContext()
    let workers = (0..<200).map { context.worker("w\($0)", email: "w\($0)") }
    let gone = context.worker("gone", email: "gone")
    try context.save()
    context.undoManager = ContextUndoManager()
    context.undoGroup("Delete") { context.delete(gone) }
    try context.save()
    context.withoutUndo { for worker in workers.dropFirst() { workers[0].friends.insert(worker) } }
    // The deleted object had no links, so its undo needs few entries.
    failing.set([.entries], after: 60)
    try context.undo()
    failing.set([])
    try context.save()
  }
}
