// Runs an operation of a context again and again. In each run, a different read of the store fails.

import Foundation
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

/// The container, contexts and objects of one run. Each run begins with the same content.
final class SweepScene {
  let container: PersistentContainer
  let failing: UnreadableStore.Switch
  let context: ManagedObjectContext
  let manager = ContextUndoManager()
  /// A child of the context, if the operation is a save of a child.
  var child: ManagedObjectContext?
  /// Keeps the instances, so that their rows and transient values stay loaded.
  var kept: [ManagedObject] = []

  /// Saves two shelves with five volumes, and two marks.
  init() throws {
    (container, failing) = try UnreadableStore.container(
      classes: [UndoShelf.self, UndoVolume.self, UndoMark.self])
    let setup = container.newContext()
    let (first, second) = (UndoShelf(context: setup), UndoShelf(context: setup))
    (first.name, second.name) = ("S1", "S2")
    let volumes = (1...5).map { number in
      let volume = UndoVolume(context: setup)
      volume.title = "V\(number)"
      (number < 4 ? first : second).volumes.append(volume)
      return volume
    }
    volumes[0].sequel = volumes[1]
    for (number, members) in [(1, volumes.prefix(2)), (2, volumes.suffix(2))] {
      let mark = UndoMark(context: setup)
      mark.label = "M\(number)"
      for volume in members { mark.volumes.insert(volume) }
      mark.favourite = members.first
    }
    try setup.save()
    context = container.newContext()
    context.undoManager = manager
  }

  func volume(_ title: String, _ other: ManagedObjectContext? = nil) throws -> UndoVolume {
    try found(other) { $0.title == title }
  }

  func shelf(_ name: String, _ other: ManagedObjectContext? = nil) throws -> UndoShelf {
    try found(other) { $0.name == name }
  }

  func mark(_ label: String, _ other: ManagedObjectContext? = nil) throws -> UndoMark {
    try found(other) { $0.label == label }
  }

  private func found<T: ManagedObject>(
    _ other: ManagedObjectContext?, _ isWanted: (T) -> Bool
  ) throws -> T {
    let object = try #require(try (other ?? context).fetch(FetchRequest<T>()).first(where: isWanted))
    kept.append(object)
    return object
  }

  /// Saves changes in another context.
  func changeElsewhere(_ body: (ManagedObjectContext) throws -> Void) throws {
    let other = container.newContext()
    try body(other)
    try other.save()
  }
}

/// The content of a context that a program can read.
struct SweepState: Equatable, CustomStringConvertible {
  var lines: [String]

  var description: String { lines.joined(separator: "\n") }

  init(_ context: ManagedObjectContext) throws {
    func titles(_ volumes: some Sequence<UndoVolume>) -> [String] { volumes.map(\.title) }
    lines = try context.fetch(FetchRequest<UndoShelf>()).map { shelf in
      "shelf \(shelf.name): \(titles(shelf.volumes)), \(shelf.volumeCount)"
    }
    lines += try context.fetch(FetchRequest<UndoVolume>()).map { volume in
      "volume \(volume.title): \(volume.pages) pages, \(volume.note ?? "-"), \(volume.mood ?? "-"), "
        + "on \(volume.shelf?.name ?? "-"), \(volume.marks.map { $0.label ?? "-" }.sorted()), "
        + "\(volume.prequel?.title ?? "-") < \(volume.sequel?.title ?? "-")"
    }
    lines += try context.fetch(FetchRequest<UndoMark>()).map { mark in
      "mark \(mark.label ?? "-"): \(titles(mark.volumes).sorted()), \(mark.favourite?.title ?? "-")"
    }
    lines.sort()
    lines.append(
      "\(context.insertedObjects.count) new, \(context.updatedObjects.count) updated, "
        + "\(context.deletedObjects.count) deleted, changes: \(context.hasChanges)")
  }
}

/// The content of a scene that a program can read after an operation.
struct SweepResult: Equatable {
  var parent: SweepState
  var child: SweepState?
  var groups: String

  init(_ scene: SweepScene) throws {
    groups =
      "\(scene.manager.undoCount) \(scene.manager.undoActionName), "
      + "\(scene.manager.redoCount) \(scene.manager.redoActionName)"
    parent = try SweepState(scene.context)
    child = try scene.child.map { try SweepState($0) }
  }

  /// The lines that only one of two results has, for the message of a test.
  func differences(from other: SweepResult) -> [String] {
    let (mine, theirs) = (lines, other.lines)
    return mine.filter { !theirs.contains($0) }.map { "+ " + $0 }
      + theirs.filter { !mine.contains($0) }.map { "- " + $0 }
  }

  private var lines: [String] {
    [groups] + parent.lines + (child.map { $0.lines.map { "child: " + $0 } } ?? [])
  }
}

/// Fails reads of an operation: in each run one read, or one read and all later ones.
struct FailedReadSweep {
  let name: String
  /// Prepares a scene. All its reads succeed.
  let prepare: (SweepScene) throws -> Void
  let operation: (SweepScene) throws -> Void
  /// Whether a failure may demand a rollback of `context`. Otherwise the operation throws and
  /// changes nothing in `context`. A child may always demand a rollback.
  let mayAskForRollback: Bool

