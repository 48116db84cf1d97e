// Saves of children whose parent cannot be read, or whose parent's observers change the same
// objects.

import PerdurePredicates
import Testing

@testable import Perdure

@Suite("A child's save while its parent cannot be read, or is changed by observers")
struct UnreadableParentTests {
  @Test(
    "A child's save reaches the parent, or throws and keeps the changes, whichever read fails",
    arguments: [UnreadableStore.Part.versions, .rows, .entries])
  func everyRead(_ part: UnreadableStore.Part) throws {
    let (container, failing) = try UnreadableStore.container()
    let setup = container.newContext()
    let company = setup.company("C")
    let ids = (0..<40).map { setup.worker("w\($0)", email: "w\($0)") }.map(\.objectID)
    try setup.save()
    for reads in ids.indices {
      let parent = container.newContext()
      let child = parent.newChildContext()
      let draft = try #require(try child.existingObject(with: ids[reads]) as? Employee)
      draft.name = "changed"
      draft.company = try child.same(company)
      failing.set([part], after: reads)
      let isSaved = (try? child.save()) != nil
      failing.set([])
      if isSaved {
        try parent.save()
        let saved = try container.newContext().existingObject(with: ids[reads])
        #expect(saved.value(forKey: "name") as? String == "changed", "\(reads)")
      } else {
        #expect(child.hasChanges && draft.name == "changed" && !parent.hasChanges, "\(reads)")
        child.rollback()
        #expect(try parent.count(for: FetchRequest<Company>()) == 1, "\(reads)")
      }
    }
  }

  @Test("A child's save into a parent with a failed read throws, and the child keeps its changes")
  func unreadBefore() throws {
    let (container, failing) = try UnreadableStore.container()
    let setup = container.newContext()
    let ada = setup.worker("Ada")
    try setup.save()
    let parent = container.newContext()
    let child = parent.newChildContext()
    _ = child.worker("New")
    failing.set([.versions, .rows])
    #expect(try #require(parent.object(with: ada.objectID) as? Employee).name == "")
    failing.set([])
    let error = #expect(throws: PerdureError.self) { try child.save() }
    #expect(error?.cause is PerdureError && child.hasChanges && !parent.hasChanges)
    parent.rollback()
    try child.save()
    try parent.save()
    #expect(try container.newContext().count(for: FetchRequest<Employee>()) == 2)
  }

  @Test("A failed read in a child's save changes neither the parent's unsaved edits nor its groups")
  func keptEdits() throws {
    let (container, failing) = try UnreadableStore.container()
    let setup = container.newContext()
    let (company, ada) = (setup.company("C"), setup.worker("Ada"))
    try setup.save()
    var failures = 0
    for reads in 0..<20 {
      let parent = container.newContext()
      parent.undoManager = ContextUndoManager()
      let mine = try parent.same(company)
      parent.undoGroup("Rename") { mine.name = "D" }
      let child = parent.newChildContext()
      try child.same(ada).company = try child.same(company)
      failing.set([.versions], after: reads)
      let isSaved = (try? child.save()) != nil
      failing.set([])
      #expect(mine.name == "D" && parent.undoManager?.undoCount == (isSaved ? 2 : 1), "\(reads)")
      if isSaved { continue }
      failures += 1
      #expect(mine.workers.isEmpty, "\(reads)")
      try parent.undoManager?.undo()
      #expect(mine.name == "C" && !parent.hasChanges, "\(reads)")
    }
    #expect(failures > 0)
  }

  @Test("Observers of the parent's undo manager are called after the child's save, and see the saved values")
  func observers() throws {
    let container = try Staff.container()
    let parent = container.newContext()
    let manager = ContextUndoManager()
    parent.undoManager = manager
    let (ada, other) = (parent.worker("Ada", email: "a"), parent.company("C"))
    try parent.save()
    manager.removeAllActions()
    let child = parent.newChildContext()
    try child.same(ada).name = "Eve"
    other.name = "D"
    var seen: [String?] = []
    let observation = manager.observe { _ in
      seen.append(ada.name)
      other.name = "Observed"
    }
    try child.save()
    #expect(!seen.isEmpty && seen.allSatisfy { $0 == "Eve" })
    #expect(other.name == "Observed" && !child.hasChanges)
    withExtendedLifetime(observation) {}
  }
}
