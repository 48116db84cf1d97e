// Random edits, undos and saves in two contexts that change the same attributes. Each edit sets a
// value that is used only once, so the test knows where a value comes from.

import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Random undo of attributes that another context saves too")
struct RandomHiddenSaveTests {
  @Test("An undo never restores a value that another context has replaced under an unsaved edit")
  func random() throws {
    var random = SeededGenerator.forTest("random undo beside saves of the same attributes")
    let stepCount = 150
    for _ in 0..<LongRun.count(15, of: stepCount) {
      guard try expectSteps(stepCount, &random, begin: { try SharedDesk($0) }) else { return }
    }
  }
}

private final class SharedDesk: SteppedRun {
  private struct Place: Hashable {
    let volume: Int
    let property: String
  }

  private let scene: UndoScene
  private let other: ManagedObjectContext
  private let volumes: [UndoVolume]
  var random: SeededGenerator
  private var nextNumber = 1
  /// The stored values in the state of the context, and whether the other context has saved them.
  private var stored: [Place: (value: Value, isForeign: Bool)] = [:]
  /// The stored values that the other context has replaced under unsaved edits since the last save.
  private var replaced: [Place: Set<Value>] = [:]
  private var trace: [String] = []
  private(set) var failure: StepFailure?

  init(_ random: SeededGenerator) throws {
    (scene, self.random) = (try UndoScene(), random)
    let context = scene.context
    volumes = (0..<2).map { _ in UndoVolume(context: context) }
    try context.save()
    scene.manager.removeAllActions()
    other = scene.container.newContext()
    noteStored(isForeign: false)
  }

  private var context: ManagedObjectContext { scene.context }

  private var places: [Place] {
    volumes.indices.flatMap { volume in
      ["title", "pages", "note"].map { Place(volume: volume, property: $0) }
    }
  }

  func step() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<30: edit()
    case 30..<50: try saveOther()
    case 50..<65: merge()
    case 65..<80: try takeBack(.undo)
    case 80..<90: try takeBack(.redo)
    default: try save()
    }
    expect(scene.manager.brokenInvariants.isEmpty, "\(scene.manager.brokenInvariants)")
  }

  private func expect(_ holds: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
    if holds || failure != nil { return }
    failure = StepFailure(what(), after: trace, line: line)
  }

  private func value(_ place: Place, of volume: UndoVolume) -> Value {
    switch place.property {
    case "title": .string(volume.title)
    case "pages": .integer(volume.pages)
    default: volume.note.map { .string($0) } ?? .null
    }
  }

  private func shown() -> [Place: Value] {
    Dictionary(uniqueKeysWithValues: places.map { ($0, value($0, of: volumes[$0.volume])) })
  }

  private func noteStored(isForeign: Bool) {
    let reader = scene.container.newContext()
    for place in places {
      guard let volume = try? reader.existingObject(with: volumes[place.volume].objectID) as? UndoVolume
      else { return expect(false, "volume \(place.volume) has no row") }
      let value = value(place, of: volume)
      if stored[place]?.value != value { stored[place] = (value, isForeign) }
    }
  }

  // MARK: Steps

  private func set(_ volume: UndoVolume, _ who: String) {
    let place = random.pick(places.filter { $0.volume == 0 })
    trace.append("\(who) sets \(place.property) of \(volume.objectID) to \(nextNumber)")
    switch place.property {
    case "title": volume.title = "\(nextNumber)"
    case "pages": volume.pages = Int64(nextNumber)
    default: volume.note = "\(nextNumber)"
    }
    nextNumber += 1
  }

  private func edit() {
    context.undoGroup("group") {
      for _ in 0..<Int.random(in: 1...2, using: &random) { set(random.pick(volumes), "the context") }
    }
  }

  private func saveOther() throws {
    other.refreshAllObjects()
    guard let volume = try other.existingObject(with: random.pick(volumes).objectID) as? UndoVolume else {
      return
    }
    set(volume, "another context")
    try other.save()
  }

  private func merge() {
    trace.append("a merge")
    let (before, old) = (shown(), stored)
    if random.chance(50) {
      context.refreshAllObjects()
    } else {
      context.refresh(volumes[0], mergeChanges: true)
    }
    noteStored(isForeign: true)
    for (place, shown) in before {
      guard let old = old[place]?.value, let saved = stored[place]?.value else { continue }
      if shown != old, saved != old, saved != shown { replaced[place, default: []].insert(old) }
    }
  }

  private func save() throws {
    merge()
    context.refreshAllObjects()
    trace.append("a save")
    try context.save()
    noteStored(isForeign: false)
    replaced = [:]
  }

  private enum Direction { case undo, redo }

  private func takeBack(_ direction: Direction) throws {
    let before = shown()
    trace.append("\(direction)")
    do throws(PerdureError) {
      direction == .undo ? try context.undo() : try context.redo()
    } catch {
      return try resolve(error, before, direction)
    }
    for (place, value) in shown() where value != before[place] {
      trace.append("  \(place.property) of \(volumes[place.volume].objectID) is \(value)")
      expect(
        stored[place]?.value == value || replaced[place]?.contains(value) != true,
        "\(direction) has replaced the saved value of \(place) by \(value)")
    }
  }

  /// Checks that a conflict has a cause, and keeps the current values.
  private func resolve(_ error: PerdureError, _ before: [Place: Value], _ direction: Direction) throws {
    expect(error.code == .undoConflict, "\(error)")
    expect(shown() == before, "a refused \(direction) has changed something")
    for conflict in error.undoConflicts {
      guard let number = volumes.firstIndex(where: { $0.objectID == conflict.objectID }) else {
        return expect(false, "a conflict of another object")
      }
      let place = Place(volume: number, property: conflict.property)
      let isHidden = stored[place]?.isForeign == true && stored[place]?.value == conflict.current
      let isChanged = before[place] == conflict.current
      expect(
        isChanged && conflict.current != conflict.after
          || isHidden && replaced[place]?.contains(conflict.before) == true,
        "\(conflict) has no cause")
    }
    trace.append("\(direction), keeping current values")
    direction == .undo ? try context.undo(.keepCurrent) : try context.redo(.keepCurrent)
  }
}
