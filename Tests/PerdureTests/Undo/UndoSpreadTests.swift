// Undo of edits that move members of an ordered relationship only to make space for others.

import Foundation
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Undo of moves that only make space")
struct UndoSpreadTests {
  private func insertInTheMiddle(_ scene: UndoScene, _ shelf: UndoShelf, _ titles: [String]) {
    for title in titles {
      let volume = UndoVolume(context: scene.context)
      volume.title = title
      shelf.volumes.insert(volume, at: shelf.volumes.count / 2)
    }
  }

  /// A saved shelf whose members have order keys close to each other, and a group that inserts more
  /// members in the middle. So the group moves some saved members to make space.
  ///
  /// - Returns: The shelf, and a member that the group has moved only to make space.
  private func crowded(_ scene: UndoScene) throws -> (shelf: UndoShelf, neighbour: UndoVolume) {
    let shelf = try scene.shelf()
    insertInTheMiddle(scene, shelf, (0..<170).map { "saved \($0)" })
    try scene.context.save()
    scene.manager.removeAllActions()
    scene.context.undoGroup("Insert") { insertInTheMiddle(scene, shelf, (0..<60).map { "new \($0)" }) }
    let order = try #require(scene.context.core.pending[shelf.reference]?.orders.first?.delta)
    let spread = order.placed.filter { $0.value.isSpread && $0.value.stored != nil }.map(\.key)
    let neighbour = try #require(shelf.volumes.first { spread.contains($0.reference) })
    return (shelf, neighbour)
  }

  @Test(
    "A member that a group moved only to make space stays where another context has moved it",
    arguments: [false, true])
  func movedElsewhere(isSaved: Bool) throws {
    let scene = try UndoScene()
    let (context, (shelf, neighbour)) = (scene.context, try crowded(scene))
    let inserted = shelf.volumes.map(\.title)
    if isSaved { try context.save() }
    try scene.saveElsewhere { other in
      let volume = try undoVolume(neighbour.objectID, other)
      volume.shelf?.volumes.move(volume, to: 0)
    }
    context.refreshAllObjects()
    func withNeighbourFirst(_ titles: [String]) -> [String] {
      [neighbour.title] + titles.filter { $0 != neighbour.title }
    }
    try context.undo()
    #expect(
      shelf.volumes.map(\.title) == withNeighbourFirst(inserted.filter { $0.hasPrefix("saved") }))
    try context.redo()
    #expect(shelf.volumes.map(\.title) == withNeighbourFirst(inserted))
    try context.undo()
    try context.save()
    let saved = try #require(
      scene.container.newContext().existingObject(with: shelf.objectID) as? UndoShelf)
    #expect(saved.volumes.map(\.title) == shelf.volumes.map(\.title) && saved.volumes.count == 170)
  }

  @Test("If the program also moved the member in the group, a move by another context makes undo a conflict")
  func movedByProgram() throws {
    let scene = try UndoScene()
    let (context, (shelf, neighbour)) = (scene.context, try crowded(scene))
    try context.undo()
    context.undoGroup("Insert and move") {
      insertInTheMiddle(scene, shelf, (0..<60).map { "new \($0)" })
      shelf.volumes.move(neighbour, to: 5)
    }
    try context.save()
    try scene.saveElsewhere { other in
      let volume = try undoVolume(neighbour.objectID, other)
      volume.shelf?.volumes.move(volume, to: 0)
    }
    context.refreshAllObjects()
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.member) == [neighbour.objectID])
  }
}
