import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("The stacks of undo groups")
struct UndoHistoryTests {
  private static let reference = ObjectReference(entity: 1, id: 1)

  private func group(_ number: UInt64, length: Int = 0) -> UndoGroup {
    let change = UndoGroup.Change(
      place: .column(Self.reference, slot: 0), before: .value(.null),
      after: .value(.string(String(repeating: "x", count: length))))
    return UndoGroup(name: "\(number)", changes: [change], number: number)
  }

  private func numbers(
    _ history: UndoHistory, _ direction: UndoHistory.Direction
  ) -> [UInt64] {
    var (history, found) = (history, [UInt64]())
    while let group = history.removeLast(direction) { found.append(group.number) }
    return found.reversed()
  }

  @Test("Above the maximum number, the oldest undo groups are removed first, then redo groups")
  func levels() {
    var history = UndoHistory(levelsMax: 3, byteCountMax: 0)
    for number in 1...4 { history.add(group(UInt64(number)), savedPart: nil) }
    #expect(numbers(history, .undo) == [2, 3, 4])
    for number in 5...6 {
      _ = history.removeLast(.undo)
      history.put(group(UInt64(number)), .redo)
    }
    #expect(numbers(history, .undo) == [2] && numbers(history, .redo) == [5, 6])
    history.levelsMax = 1
    #expect(numbers(history, .undo) == [] && numbers(history, .redo) == [6])
  }

  @Test("Above the maximum size, the oldest groups are removed, even after other removals")
  func bytes() {
    let size = group(1, length: 1000).byteCount
    var history = UndoHistory(levelsMax: 0, byteCountMax: 3 * size)
    for number in 1...3 { history.add(group(UInt64(number), length: 1000), savedPart: nil) }
    _ = history.removeLast(.undo)
    history.put(group(4, length: 1000), .redo)
    history.add(group(5, length: 1000), savedPart: nil)
    #expect(numbers(history, .undo) == [1, 2, 5] && numbers(history, .redo) == [])
    history.add(group(6, length: 1000), savedPart: nil)
    #expect(numbers(history, .undo) == [2, 5, 6])
    history.byteCountMax = size
    #expect(numbers(history, .undo) == [6])
  }

  @Test("A rollback restores the stacks of the last save, without groups that the limits removed")
  func rollback() {
    var history = UndoHistory(levelsMax: 3, byteCountMax: 0)
    for number in 1...2 { history.add(group(UInt64(number)), savedPart: nil) }
    _ = history.removeLast(.undo)
    history.put(group(3), .redo)
    history.didSave()
    history.add(group(4), savedPart: nil)
    history.rollBack()
    #expect(numbers(history, .undo) == [1] && numbers(history, .redo) == [3])
    for number in 5...8 { history.add(group(UInt64(number)), savedPart: nil) }
    history.rollBack()
    #expect(numbers(history, .undo) == [] && numbers(history, .redo) == [3])
  }

  @Test("A rollback keeps a group that was saved inside its closure")
  func saved() {
    var history = UndoHistory(levelsMax: 0, byteCountMax: 0)
    history.add(group(1), savedPart: nil)
    history.didSave()
    history.add(group(2), savedPart: group(2))
    history.add(group(3), savedPart: nil)
    history.rollBack()
    #expect(numbers(history, .undo) == [1, 2])
  }

  @Test("A group that loses all of its changes is removed")
  func emptied() {
    var history = UndoHistory(levelsMax: 0, byteCountMax: 0)
    for number in 1...3 { history.add(group(UInt64(number)), savedPart: nil) }
    history.setChanges([], ofGroup: 2, before: [])
    #expect(numbers(history, .undo) == [1, 3] && history.brokenInvariants == [])
    history.setChanges([], ofGroup: 9, before: [])
    #expect(numbers(history, .undo) == [1, 3])
  }

  @Test("A new reference of an object replaces the old one in all groups, also in those of the last save")
  func renamed() throws {
    let other = ObjectReference(entity: 2, id: 7)
    var history = UndoHistory(levelsMax: 0, byteCountMax: 0)
    history.add(group(1), savedPart: nil)
    history.didSave()
    let graph = try Staff.container().newContext().core.graph
    history.rename(ReferenceChange(old: Self.reference, new: other, graph: graph))
    #expect(history.last(.undo)?.changes[0].place == .column(other, slot: 0))
    history.rollBack()
    #expect(history.last(.undo)?.changes[0].place == .column(other, slot: 0))
  }

  @Test("The size is right after a rollback, and after all groups were removed")
  func sizes() {
    let size = group(1, length: 1000).byteCount
    var history = UndoHistory(levelsMax: 0, byteCountMax: 3 * size)
    history.add(group(1, length: 1000), savedPart: nil)
    history.didSave()
    for number in 2...3 { history.add(group(UInt64(number), length: 1000), savedPart: nil) }
    history.rollBack()
    for number in 4...5 { history.add(group(UInt64(number), length: 1000), savedPart: nil) }
    #expect(numbers(history, .undo) == [1, 4, 5])
    history.removeAll()
    for number in 6...8 { history.add(group(UInt64(number), length: 1000), savedPart: nil) }
    #expect(numbers(history, .undo) == [6, 7, 8])
  }

  @Test("A rollback applies limits that were lowered since the save")
  func lowered() {
    var history = UndoHistory(levelsMax: 3, byteCountMax: 0)
    for number in 1...3 { history.add(group(UInt64(number)), savedPart: nil) }
    history.didSave()
    for number in 4...6 {
      _ = history.removeLast(.undo)
      history.put(group(UInt64(number)), .redo)
    }
    history.add(group(7), savedPart: nil)
    history.levelsMax = 2
    history.rollBack()
    #expect(numbers(history, .undo) == [2, 3])
  }

