import Perdure
import Testing

@Suite("Undo of deletions whose references another context has emptied")
struct UndoNullifiedReferenceTests {
  enum Reference: CaseIterable {
    case oneWay, oneToOne
  }

  /// In this context, the delete rule has also set the reference to nil.
  @Test(
    "The undo of a deletion does not restore a reference that another context has emptied",
    arguments: Reference.allCases, [false, true])
  func emptied(_ reference: Reference, _ isSaved: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let (mark, other) = (UndoMark(context: context), try scene.volume("Other"))
    (mark.favourite, other.sequel) = (volume, volume)
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(volume) }
    try scene.saveElsewhere { theirs in
      switch reference {
      case .oneWay: try theirs.existingObject(with: mark.objectID).setValue(nil, forKey: "favourite")
      case .oneToOne: try undoVolume(other.objectID, theirs).sequel = nil
      }
    }
    context.refreshAllObjects()
    if isSaved {
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.save()
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    switch reference {
    case .oneWay: #expect(mark.favourite == nil)
    case .oneToOne: #expect(other.sequel == nil)
    }
    #expect(found.isEmpty == isSaved)
  }
}
