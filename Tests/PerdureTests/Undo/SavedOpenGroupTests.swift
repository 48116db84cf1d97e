// Groups that stay open while their edits are saved.

import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

/// Contents that a test sets, and the number of reads.
private final class CountingReader: EditedContentReader {
  var now: [EditedPlace: Int64] = [:]
  private(set) var readCount = 0

  func content(of place: EditedPlace) -> EditedContent {
    readCount += 1
    return .value(.integer(now[place, default: 0]))
  }

  func storedContent(of place: EditedPlace) -> EditedContent? { content(of: place) }
}

@Suite("Undo groups that stay open during saves")
struct SavedOpenGroupTests {
  private let group = OpenUndoGroup(name: "")
  private let reader = CountingReader()

  private func place(_ id: UInt64) -> EditedPlace {
    .column(ObjectReference(entity: 1, id: id), slot: 0)
  }

  private func edit(_ id: UInt64, _ value: Int64) {
    let old = reader.now[place(id), default: 0]
    group.note(place(id)) { .value(.integer(old)) }
    reader.now[place(id)] = value
  }

  /// The values before and after, by the object's number.
  private func values(_ changes: [UndoGroup.Change]) -> [UInt64: [Int64?]] {
    let pairs = changes.map { change in
      (
        change.place.owner.id,
        [change.before, change.after].map { content -> Int64? in
          if case .value(.integer(let value)) = content { value } else { nil }
        }
      )
    }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  @Test("A save reads only the places that were edited since the last save")
  func costs() {
    for id in 0..<500 { edit(UInt64(id), 1) }
    group.didSave(reader)
    for round in 1...20 {
      let before = reader.readCount
      edit(UInt64(round), 2)
      group.didSave(reader)
      #expect(reader.readCount == before + 1)
      #expect(group.brokenInvariants == [])
    }
    #expect(values(group.savedChanges())[20] == [0, 2] && group.savedChanges().count == 500)
  }

  @Test("A rollback restores a group's edits as of the last save, even for places that were set back since")
  func rollback() {
    for id in 1...3 { edit(UInt64(id), 1) }
    group.didSave(reader)
    edit(1, 0)
    edit(2, 5)
    edit(4, 7)
    group.readContents(reader)
    #expect(group.brokenInvariants == [])
    #expect(values(group.changes()) == [2: [0, 5], 3: [0, 1], 4: [0, 7]])
    edit(1, 9)
    group.readContents(reader)
    #expect(values(group.changes())[1] == [0, 9])
    group.rollBack()
    #expect(group.brokenInvariants == [])
    let saved: [UInt64: [Int64?]] = [1: [0, 1], 2: [0, 1], 3: [0, 1]]
    #expect(values(group.changes()) == saved && values(group.savedChanges()) == saved)
  }

  @Test("If a save stores an edit and a later save stores the earlier value again, the group has no changes")
  func savedBack() {
    for round in 1...200 {
      edit(1, Int64(round))
      group.didSave(reader)
      edit(1, 0)
      group.didSave(reader)
      #expect(group.brokenInvariants == [])
    }
    #expect(group.isSaved && group.changes().isEmpty && group.savedChanges().isEmpty)
  }

  @Test("Random edits, saves and rollbacks give the same groups as a comparison of all places")
  func random() {
    var generator = SeededGenerator.forTest("edits of an open undo group")
    for run in 0..<LongRun.count(40, of: 60) {
      let test = SavedOpenGroupTests()
      var (saved, isSaved): ([UInt64: Int64], Bool) = ([:], false)
      for step in 0..<60 {
        let id = UInt64.random(in: 0..<6, using: &generator)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0...5: test.edit(id, Int64.random(in: 0..<3, using: &generator))
        case 6: test.group.readContents(test.reader)
        case 7, 8:
          test.group.didSave(test.reader)
          for id in 0..<6 { saved[UInt64(id)] = test.reader.now[test.place(UInt64(id))] }
          isSaved = test.group.isSaved
        default:
          guard isSaved else { continue }
          test.group.rollBack()
          for id in 0..<6 { test.reader.now[test.place(UInt64(id))] = saved[UInt64(id)] }
        }
        let copy = test.group.copy
        test.group.readContents(test.reader)
        #expect(test.group.brokenInvariants == [], "run \(run), step \(step)")
        var expected: [UInt64: [Int64?]] = [:]
        for id in 0..<6 {
          let now = test.reader.now[test.place(UInt64(id)), default: 0]
          if now != 0 { expected[UInt64(id)] = [0, now] }
        }
        #expect(test.values(test.group.changes()) == expected, "run \(run), step \(step)")
        let expectedSaved = isSaved ? saved.filter { $0.value != 0 }.mapValues { [0, Optional($0)] } : [:]
        #expect(test.values(test.group.savedChanges()) == expectedSaved, "run \(run), step \(step)")
        test.group.restore(copy)
      }
    }
  }
}
