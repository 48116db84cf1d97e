// Undo groups, undo and redo while reads of the store fail.

import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Undo while the store cannot be read")
struct UndoUnreadableTests {
  @Test("If a save succeeds although a read fails, an undo restores the value before the group")
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
      // A failed read can leave unsaved changes.
      context.rollback()
      guard isSaved else { continue }
      #expect(company.name == "D")
      try context.undo()
      #expect(company.name == "C", "\(reads)")
      try context.save()
    }
  }

  @Test("If the value before an edit cannot be read when its group ends, a rollback still restores it")
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

  @Test(
    "An undo is complete, or throws and changes nothing",
    arguments: [UnreadableStore.Part.versions, .rows, .entries])
  func everyRead(_ part: UnreadableStore.Part) throws {
    let (container, failing) = try UnreadableStore.container()
    for reads in 0..<40 {
      let context = container.newContext()
      let (one, two, company) = (
        context.worker("A\(reads)", email: "a\(reads)"), context.worker("B\(reads)", email: "b\(reads)"),
        context.company("C")
      )
      one.company = company
      one.friends.insert(two)
      try context.save()
      let manager = ContextUndoManager()
      context.undoManager = manager
      context.undoGroup("Edit") {
        one.company = nil
        one.friends.removeAll()
        one.name = "changed"
      }
      try context.save()
      context.refreshAllObjects()
      failing.set([part], after: reads)
      let isUndone = (try? context.undo()) != nil
      failing.set([])
      if isUndone {
        #expect(one.company === company && one.friends.contains(two), "\(reads)")
        try context.save()
      } else {
        #expect(manager.undoActionName == "Edit" && !context.hasChanges, "\(reads)")
        #expect(manager.redoCount == 0, "\(reads)")
        try context.undo()
        #expect(one.company === company && one.friends.contains(two), "\(reads)")
      }
    }
  }

  @Test("An undo whose reads fail keeps unsaved edits, transient values and the groups to redo")
  func keptEdits() throws {
    let (container, failing) = try UnreadableStore.container(classes: [
      UndoShelf.self, UndoVolume.self, UndoMark.self,
    ])
    var failures = 0
    for reads in 0..<30 {
      let context = container.newContext()
      let (shelf, volume, mark) = (
        UndoShelf(context: context), UndoVolume(context: context), UndoMark(context: context)
      )
      (shelf.name, volume.title, volume.shelf) = ("S", "V", shelf)
      volume.marks.insert(mark)
      try context.save()
      let manager = ContextUndoManager()
      context.undoManager = manager
      volume.mood = "calm"
      context.undoGroup("Edit") {
        volume.mood = "bright"
        volume.pages = 1
        context.delete(shelf)
      }
      context.undoGroup("Mark") { mark.label = "m\(reads)" }
      try context.undo()
      context.refreshAllObjects()
      failing.set([.versions, .entries], after: reads)
      let isUndone = (try? context.undo()) != nil
      failing.set([])
      #expect(volume.mood == (isUndone ? "calm" : "bright"), "\(reads)")
      if isUndone { continue }
      failures += 1
      #expect(shelf.isDeleted && volume.pages == 1 && volume.isDeleted, "\(reads)")
      #expect(manager.undoActionName == "Edit" && manager.redoActionName == "Mark", "\(reads)")
      try context.undo()
      #expect(volume.mood == "calm" && volume.shelf === shelf && volume.pages == 0, "\(reads)")
      try context.redo()
      try context.redo()
      #expect(shelf.isDeleted && mark.label == "m\(reads)", "\(reads)")
    }
    #expect(failures > 0)
  }
}
