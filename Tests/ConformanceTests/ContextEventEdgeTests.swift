import Perdure
import PerdureTestSupport
import Testing

// Behaviours C1, X10, X11 and X16 of Core Data (README.md): `detectConflicts(for:)`, and the events
// of a context that had no observer for a while, was partly refreshed, or was pinned.

@Entity private final class Letter: ManagedObject {
  var text: String?
  @Attribute(.transient) var mark: Int = 0
  @Relationship(inverse: "letters") var author: Author?
}

@Entity private final class Author: ManagedObject {
  var name: String?
  @Relationship(inverse: "author") var letters: ToMany<Letter>
}

@Suite("Edge cases of a context's events")
struct ContextEventEdgeTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try Sandbox(Letter.self, Author.self).container
    context = container.newContext()
  }

  private final class Diary {
    var notes: [ContextNotification] = []
    func take() -> [ContextNotification] {
      defer { notes = [] }
      return notes
    }
  }

  private func diary() -> (Diary, ContextObservation) {
    let diary = Diary()
    return (diary, context.observe { diary.notes.append($0) })
  }

  private func stored(_ text: String = "old") throws -> Letter {
    let letter = Letter(context: context)
    letter.text = text
    try context.save()
    return letter
  }

  @Test("X10 If a reported new object is saved while no observer exists, it is not reported as deleted")
  func savedUnobserved() throws {
    let first = diary()
    let letter = Letter(context: context)
    context.processPendingChanges()
    #expect(first.0.take().map(\.insertedObjects) == [[letter]])
    first.1.cancel()
    try context.save()
    let (diary, observation) = diary()
    context.processPendingChanges()
    #expect(diary.notes.isEmpty)
    letter.text = "new"
    context.processPendingChanges()
    let notes = diary.take()
    #expect(notes.map(\.updatedObjects) == [[letter]] && notes.allSatisfy { $0.deletedObjects.isEmpty })
    withExtendedLifetime(observation) {}
  }

  @Test("X10 An object that was deleted, restored by a refresh and deleted again is reported twice")
  func deletedTwice() throws {
    let letter = try stored()
    let (diary, observation) = diary()
    for _ in 0..<2 {
      context.delete(letter)
      context.processPendingChanges()
      #expect(diary.take().map(\.deletedObjects) == [[letter]])
      context.refresh(letter, mergeChanges: false)
      #expect(diary.take().map(\.refreshedObjects) == [[letter]])
    }
    withExtendedLifetime(observation) {}
  }

  @Test("X10 Assigning a reported object to another store reports no insertion and no deletion")
  func assigned() throws {
    let container = try Library.container("Books", "Archive")
    let context = container.newContext()
    let diary = Diary()
    let observation = context.observe { diary.notes.append($0) }
    let book = context.book("b")
    context.processPendingChanges()
    #expect(diary.take().map(\.insertedObjects) == [[book]])
    try context.assign(book, to: container.persistentStores[1])
    context.processPendingChanges()
    #expect(diary.take().allSatisfy { $0.insertedObjects.isEmpty && $0.deletedObjects.isEmpty })
    context.delete(book)
    context.processPendingChanges()
    #expect(diary.take().map(\.deletedObjects) == [[book]])
    withExtendedLifetime(observation) {}
  }

  @Test("X10 A rollback reports a new object as deleted if it was reported as inserted")
  func takenBack() throws {
    let (diary, observation) = diary()
    let letter = Letter(context: context)
    context.processPendingChanges()
    _ = diary.take()
    context.delete(letter)
    context.rollback()
    #expect(diary.take().map(\.deletedObjects) == [[letter]])
    context.processPendingChanges()
    #expect(diary.notes.isEmpty)
    withExtendedLifetime(observation) {}
  }

  private final class Owner {
    var observation: ContextObservation?
  }

  @Test("X11 If each observer retains the next one, all are released with the context")
  func owners() throws {
    weak var last: Owner?
    do {
      let context = container.newContext()
      let letter = Letter(context: context)
      let (outer, inner) = (Owner(), Owner())
      inner.observation = context.observe { _ in }
      outer.observation = context.observe { [inner] _ in _ = inner }
      let third = context.observe { [outer] _ in _ = outer }
      context.processPendingChanges()
      last = inner
      withExtendedLifetime((letter, third)) {}
    }
    #expect(last == nil)
  }

  @Test("X11 A sequence ends with the context, although objects of the context are retained")
  func endOfSequence() async throws {
    var context: ManagedObjectContext? = container.newContext()
    let letter = try #require(context.map { Letter(context: $0) })
    let stream = try #require(context?.events())
    context?.processPendingChanges()
    context = nil
    var kinds: [ContextEventKind] = []
    for await event in stream { kinds.append(event.kind) }
    #expect(kinds == [.objectsDidChange])
    withExtendedLifetime(letter) {}
  }

  @Test("X16 A background context that is no longer pinned merges earlier and later saves")
  func unpinned() async throws {
    let letter = try stored()
    let id = letter.objectID
    let background = container.newBackgroundContext()
    try await background.perform { context in
      context.automaticallyMergesChangesFromParent = true
      try context.setQueryGeneration(from: .current)
    }
    var events = background.events().makeAsyncIterator()
    letter.text = "one"
    try context.save()
    // Waits until the context has skipped the automatic merge, because it is pinned.
    try background.performAndWait { _ in }
    try await background.perform { try $0.setQueryGeneration(from: nil) }
    #expect(await events.next()?.updatedObjectIDs == [id])
    letter.text = "two"
    try context.save()
    #expect(await events.next()?.updatedObjectIDs == [id])
    try background.performAndWait { $0.automaticallyMergesChangesFromParent = false }
  }

  @Test("X16 A merge ends the pending deletion of an object that another context deleted")
  func removedTwice() throws {
    let letter = try stored()
    let other = container.newContext()
    other.automaticallyMergesChangesFromParent = true
    other.delete(other.object(with: letter.objectID))
    other.processPendingChanges()
    context.delete(letter)
    try context.save()
    other.processPendingChanges()
    #expect(!other.hasChanges)
    try other.save()
  }

  @Test("X16 A merge of several saves is reported once, without objects that they inserted and deleted")
  func folded() throws {
    let letter = try stored()
    let other = container.newContext()
    other.automaticallyMergesChangesFromParent = true
    let diary = Diary()
    let observation = other.observe { diary.notes.append($0) }
    let passing = try stored("passing")
    letter.text = "new"
    try context.save()
    context.delete(passing)
    try context.save()
    let kept = try stored("kept")
    kept.text = "changed"
    try context.save()
    other.processPendingChanges()
    let notes = diary.take().filter { $0.kind == .didMerge }
    #expect(notes.count == 1)
    #expect(notes.first?.insertedObjects.map(\.objectID) == [kept.objectID])
    #expect(notes.first?.updatedObjects.map(\.objectID) == [letter.objectID])
    #expect(notes.first?.deletedObjects.isEmpty == true)
    withExtendedLifetime(observation) {}
  }

  @Test("C1 detectConflicts stays in effect until a save that writes has checked the object")
  func watched() throws {
    let (watched, letter) = (try stored(), try stored("other"))
    let other = container.newContext()
    other.detectConflicts(for: other.object(with: watched.objectID))
    watched.text = "theirs"
    try context.save()
    let mine = other.object(with: letter.objectID)
    mine.setValue(1, forKey: "mark")
    try other.save()
    mine.setValue("mine", forKey: "text")
    #expect(throws: PerdureError.self) { try other.save() }
  }

  // MARK: Random events

  /// The pending objects by kind of change. An observer derives them from notifications.
  private struct Knowledge {
    var inserted: Set<ManagedObject> = []
    var updated: Set<ManagedObject> = []
    var deleted: Set<ManagedObject> = []

    mutating func hear(_ note: ContextNotification) {
      guard note.kind == .objectsDidChange || note.kind == .didSave else { return }
      if note.kind == .didSave || note.invalidatesAllObjects { self = Knowledge() }
      guard note.kind == .objectsDidChange else { return }
      deleted.subtract(note.refreshedObjects)
      inserted.formUnion(note.insertedObjects)
      updated.formUnion(note.updatedObjects.subtracting(inserted))
      for object in note.deletedObjects {
        updated.remove(object)
        if inserted.remove(object) == nil { deleted.insert(object) }
      }
    }
  }

  @Test("X10 The notifications of all events describe the pending changes")
  func random() throws {
    var random = SeededGenerator.forTest("what is told")
    for round in 0..<40 { try history(round, &random) }
  }

  private func history(_ round: Int, _ random: inout SeededGenerator) throws {
    let context = container.newContext()
    let author = Author(context: context)
    var letters = (0..<3).map { _ in Letter(context: context) }
    try context.save()
    var known = Knowledge()
    let observation = context.observe { known.hear($0) }
    for step in 0..<80 {
      try edit(&letters, author, step, &random)
      letters.removeAll { $0.managedObjectContext == nil }
      guard random.chance(30) else { continue }
      context.processPendingChanges()
      letters.removeAll { $0.managedObjectContext == nil }
      let place: Comment = "seed \(random.origin), round \(round), step \(step)"
      #expect(known.inserted == context.insertedObjects, place)
      #expect(known.updated.isSuperset(of: context.updatedObjects), place)
      #expect(known.deleted == context.deletedObjects, place)
    }
    observation.cancel()
  }

  private func edit(
    _ letters: inout [Letter], _ author: Author, _ step: Int, _ random: inout SeededGenerator
  ) throws {
    guard let context = author.managedObjectContext else { return }
    guard let letter = letters.randomElement(using: &random), !random.chance(15) else {
      letters.append(Letter(context: context))
      return
    }
    switch Int.random(in: 0..<10, using: &random) {
    case 0...2: if !letter.isDeleted { letter.text = "\(step)" }
    case 3, 4:
      if letter.isInserted { letters.removeAll { $0 === letter } }
      context.delete(letter)
    case 5: if !letter.isDeleted { letter.author = letter.author == nil ? author : nil }
    case 6: context.refresh(letter, mergeChanges: false)
    case 7: if random.chance(30) { context.rollback() }
    case 8: if random.chance(50) { try context.save() }
    default: context.processPendingChanges()
    }
  }
}
