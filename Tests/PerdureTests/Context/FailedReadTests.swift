// Reads of operations fail. With `PERDURE_STEPS`, there are runs for every read; otherwise for some
// random reads.

import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Operations whose reads fail")
struct FailedReadTests {
  private func check(
    _ name: String, mayAsk: Bool = false, prepare: @escaping (SweepScene) throws -> Void,
    _ operation: @escaping (SweepScene) throws -> Void
  ) throws {
    let sweep = FailedReadSweep(
      name: name, prepare: prepare, operation: operation, mayAskForRollback: mayAsk)
    try sweep.check([.versions, .rows, .entries])
  }

  /// Edits of values, links and positions, and an insertion, in one group, in the child if there is
  /// one.
  private static func edit(_ scene: SweepScene) throws {
    let context = scene.child ?? scene.context
    let (first, second) = (try scene.shelf("S1", context), try scene.shelf("S2", context))
    let v1 = try scene.volume("V1", context)
    let (v2, v4) = (try scene.volume("V2", context), try scene.volume("V4", context))
    let mark = try scene.mark("M1", context)
    context.undoGroup("Edit") {
      v1.pages = 7
      v1.mood = "bright"
      v2.shelf = second
      second.volumes.move(from: 0, to: 2)
      v1.sequel = v4
      mark.volumes.remove(v1)
      mark.favourite = v4
      first.name = "S1"
      let new = UndoVolume(context: context)
      new.title = "New"
      new.shelf = first
    }
  }

  /// A deletion with delete rules in one group, in the child if there is one.
  private static func delete(_ scene: SweepScene) throws {
    let context = scene.child ?? scene.context
    let (shelf, mark) = (try scene.shelf("S1", context), try scene.mark("M2", context))
    context.undoGroup("Delete") {
      context.delete(shelf)
      context.delete(mark)
    }
  }

  private static func pages(_ scene: SweepScene) throws {
    let volume = try scene.volume("V5")
    scene.context.undoGroup("Pages") { volume.pages = 3 }
  }

  @Test("An undo or a redo is complete, or throws and changes nothing", arguments: [false, true])
  func undo(_ isSaved: Bool) throws {
    for (name, edit) in [("edit", Self.edit), ("delete", Self.delete)] {
      let prepare = { (scene: SweepScene) in
        try edit(scene)
        if isSaved { try scene.context.save() }
        try Self.pages(scene)
        try scene.context.undo()
        scene.context.refreshAllObjects()
      }
      try check("undo of \(name)", prepare: prepare) { try $0.context.undo() }
      let prepareRedo = { (scene: SweepScene) in
        try prepare(scene)
        try scene.context.undo()
      }
      try check("redo of \(name)", prepare: prepareRedo) { try $0.context.redo() }
    }
  }

  @Test(
    "A child's save is complete, or throws without effect on the parent and its groups, or needs a rollback")
  func childSave() throws {
    for (name, edit) in [("edit", Self.edit), ("delete", Self.delete)] {
      let prepare = { (scene: SweepScene) in
        try Self.pages(scene)
        scene.child = scene.context.newChildContext()
        try edit(scene)
      }
      try check("child's save of \(name)", mayAsk: true, prepare: prepare) { try $0.child?.save() }
    }
  }

  @Test(
    "A save that merges is complete, or throws and changes nothing, or needs a rollback",
    arguments: 0..<5)
  func merge(_ number: Int) throws {
    let policy = [
      MergePolicy.error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
    ][number]
    let prepare = { (scene: SweepScene) in
      scene.context.mergePolicy = policy
      let mark = try scene.mark("M2")
      scene.context.undoGroup("Label") { mark.label = "Label" }
      try Self.edit(scene)
      try Self.changeElsewhere(scene, conflicts: number > 0)
    }
    try check("merge", mayAsk: true, prepare: prepare) { try $0.context.save() }
  }

  /// Changes of another context to the objects that `edit` changes.
  private static func changeElsewhere(_ scene: SweepScene, conflicts: Bool) throws {
    try scene.changeElsewhere { other in
      try scene.volume("V1", other).note = "theirs"
      try scene.volume("V2", other).marks.removeAll()
      try scene.shelf("S2", other).volumes.move(from: 1, to: 0)
      if conflicts {
        try scene.volume("V1", other).pages = 9
        other.delete(try scene.volume("V4", other))
        other.delete(try scene.mark("M2", other))
      }
    }
  }

  @Test("After a refresh or an automatic merge that cannot read, a rollback restores everything")
  func refresh() throws {
    for conflicts in [false, true] {
      let prepare = { (scene: SweepScene) in
        try Self.pages(scene)
        try scene.context.save()
        try Self.edit(scene)
        try Self.changeElsewhere(scene, conflicts: conflicts)
      }
      try check("refresh", mayAsk: true, prepare: prepare) { $0.context.refreshAllObjects() }
      let prepareMerge = { (scene: SweepScene) in
        try Self.pages(scene)
        try scene.context.save()
        try Self.edit(scene)
        scene.context.automaticallyMergesChangesFromParent = true
        try Self.changeElsewhere(scene, conflicts: conflicts)
      }
      try check("automatic merge", mayAsk: true, prepare: prepareMerge) {
        $0.context.processPendingChanges()
      }
    }
  }

  @Test("A rollback is complete whichever read fails")
  func rollback() throws {
    let prepare = { (scene: SweepScene) in
      try Self.pages(scene)
      try scene.context.save()
      try Self.edit(scene)
    }
    try check("rollback", mayAsk: true, prepare: prepare) { $0.context.rollback() }
  }
}
