import Perdure
import PerdureTestSupport
import Testing

private struct Mark: Equatable { var red = 0 }

@Entity private final class Card: ManagedObject {
  var title: String = ""
  @Attribute(.transient) var zoom: Int = 1
  @Attribute(.transient) var mark: Mark?
  @Relationship(inverse: "back", transient: true) var front: Card?
  @Relationship(inverse: "front", transient: true) var back: Card?
  @Relationship(transient: true) var others: ToMany<Card>
}

/// A class that clears what it has computed, as programs do.
@Entity private final class Cache: ManagedObject {
  var title: String = ""
  @Attribute(.transient) var result: Mark?
  override func didTurnIntoFault() { result = nil }
}

@Suite("Transient values and links of objects that a save, a merge or another context has removed")
struct RemovedTransientTests {
  private let container: PersistentContainer

  init() throws { container = try Sandbox(Card.self, Cache.self).container }

  private func cards(_ count: Int, _ context: ManagedObjectContext) throws -> [Card] {
    let cards = (0..<count).map { number in
      let card = Card(context: context)
      card.title = "\(number)"
      return card
    }
    try context.save()
    return cards
  }

  /// Deletes an object in another context.
  private func delete(_ card: Card) throws {
    let theirs = container.newContext()
    theirs.delete(try theirs.existingObject(with: card.objectID))
    try theirs.save()
  }

  /// The refusals that a save reports once.
  private func refusedOnce(_ context: ManagedObjectContext) -> Set<String> {
    #expect(context.hasChanges)
    let refused = refusals(context)
    #expect(refusals(context).isEmpty && !context.hasChanges)
    return Set(refused)
  }

  @Test("The next save refuses, once, transient values and links that are set after a saved deletion")
  func ownDeletion() throws {
    let context = container.newContext()
    let cards = try cards(2, context)
    context.delete(cards[0])
    try context.save()
    cards[0].zoom = 5
    cards[0].mark = Mark()
    #expect(refusedOnce(context) == ["133000 zoom", "133000 mark"])
    cards[0].setPrimitiveValue(6, forKey: "zoom")
    cards[0].setPrimitiveValue(Mark(), forKey: "mark")
    #expect(refusedOnce(context) == ["133000 zoom", "133000 mark"])
    cards[0].front = cards[1]
    cards[1].front = cards[0]
    cards[1].others.insert(cards[0])
    cards[0].others.insert(cards[1])
    #expect(refusedOnce(context) == ["133000 front", "133000 others"])
    #expect(cards[0].zoom == 1 && cards[0].mark == nil && cards[1].front == nil && cards[1].others.isEmpty)
  }

  @Test(
    "The next save refuses, once, those of an object that another context has deleted",
    arguments: [true, false])
  func deletedElsewhere(isMerged: Bool) throws {
    let context = container.newContext()
    let cards = try cards(2, context)
    try delete(cards[0])
    context.refreshAllObjects()
    if isMerged { #expect(cards[0].isDeleted) }
    (cards[0].zoom, cards[0].mark) = (5, Mark())
    #expect(refusedOnce(context) == ["133000 zoom", "133000 mark"])
    cards[0].front = cards[1]
    cards[1].others.insert(cards[0])
    #expect(refusedOnce(context) == ["133000 front", "133000 others"])
  }

  @Test("A merge reports unsaved transient values of a removed object at the next save", arguments: 0..<3)
  func discarded(way: Int) throws {
    let context = container.newContext()
    let cards = try cards(2, context)
    (cards[0].zoom, cards[0].mark, cards[1].zoom) = (5, Mark(), 6)
    try delete(cards[0])
    switch way {
    case 0: context.refreshAllObjects()
    case 1: context.refresh(cards[0], mergeChanges: true)
    default: context.automaticallyMergesChangesFromParent = true
    }
    context.processPendingChanges()
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.details.map { "\($0.code.rawValue) \($0.property)" } == ["133000 zoom", "133000 mark"])
    #expect(error?.objectIDs == [cards[0].objectID] && cards[1].hasChanges)
    try context.save()
    #expect(!context.hasChanges && cards[1].zoom == 6 && cards[0].isDeleted)
  }

  @Test("A rollback, a reset and a refresh without merging discard them without an error", arguments: 0..<3)
  func discardedOnRequest(way: Int) throws {
    let context = container.newContext()
    let cards = try cards(2, context)
    (cards[0].zoom, cards[0].mark) = (5, Mark())
    try delete(cards[0])
    switch way {
    case 0: context.rollback()
    case 1: context.reset()
    default: context.refresh(cards[0], mergeChanges: false)
    }
    #expect(!context.hasChanges)
    try context.save()
  }

  @Test("A class may clear transient values in didTurnIntoFault, also of an object that is gone")
  func hook() throws {
    let context = container.newContext()
    let caches = (0..<2).map { _ in Cache(context: context) }
    try context.save()
    for cache in caches { cache.result = Mark(red: 3) }
    try context.save()
    let theirs = container.newContext()
    theirs.delete(try theirs.existingObject(with: caches[0].objectID))
    try theirs.save()
    context.refreshAllObjects()
    #expect(caches[0].title.isEmpty && caches[0].isDeleted && refusals(context).isEmpty)
    context.reset()
    #expect(!context.hasChanges)
    try context.save()
  }
}
