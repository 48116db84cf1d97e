// Undo groups, undo and redo while reads of the store fail.

import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Undo while the store cannot be read")
struct UndoUnreadableTests {
  @Test("Whichever read of a save fails, the undo of a saved group restores the value before it")
  func savedGroup() throws {
    let (container, failing) = try UnreadableStore.container()
    for reads in 0..<20 {
      let context = container.newContext()
      let company = context.company("C")
      try context.save()
      context.undoManager = ContextUndoManager()
      var isSaved = false
      context.undoGroup("Rename") {
        company.name = "D"
        failing.set([.rows], after: reads)
        isSaved = (try? context.save()) != nil
        failing.set([])
      }
      // Needed if any read has failed.
      context.rollback()
      guard isSaved else { continue }
      #expect(company.name == "D")
      try context.undo()
      #expect(company.name == "C", "\(reads)")
      try context.save()
    }
  }

  @Test("If the former value of an edit after a save cannot be read, a rollback keeps no wrong value")
  func editAfterSave() throws {
    let (container, failing) = try UnreadableStore.container()
    let context = container.newContext()
    let (company, ada) = (context.company("C"), context.worker("Ada", email: "a"))
    try context.save()
    context.undoManager = ContextUndoManager()
    try context.undoGroup("Edit") {
      company.name = "D"
      try context.save()
      ada.salary = 7
      failing.set([.rows])
    }
    failing.set([])
    context.rollback()
    #expect(company.name == "D" && ada.salary == 1000)
    try context.undo(.overwrite)
    #expect(company.name == "C" && ada.salary == 1000)
    try context.save()
  }
}
