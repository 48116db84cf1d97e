// Random edits of values of all kinds, undone and redone at random: attributes, composite and
// transient attributes, ordered and one-to-one relationships, insertions and deletions. The test
// reads the whole content through the public interface at the end of each group, and compares it
// after each undo and redo. The instances stay in memory, because transient values exist only with
// them.

import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Random undo and redo of values of all kinds")
struct RandomUndoValuesTests {
  @Test("Undo and redo restore attributes, composites, transients, links and positions, across saves")
  func random() throws {
    var random = SeededGenerator.forTest("random undo of values")
    let stepCount = 100
    for _ in 0..<LongRun.count(15, of: stepCount) {
      guard try expectSteps(stepCount, &random, begin: { try RandomDesk($0) }) else { return }
    }
  }
}

/// The content of all objects, as lines of text by number.
private typealias Content = [Int: String]

private final class RandomDesk: SteppedRun {
  private struct Group {
    let before: Content
    let after: Content
  }

  private struct Stacks {
    var undo: [Group] = []
    var redo: [Group] = []
  }

  private let scene: UndoScene
  var random: SeededGenerator
  private var objects: [ManagedObject] = []
  private var numbers: [ObjectIdentifier: Int] = [:]
  private var stacks = Stacks()
  private var savedStacks = Stacks()
  private var savedContent: Content = [:]
  private var trace: [String] = []
  private(set) var failure: StepFailure?

  init(_ random: SeededGenerator) throws {
    scene = try UndoScene()
    scene.manager.levelsOfUndo = 0
    self.random = random
  }

  private var context: ManagedObjectContext { scene.context }

  func step() {
    do { try makeStep() } catch { expect(false, "\(error)") }
    expect(scene.manager.brokenInvariants.isEmpty, "\(scene.manager.brokenInvariants)")
  }