  @Test("A rollback does not restore groups to redo that a lower limit has removed")
  func removedRedo() {
    var history = UndoHistory(levelsMax: 2, byteCountMax: 0)
    for number in 1...2 { history.put(group(UInt64(number)), .redo) }
    history.didSave()
    history.levelsMax = 1
    history.levelsMax = 0
    history.rollBack()
    #expect(numbers(history, .redo) == [2])
  }

  @Test("The size of a group includes its name, its places and their values")
  func groupSize() {
    let link = UndoGroup.Change(
      place: .link(Self.reference, slot: 0, Self.reference), before: .absent, after: .linked)
    let sizes = [0, 1, 2].map { count in
      UndoGroup(name: "", changes: [UndoGroup.Change](repeating: link, count: count), number: 1).byteCount
    }
    #expect(sizes[0] == 0 && sizes[1] > 0 && sizes[2] == 2 * sizes[1])
    #expect(UndoGroup(name: "abc", changes: [], number: 1).byteCount == 3)
    let text = Value.string(String(repeating: "x", count: 1000))
    for (before, after) in [(text, Value.null), (.null, text)] {
      let change = UndoGroup.Change(
        place: .column(Self.reference, slot: 0), before: .value(before), after: .value(after))
      #expect(change.byteCount > 1000)
    }
  }
}

@Suite("Open undo groups")
struct OpenUndoGroupTests {
  private let object = ObjectReference(entity: 1, id: 1)

  /// The contents by place. All other places are `.absent`.
  private struct Reader: EditedContentReader {
    var now: [EditedPlace: Int64] = [:]
    var stored: [EditedPlace: Int64] = [:]

    func content(of place: EditedPlace) -> EditedContent {
      now[place].map { .value(.integer($0)) } ?? .absent
    }
    func storedContent(of place: EditedPlace) -> EditedContent? {
      stored[place].map { .value(.integer($0)) } ?? .absent
    }
  }

  private func values(_ group: OpenUndoGroup) -> [[Int64?]] {
    group.changes().map { change in
      [change.before, change.after].map { if case .value(.integer(let value)) = $0 { value } else { nil } }
    }
  }

  @Test("A group has the contents of a place before the first edit and after the last edit")
  func once() {
    let (group, place) = (OpenUndoGroup(name: ""), EditedPlace.column(object, slot: 0))
    group.note(place) { .stored }
    group.note(place) { .value(.integer(2)) }
    group.readContents(Reader(now: [place: 3], stored: [place: 1]))
    #expect(values(group) == [[1, 3]])
  }

  @Test("A place whose content is the same before and after is not in the group")
  func unchanged() {
    let (group, place) = (OpenUndoGroup(name: ""), EditedPlace.column(object, slot: 0))
    group.note(place) { .stored }
    group.readContents(Reader(now: [place: 1], stored: [place: 1]))
    #expect(values(group) == [])
  }

  @Test("Edits by others after a group's last edit do not belong to it, unless it edits the place again")
  func sealed() {
    let (group, place) = (OpenUndoGroup(name: ""), EditedPlace.column(object, slot: 0))
    group.note(place) { .value(.integer(1)) }
    group.seal(place) { .value(.integer(2)) }
    group.seal(place) { .value(.integer(3)) }
    group.readContents(Reader(now: [place: 4]))
    #expect(values(group) == [[1, 2]])
    group.note(place) { .value(.integer(4)) }
    group.readContents(Reader(now: [place: 5]))
    #expect(values(group) == [[1, 5]])
  }

  @Test("A group does not have the columns of an object that it has inserted")
  func inserted() {
    let group = OpenUndoGroup(name: "")
    group.note(.object(object)) { .absent }
    group.note(.column(object, slot: 0)) { .value(.integer(1)) }
    let (place, contents) = (EditedPlace.object(object), Reader(now: [.object(object): 1]))
    group.readContents(contents)
    #expect(group.changes().map(\.place) == [place] && group.hasInserted(object))
  }

  @Test("In a reopened group, a further edit of a place changes only the content after the last edit")
  func continued() {
    let (group, place) = (OpenUndoGroup(name: "A"), EditedPlace.column(object, slot: 0))
    group.note(place) { .value(.integer(1)) }
    group.readContents(Reader(now: [place: 2]))
    let again = OpenUndoGroup(
      continuing: UndoGroup(name: "A", changes: group.changes(), number: 1))
    again.readContents(Reader(now: [place: 9]))
    #expect(values(again) == [[1, 2]] && again.name == "A")
    again.note(place) { .value(.integer(2)) }
    again.readContents(Reader(now: [place: 3]))
    #expect(values(again) == [[1, 3]])
  }

  @Test("The columns of an object that a group has removed and restored are recorded as usual")
  func restored() {
    let group = OpenUndoGroup(name: "")
    let (title, pages) = (EditedPlace.column(object, slot: 0), EditedPlace.column(object, slot: 1))
    let other = ObjectReference(entity: 1, id: 2)
    group.note(.object(other)) { .absent }
    group.note(.object(object)) { .value(.integer(1)) }
    #expect(group.hasInserted(other) && !group.hasInserted(object))
    group.note(title) { .value(.integer(2)) }
    group.note(pages) { .value(.integer(3)) }
    group.readContents(Reader(now: [.object(object): 1, .object(other): 1, title: 4, pages: 3]))
    #expect(group.changes().map(\.place) == [.object(other), title])
  }
}
