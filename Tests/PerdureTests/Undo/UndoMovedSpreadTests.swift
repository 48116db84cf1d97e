// One group spreads the order keys of an overcrowded relationship, and moves a member.

import Testing

@testable import Perdure

@Suite("Undo of a group that spreads order keys and moves a member")
struct UndoMovedSpreadTests {
  @Test("If another context has moved a member whose key was only spread, the undo of the group is refused")
  func moved() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf())
    func insert(_ titles: [String]) {
      for title in titles {
        let volume = UndoVolume(context: context)
        volume.title = title
        shelf.volumes.insert(volume, at: shelf.volumes.count / 2)
      }
    }
    insert((0..<170).map { "saved \($0)" })
    try context.save()
    scene.manager.removeAllActions()
    let first = shelf.volumes[0]
    context.undoGroup("Insert and move") {
      insert((0..<60).map { "new \($0)" })
      shelf.volumes.move(first, to: 5)
    }
    let order = try #require(context.core.pending[shelf.reference]?.orders.first?.delta)
    let spread = order.placed.filter { $0.value.isSpread && $0.value.stored != nil }.map(\.key)
    let neighbour = try #require(shelf.volumes.first { spread.contains($0.reference) && $0 !== first })
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