  private func makeStep() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<45: edit()
    case 45..<63: try takeBack(.undo)
    case 63..<80: try takeBack(.redo)
    case 80..<93: try save()
    default: rollBack()
    }
  }

  private func note(_ text: String) { trace.append(text) }

  private func expect(_ holds: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
    if holds || failure != nil { return }
    failure = StepFailure(what(), after: trace, line: line)
  }

  // MARK: Content

  private func number(_ object: ManagedObject?) -> String {
    object.flatMap { numbers[ObjectIdentifier($0)] }.map(String.init) ?? "-"
  }

  private func isHere(_ object: ManagedObject) -> Bool {
    object.managedObjectContext === context && !object.isDeleted
  }

  private func content() -> Content {
    var content: Content = [:]
    for (number, object) in objects.enumerated() where isHere(object) { content[number] = text(of: object) }
    return content
  }

  private func text(of object: ManagedObject) -> String {
    switch object {
    case let shelf as UndoShelf:
      "shelf \(shelf.name) \(shelf.volumes.map { number($0) }) \(shelf.volumeCount)"
    case let mark as UndoMark:
      "mark \(mark.label ?? "-") \(mark.volumes.map { number($0) }.sorted()) \(number(mark.favourite))"
    case let volume as UndoVolume:
      "volume \(volume.title) \(volume.pages) \(volume.format) \(volume.note ?? "-") "
        + "\(number(volume.shelf)) \(volume.marks.map { number($0) }.sorted()) "
        + "\(number(volume.sequel)) \(number(volume.prequel)) "
        + "\(volume.mood ?? "-") \(number(volume.companion as? ManagedObject))"
    default: "?"
    }
  }

  private func check(_ expected: Content, _ what: String) {
    let found = content()
    expect(
      found == expected,
      "\(what): \(difference(found, expected).joined(separator: "; "))")
  }

  private func difference(_ found: Content, _ expected: Content) -> [String] {
    Set(found.keys).union(expected.keys).sorted().compactMap { number in
      found[number] == expected[number]
        ? nil : "\(number) is '\(found[number] ?? "")', not '\(expected[number] ?? "")'"
    }
  }

  // MARK: Steps

  private func edit() {
    let before = content()
    let count = scene.manager.undoCount
    note("a group begins")
    context.undoGroup("group") {
      for _ in 0..<Int.random(in: 1...5, using: &random) { makeEdit() }
    }
    let after = content()
    let made = scene.manager.undoCount - count
    if made == 0 { return expect(before == after, "edits made no group: \(difference(after, before))") }
    stacks.undo.append(Group(before: before, after: after))
    stacks.redo = []
  }

  private func takeBack(_ direction: UndoDirection) throws {
    let group = direction == .undo ? stacks.undo.popLast() : stacks.redo.popLast()
    note("\(direction) of \(group == nil ? "nothing" : "a group")")
    direction == .undo ? try context.undo() : try context.redo()
    guard let group else { return }
    if direction == .undo { stacks.redo.append(group) } else { stacks.undo.append(group) }
    check(direction == .undo ? group.before : group.after, "after the \(direction)")
  }

  private enum UndoDirection { case undo, redo }

  private func save() throws {
    let before = content()
    note("a save")
    try context.save()
    check(before, "after the save")
    savedContent = content()
    savedStacks = stacks
  }

  private func rollBack() {
    note("a rollback")
    context.rollback()
    stacks = savedStacks
    check(savedContent, "after the rollback")
  }

  // MARK: Edits

  private func pick<Object: ManagedObject>(_ type: Object.Type) -> Object? {
    let found = objects.compactMap { $0 as? Object }.filter(isHere)
    return found.isEmpty ? nil : random.pick(found)
  }

  private func add(_ object: ManagedObject) {
    numbers[ObjectIdentifier(object)] = objects.count
    note("inserts \(objects.count)")
    objects.append(object)
  }

  private func makeEdit() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<8: add(UndoVolume(context: context))
    case 8..<12: add(UndoShelf(context: context))
    case 12..<16: add(UndoMark(context: context))
    case 16..<24: delete()
    case 24..<70: if let volume = pick(UndoVolume.self) { change(volume) }
    case 70..<85: if let shelf = pick(UndoShelf.self) { change(shelf) }
    default: if let mark = pick(UndoMark.self) { change(mark) }
    }
  }

  private func delete() {
    guard let object = pick(ManagedObject.self) else { return }
    note("deletes \(number(object))")
    context.delete(object)
    // Applies the delete rules now, so that no object stays linked to the deleted one.
    context.processPendingChanges()
  }

  private func change(_ volume: UndoVolume) {
    let value = Int.random(in: 0..<3, using: &random)
    let choice = Int.random(in: 0..<9, using: &random)
    note("changes \(number(volume)), \(choice) to \(value)")
    switch choice {
    case 0: volume.title = "t\(value)"
    case 1: volume.pages = Int64(value)
    case 2: volume.format = VolumeFormat(width: value, height: random.chance(50) ? 1 : 2)
    case 3: volume.note = value == 0 ? nil : "n\(value)"
    case 4: volume.mood = value == 0 ? nil : "m\(value)"
    case 5: volume.companion = value == 0 ? nil : pick(UndoVolume.self)
    case 6: volume.shelf = value == 0 ? nil : pick(UndoShelf.self)
    case 7: volume.sequel = value == 0 ? nil : pick(UndoVolume.self)
    default:
      guard let mark = pick(UndoMark.self) else { return }
      if value == 0 { volume.marks.remove(mark) } else { volume.marks.insert(mark) }
    }
  }

  private func change(_ shelf: UndoShelf) {
    note("changes shelf \(number(shelf))")
    shelf.name = random.chance(30) ? "s\(Int.random(in: 0..<3, using: &random))" : shelf.name
    guard let volume = pick(UndoVolume.self) else { return }
    let volumes = shelf.volumes
    if let place = volumes.firstIndex(of: volume), volumes.count > 1 {
      shelf.volumes.move(from: place, to: Int.random(in: 0..<volumes.count, using: &random))
    } else if !volumes.contains(volume) {
      shelf.volumes.insert(volume, at: Int.random(in: 0...volumes.count, using: &random))
    }
  }

  private func change(_ mark: UndoMark) {
    note("changes mark \(number(mark))")
    if random.chance(30) { mark.label = random.chance(30) ? nil : "l\(number(mark)) \(random.next() % 3)" }
    if random.chance(50) { mark.favourite = random.chance(30) ? nil : pick(UndoVolume.self) }
    mark.volumes = ToMany(objects.compactMap { $0 as? UndoVolume }.filter { isHere($0) && random.chance(30) })
  }
}
