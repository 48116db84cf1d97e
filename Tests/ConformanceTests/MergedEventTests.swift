import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Leaf: ManagedObject {
  var text: String?
}

@Suite("Events of two contexts that merge each other's saves")
struct MergedEventTests {
  private enum Change { case inserted, updated, deleted }

  /// The combined change of each object by several saves or merges.
  private struct Changes: Equatable {
    var byID: [ManagedObjectID: Change] = [:]

    mutating func add(_ note: ContextNotification) {
      for object in note.insertedObjects { byID[object.objectID] = .inserted }
      for object in note.updatedObjects where byID[object.objectID] != .inserted {
        byID[object.objectID] = .updated
      }
      for object in note.deletedObjects {
        byID[object.objectID] = byID[object.objectID] == .inserted ? nil : .deleted
      }
    }

    func without(_ ids: Set<ManagedObjectID>) -> Changes {
      Changes(byID: byID.filter { !ids.contains($0.key) })
    }
  }

  private final class Side {
    let context: ManagedObjectContext
    var saved = Changes()
    var merged = Changes()
    var isPinned = false
    /// The objects that saves of this context have deleted so far.
    var ended: Set<ManagedObjectID> = []
    private var observation: ContextObservation?

    init(_ container: PersistentContainer) {
      context = container.newContext()
      context.mergePolicy = .mergeByPropertyObjectTrump
      context.automaticallyMergesChangesFromParent = true
      observation = context.observe { [unowned self] note in
        if note.kind == .didMerge { merged.add(note) }
        guard note.kind == .didSave else { return }
        saved.add(note)
        ended.formUnion(note.deletedObjects.map(\.objectID))
      }
    }
  }

  @Test("X16 An automatic merge reports exactly the insertions and updates that the other context has saved")
  func random() throws {
    var random = SeededGenerator.forTest("what is told of merging")
    for round in 0..<20 { try history(round, &random) }
  }

  @Test("A merge registers an inserted object only if an observer of the merge retains it")
  func unregistered() throws {
    let container = try Sandbox(Leaf.self).container
    let (mine, theirs) = (container.newContext(), container.newContext())
    mine.automaticallyMergesChangesFromParent = true
    func inserted() throws -> ManagedObjectID {
      let leaf = Leaf(context: theirs)
      try theirs.save()
      mine.processPendingChanges()
      return leaf.objectID
    }
    let first = try inserted()
    #expect(mine.registeredObject(for: first) == nil && mine.registeredObjects.isEmpty)
    var held: [ManagedObject] = []
    let observation = mine.observe { note in
      if note.kind == .didMerge { held += note.insertedObjects }
    }
    let second = try inserted()
    #expect(held.map(\.objectID) == [second])
    #expect(mine.registeredObject(for: second) === held.first && mine.registeredObject(for: first) == nil)
    held = []
    #expect(mine.registeredObjects.isEmpty)
    #expect(try mine.count(for: Leaf.fetchRequest()) == 2)
    observation.cancel()
  }

  private func history(_ round: Int, _ random: inout SeededGenerator) throws {
    let container = try Sandbox(Leaf.self).container
    let sides = [Side(container), Side(container)]
    for step in 0..<100 {
      let number = Int.random(in: 0..<2, using: &random)
      let (side, other) = (sides[number], sides[1 - number])
      let place: Comment = "seed \(random.origin), round \(round), step \(step)"
      try edit(side, step, &random)
      guard random.chance(25), !side.isPinned else { continue }
      side.context.processPendingChanges()
      // A merge reports a deletion only if the context has an instance of the object. It must not
      // report a deletion that the other context has not saved.
      let ended = side.ended.union(other.ended)
      #expect(side.merged.without(ended) == other.saved.without(ended), place)
      let gone = side.merged.byID.filter { $0.value == .deleted }.keys
      #expect(other.ended.isSuperset(of: gone), place)
      (side.merged, other.saved) = (Changes(), Changes())
      if side.context.hasChanges { continue }
      #expect(try texts(side.context) == texts(container.newContext()), place)
    }
  }

  private func texts(_ context: ManagedObjectContext) throws -> [ManagedObjectID: String?] {
    let leaves = try context.fetch(FetchRequest<Leaf>())
    return Dictionary(uniqueKeysWithValues: leaves.map { ($0.objectID, $0.text) })
  }

  private func edit(_ side: Side, _ step: Int, _ random: inout SeededGenerator) throws {
    let context = side.context
    let leaves = context.registeredObjects.compactMap { $0 as? Leaf }
      .filter { !$0.isDeleted && $0.managedObjectContext != nil }
      .sorted { $0.objectID.uri < $1.objectID.uri }
    let leaf = leaves.randomElement(using: &random)
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1: Leaf(context: context).text = "\(step)"
    case 2, 3: leaf?.text = "\(step)"
    case 4: if let leaf { context.delete(leaf) }
    case 5: if !side.isPinned { _ = try texts(context) }
    case 6 where random.chance(30):
      side.isPinned.toggle()
      try context.setQueryGeneration(from: side.isPinned ? .current : nil)
    default:
      do { try context.save() } catch { context.rollback() }
    }
  }
}
