// A child is saved into a parent with an undo manager, and reads of the store fail.

import Testing

@testable import Perdure

@Suite("Saves of a child into a parent with an undo manager when reads fail")
struct UndoUnreadableChildTests {
  @Test(
    "A child's save succeeds completely or throws, and its parent can be saved without a rollback",
    arguments: [UnreadableStore.Part.versions, .rows, .entries])
  func everyRead(_ part: UnreadableStore.Part) throws {
    let (container, failing) = try UnreadableStore.container()
    let setup = container.newContext()
    let ids = (0..<20).map { setup.worker("w\($0)", email: "w\($0)") }.map(\.objectID)
    try setup.save()
    for reads in ids.indices {
      let (parent, manager) = (container.newContext(), ContextUndoManager())
      parent.undoManager = manager
      let child = parent.newChildContext()
      try #require(try child.existingObject(with: ids[reads]) as? Employee).name = "changed"
      failing.set([part], after: reads)
      let isSaved = (try? child.save()) != nil
      failing.set([])
      #expect(parent.hasChanges == isSaved && manager.undoCount == (isSaved ? 1 : 0), "\(reads)")
      #expect(throws: Never.self, "\(reads)") { try parent.save() }
      if isSaved { #expect(throws: Never.self, "\(reads)") { try manager.undo() } }
    }
  }
}
