import Testing

@testable import Perdure

@Entity private final class Record: ManagedObject {
  var title: String = ""
  var key: String = ""
  var saveCount: Int = 0
  var countsSaves: Bool = false
  var dropsTracks: Bool = false
  @Relationship(inverse: "record") var tracks: ToMany<Track>

  override func willSave() {
    if isDeleted { return }
    if key != title.lowercased() { key = title.lowercased() }
    if dropsTracks { for track in tracks { managedObjectContext?.delete(track) } }
    if countsSaves, changedValues()["saveCount"] == nil { saveCount += 1 }
  }
}

@Entity private final class Track: ManagedObject {
  var title: String = ""
  var total: Int = 0
  @Relationship(inverse: "tracks") var record: Record?

  override func willSave() {
    guard !isDeleted, let record, record.saveCount != total else { return }
    total = record.saveCount
  }
}

/// HookGroups.swift.
@Suite("Undo of edits by save hooks, in the groups of their objects")
struct UndoHookOwnerTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let manager = ContextUndoManager()
  private let record: Record
  private let track: Track

  init() throws {
    container = try PersistentContainer(
      name: "Records", classes: [Record.self, Track.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    (record, track) = (Record(context: context), Track(context: context))
    record.title = "A"
    try context.save()
    context.undoManager = manager
  }

  private func conflictsOfUndo() -> [UndoConflict] {
    undoConflicts { () throws(PerdureError) in try context.undo() }
  }

  @Test("An insertion whose hook runs after the undo of a later group is undone without a conflict")
  func insertion() throws {
    var added: Record?
    context.undoGroup("New") {
      added = Record(context: context)
      added?.title = "N"
    }
    context.undoGroup("Rename") { track.title = "two" }
    try context.undo()
    try context.save()
    let new = try #require(added)
    #expect(new.key == "n")
    #expect(conflictsOfUndo().isEmpty && new.isDeleted)
    try context.redo()
    #expect(!new.isDeleted && new.title == "N" && new.key == "n")
    try context.redo()
    #expect(track.title == "two" && manager.undoCount == 2)
  }

  @Test("The redo of a group does not revert edits by the hook of an object that it has not changed")
  func redo() throws {
    context.undoGroup("Rename") { record.title = "TWO" }
    context.undoGroup("Rate") { track.title = "rated" }
    try context.undo()
    try context.save()
    try context.redo()
    #expect(record.title == "TWO" && record.key == "two" && track.title == "rated")
    #expect(!record.hasChanges)
    try context.undo()
    try context.undo()
    #expect(record.title == "A" && record.key == "a")
  }

  @Test("Groups of one object are undone in turn, with a save after each step", arguments: [false, true])
  func inTurn(_ savesBetween: Bool) throws {
    context.undoGroup("One") { record.title = "ONE" }
    try context.save()
    context.undoGroup("Two") { record.title = "TWO" }
    context.undoGroup("Rate") { track.title = "rated" }
    for title in ["TWO", "ONE", "A"] {
      #expect(conflictsOfUndo().isEmpty && record.title == title)
      if savesBetween || title == "TWO" { try context.save() }
      #expect(record.key == title.lowercased() || !savesBetween)
    }
    for title in ["ONE", "TWO"] {
      try context.redo()
      if savesBetween { try context.save() }
      #expect(record.title == title && (record.key == title.lowercased() || !savesBetween))
    }
  }

  @Test("An edit by the hook of an object that only withoutUndo has changed cannot be undone")
  func excluded() throws {
    context.undoGroup("Rate") { track.title = "rated" }
    context.withoutUndo { record.title = "W" }
    try context.save()
    #expect(record.key == "w")
    #expect(conflictsOfUndo().isEmpty && record.title == "W" && record.key == "w")
  }

  @Test("A value that each save changes conflicts with neither the next undo nor the next redo")
  func everySave() throws {
    context.withoutUndo { record.countsSaves = true }
    try context.save()
    context.undoGroup("One") { record.title = "ONE" }
    try context.save()
    context.undoGroup("Two") { record.title = "TWO" }
    try context.save()
    #expect(record.saveCount == 3)
    try context.undo()
    try context.save()
    #expect(conflictsOfUndo().isEmpty && record.title == "A" && record.saveCount == 1)
    try context.save()
    for title in ["ONE", "TWO"] {
      let found = undoConflicts { () throws(PerdureError) in try context.redo() }
      #expect(found.isEmpty && record.title == title)
      try context.save()
    }
  }

  @Test("An edit of another object belongs to the group of the object whose hook has made it")
  func otherObject() throws {
    context.undoGroup("Link") { track.record = record }
    context.undoGroup("Count") { record.countsSaves = true }
    try context.save()
    #expect(track.total == 1)
    context.undoGroup("Rate") { track.title = "rated" }
    while manager.canUndo { #expect(conflictsOfUndo().isEmpty) }
    #expect(record.saveCount == 0 && track.record == nil && track.total == 0 && track.title == "")
  }

  @Test("A hook's deletion and the edits of all hooks are undone with the group of their objects")
  func deletion() throws {
    let records = (0..<4).map { _ in Record(context: context) }
    for record in records { record.tracks.insert(Track(context: context)) }
    try context.save()
    manager.removeAllActions()
    context.undoGroup("Drop") {
      for (number, record) in records.enumerated() {
        (record.title, record.dropsTracks) = ("R\(number)", number % 2 == 0)
      }
    }
    context.undoGroup("Rate") { track.title = "rated" }
    try context.save()
    #expect(records.map(\.tracks.count) == [0, 1, 0, 1] && records.map(\.key) == ["r0", "r1", "r2", "r3"])
    try context.undo()
    #expect(conflictsOfUndo().isEmpty && !manager.canUndo)
    #expect(records.map(\.tracks.count) == [1, 1, 1, 1] && records.allSatisfy { $0.key.isEmpty })
    try context.save()
    try context.redo()
    #expect(records.map(\.tracks.count) == [0, 1, 0, 1] && records.map(\.key) == ["r0", "r1", "r2", "r3"])
    #expect(manager.brokenInvariants == [])
  }

  @Test("A group is removed if the hook of its object reverts all of its changes")
  func reverted() throws {
    context.undoGroup("Key") { record.key = "other" }
    #expect(manager.undoCount == 1)
    try context.save()
    #expect(record.key == "a" && manager.undoCount == 0)
  }
}
