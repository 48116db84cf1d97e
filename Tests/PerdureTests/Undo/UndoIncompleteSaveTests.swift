// Undo after a save that one of two stores has committed and the other has refused.

import PerdureModel
import Testing

@testable import Perdure

@Suite("Undo after a save that only one of two stores has committed")
struct UndoIncompleteSaveTests {
  @Test("After a partial save, an earlier save by another context causes no conflict for later groups")
  func hidden() throws {
    let model = try ManagedObjectModel(
      ["A", "B"].map { EntityDescription($0, properties: [.string("x")]) },
      configurations: ["A": ["A"], "B": ["B"]])
    let (container, stores) = try RefusingStore.container(model, configurations: ["A", "B"])
    let (context, manager) = (container.newContext(), ContextUndoManager())
    let (a, b) = (
      context.insertNewObject(forEntityName: "A"), context.insertNewObject(forEntityName: "B")
    )
    (a["x"], b["x"]) = ("One", "One")
    try context.save()
    context.undoManager = manager
    context.undoGroup("Mine") { (a["x"], b["x"]) = ("Mine", "Mine") }
    let other = container.newContext()
    try other.existingObject(with: a.objectID)["x"] = "Theirs"
    try other.save()
    context.refreshAllObjects()
    context.mergePolicy = .overwrite
    stores[1].fail(1)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .incompleteSave && error?.savedStoreIdentifiers.count == 1)
    context.undoGroup("Back") { a["x"] = "One" }
    context.undoGroup("Again") { a["x"] = "Again" }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.isEmpty && a["x"] as? String == "One")
  }
}
