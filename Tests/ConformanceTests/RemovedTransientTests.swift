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

/// A class that clears its computed value when the object becomes a fault.
@Entity private final class Cache: ManagedObject {
  var title: String = ""
  @Attribute(.transient) var result: Mark?
  override func didTurnIntoFault() { result = nil }
}

@Suite("Transient values and links of removed objects")
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

  /// The refusals of the next save. A second save reports no refusals.
  private func refusedOnce(_ context: ManagedObjectContext) -> Set<String> {
    #expect(context.hasChanges)
    let refused = refusals(context)
    #expect(refusals(context).isEmpty && !context.hasChanges)
    return Set(refused)
  }

  @Test("Transient values and links that are set after a saved deletion are refused once, by the next save")
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
    "Transient values and links of an object that another context deleted are refused once",
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

  @Test(
    "After a merge removes an object, the next save reports its unsaved transient values", arguments: 0..<3)
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

  @Test(
    "A rollback, a reset or a refresh without merging discards transient values without an error",
    arguments: 0..<3)
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

  @Test("A class may clear transient values in didTurnIntoFault, even of a removed object")
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

  // MARK: Children

  @Test("A child's save passes transient links to its parent as unsaved changes")
  func childLinks() throws {
    let parent = container.newContext()
    let cards = try cards(4, parent)
    cards[0].front = cards[3]
    cards[2].others.replace(with: [cards[0], cards[3]])
    try parent.save()
    let child = parent.newChildContext()
    let below = try cards.map { try #require(try child.existingObject(with: $0.objectID) as? Card) }
    below[0].front = below[1]
    below[2].others.replace(with: [below[1]])
    let new = Card(context: child)
    new.front = below[2]
    try child.save()
    #expect(below[0].front === below[1] && below[1].back === below[0])
    #expect(cards[0].front === cards[1] && cards[1].back === cards[0] && cards[3].back == nil)
    #expect(cards[2].others.contains(cards[1]) && cards[2].back?.objectID == new.objectID)
    #expect(parent.hasChanges && cards[0].hasChanges && !child.hasChanges)
    try parent.save()
    #expect(!parent.hasChanges && cards[0].front === cards[1])
    below[0].front = nil
    below[2].others.removeAll()
    try child.save()
    #expect(cards[0].front == nil && cards[1].back == nil && !cards[2].others.contains(cards[1]))
    parent.rollback()
    #expect(cards[0].front === cards[1])
  }

  @Test("The parent's save refuses a child's transient link to an object that the parent no longer has")
  func childLinkToRemoved() throws {
    let parent = container.newContext()
    let cards = try cards(2, parent)
    let child = parent.newChildContext()
    let below = try cards.map { try #require(try child.existingObject(with: $0.objectID) as? Card) }
    below[0].front = below[1]
    parent.delete(cards[1])
    parent.processPendingChanges()
    try child.save()
    #expect(cards[0].front == nil)
    #expect(refusals(parent) == ["133000 front"])
    try parent.save()
  }

  @Test("After random saves of a child, parent and child have the same links at both ends")
  func randomChildLinks() throws {
    var random = SeededGenerator.forTest("transient links of a child")
    for _ in 0..<10 {
      let parent = container.newContext()
      let cards = try cards(5, parent)
      let child = parent.newChildContext()
      let below = try cards.map { try #require(try child.existingObject(with: $0.objectID) as? Card) }
      for _ in 0..<30 {
        let (one, other) = (Int.random(in: 0..<5, using: &random), Int.random(in: 0..<5, using: &random))
        switch Int.random(in: 0..<5, using: &random) {
        case 0: below[one].front = nil
        case 1: below[one].front = below[other]
        case 2: below[one].others.insert(below[other])
        case 3: below[one].others.remove(below[other])
        default:
          try child.save()
          for (mine, theirs) in zip(cards, below) {
            let place: Comment = "seed \(random.origin), card \(mine.title)"
            #expect(mine.front?.title == theirs.front?.title && mine.back?.title == theirs.back?.title, place)
            #expect(Set(mine.others.map(\.title)) == Set(theirs.others.map(\.title)), place)
          }
          if Bool.random(using: &random) { try parent.save() }
        }
      }
    }
  }
}