  private struct Outcome {
    let scene: SweepScene
    let error: PerdureError?
    let hasFailed: Bool
  }

  private func run(
    performs: Bool = true, _ fail: (UnreadableStore.Switch) -> Void = { _ in }
  ) throws -> Outcome {
    let scene = try SweepScene()
    try prepare(scene)
    fail(scene.failing)
    var error: PerdureError?
    if performs {
      do { try operation(scene) } catch let thrown as PerdureError { error = thrown }
    }
    let hasFailed = scene.failing.hasFailed
    scene.failing.set([])
    return Outcome(scene: scene, error: error, hasFailed: hasFailed)
  }

  /// The states after the undo of all groups, their redo, and a save.
  private static func sequel(_ scene: SweepScene) throws -> [SweepState] {
    var states: [SweepState] = []
    while scene.manager.canUndo { try scene.manager.undo(.keepCurrent) }
    states.append(try SweepState(scene.context))
    while scene.manager.canRedo { try scene.manager.redo(.keepCurrent) }
    states.append(try SweepState(scene.context))
    // A child's changes may conflict with the undo, and unsaved links may lead to removed objects.
    for context in [scene.child, scene.context] {
      do { try context?.save() } catch { states[1].lines.append("\(error.code)") }
    }
    states.append(try SweepState(scene.container.newContext()))
    return states
  }

  /// The results of runs without a failure.
  private struct Expectation {
    /// In order: without the operation; with it; with a rollback instead of it; with a rollback
    /// after it.
    let unchanged, changed, restored, discarded: SweepResult
    let error: PerdureError?
    let sequel, restoredSequel: [SweepState]
  }

  private func expectation() throws -> Expectation {
    func scene(isDone: Bool, isRolledBack: Bool) throws -> Outcome {
      let outcome = try run(performs: isDone)
      if isRolledBack {
        outcome.scene.child?.rollback()
        outcome.scene.context.rollback()
      }
      return outcome
    }
    let (before, after) = (
      try scene(isDone: false, isRolledBack: false), try scene(isDone: true, isRolledBack: false)
    )
    let (restored, discarded) = (
      try scene(isDone: false, isRolledBack: true), try scene(isDone: true, isRolledBack: true)
    )
    return Expectation(
      unchanged: try SweepResult(before.scene), changed: try SweepResult(after.scene),
      restored: try SweepResult(restored.scene), discarded: try SweepResult(discarded.scene),
      error: after.error, sequel: try Self.sequel(after.scene),
      restoredSequel: try Self.sequel(restored.scene))
  }

  /// Fails reads of the parts. In each run, either one read fails, or one read and all later ones.
  /// With `PERDURE_STEPS`, every read fails in both ways. Otherwise the reads and the ways are
  /// chosen at random.
  func check(_ parts: [UnreadableStore.Part]) throws {
    let expected = try expectation()
    let isComplete = ProcessInfo.processInfo.environment["PERDURE_STEPS"] != nil
    var random = SeededGenerator.forTest(name)
    for part in parts {
      var (reads, hasFailed) = (0, true)
      while hasFailed {
        for isPassing in isComplete ? [false, true] : [Bool.random(using: &random)] {
          let run = try run { $0.set([part], after: reads, isPassing: isPassing) }
          try judge(run, expected, "\(name), \(part) \(reads), passing: \(isPassing)")
          hasFailed = run.hasFailed
        }
        reads += isComplete ? 1 : Int.random(in: 1...15, using: &random)
      }
    }
  }

  private func judge(_ run: Outcome, _ expected: Expectation, _ comment: Comment) throws {
    let scene = run.scene
    let parentAsks = scene.context.core.viewState.readFailure != nil
    let asks = parentAsks || scene.child?.core.viewState.readFailure != nil
    if asks {
      #expect(run.hasFailed && (mayAskForRollback || !parentAsks), comment)
      scene.child?.rollback()
      let result: SweepResult
      if parentAsks {
        scene.context.rollback()
        result = try SweepResult(scene)
        let isDone = run.error == nil && result == expected.discarded
        #expect(isDone || result.differences(from: expected.restored).isEmpty, comment)
        if !isDone { #expect(try Self.sequel(scene) == expected.restoredSequel, comment) }
      } else {
        result = try SweepResult(scene)
        #expect(result.parent == expected.unchanged.parent, comment)
        #expect(result.groups == expected.unchanged.groups, comment)
      }
    } else if run.error != nil, run.error?.code != expected.error?.code {
      #expect(run.error?.code == .readFailed || run.error?.code == .saveFailed, comment)
      #expect(try SweepResult(scene).differences(from: expected.unchanged).isEmpty, comment)
      var again: PerdureError?
      do { try operation(scene) } catch let thrown as PerdureError { again = thrown }
      #expect(again?.code == expected.error?.code, comment)
      #expect(try SweepResult(scene).differences(from: expected.changed).isEmpty, comment)
      #expect(try Self.sequel(scene) == expected.sequel, comment)
    } else {
      #expect(try SweepResult(scene).differences(from: expected.changed).isEmpty, comment)
      #expect(try Self.sequel(scene) == expected.sequel, comment)
    }
  }
}
