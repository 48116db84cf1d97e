// An undo after a refresh has discarded a part of the edits of its group, and what such a refresh
// restores of the objects at the other ends.

import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Drawer: ManagedObject {
  @Relationship(inverse: "drawer") var items: ToMany<Item>
  @Relationship(inverse: "drawers", deleteRule: .cascade) var tags: OrderedToMany<Tag>
}

@Entity private final class Item: ManagedObject {
  @Relationship(inverse: "items", optional: false) var drawer: Drawer?
  @Relationship(inverse: "partner") var partner: Item?
}

@Entity private final class Tag: ManagedObject {
  @Relationship(inverse: "tags") var drawers: OrderedToMany<Drawer>
  @Relationship(inverse: nil) var picks: ToMany<Item>
  @Relationship(inverse: nil) var favourite: Item?
  @Relationship(inverse: nil) var ordered: OrderedToMany<Item>
}

@Suite("A refresh that discards a part of the edits of an undo group")
struct UndoAfterRefreshTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let manager = ContextUndoManager()
  private let (drawer, tag): (Drawer, Tag)
  private let items: [Item]

  init() throws {
    container = try PersistentContainer(
      name: "Drawers", classes: [Drawer.self, Item.self, Tag.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    (drawer, tag) = (Drawer(context: context), Tag(context: context))
    items = [Item(context: context), Item(context: context), Item(context: context)]
    for item in items { item.drawer = drawer }
    items[0].partner = items[1]
    try context.save()
    context.undoManager = manager
  }

  private func stored<T: ManagedObject>(_ object: T) throws -> T {
    try #require(try container.newContext().existingObject(with: object.objectID) as? T)
  }

  @Test("A refresh that discards a deletion restores one-way links to the object")
  func oneWayLinks() throws {
    tag.picks.insert(items[0])
    tag.favourite = items[0]
    for item in items.prefix(2) { tag.ordered.append(item) }
    try context.save()
    context.delete(items[0])
    context.processPendingChanges()
    #expect(tag.picks.isEmpty && tag.favourite == nil && tag.ordered.array == [items[1]])
    context.refresh(items[0], mergeChanges: false)
    #expect(!items[0].isDeleted && tag.picks.contains(items[0]) && tag.favourite === items[0])
    #expect(tag.ordered.array == [items[0], items[1]])
    try context.save()
    let saved = try stored(tag)
    #expect(saved.picks.count == 1 && saved.favourite != nil && saved.ordered.count == 2)
  }

  @Test("The undo of a deletion that a refresh has discarded is no conflict beside one-way links")
  func oneWayLinksUndone() throws {
    tag.picks.insert(items[0])
    try context.save()
    manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(items[0]) }
    context.refresh(items[0], mergeChanges: false)
    try context.undo()
    #expect(tag.picks.contains(items[0]) && !context.hasChanges)
  }

  @Test("The undo of a cascade is no conflict if a refresh has discarded only the first deletion")
  func cascade() throws {
    drawer.tags.append(tag)
    try context.save()
    manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(drawer) }
    context.refresh(drawer, mergeChanges: false)
    #expect(!drawer.isDeleted && tag.isDeleted)
    try context.undo()
    #expect(drawer.tags.array == [tag] && !tag.isDeleted && !context.hasChanges)
  }

  @Test("A refresh of the new owner of a moved object restores the stored owner")
  func owner() throws {
    let second = Drawer(context: context)
    try context.save()
    manager.removeAllActions()
    context.undoGroup("Move") { items[0].drawer = second }
    context.refresh(second, mergeChanges: false)
    #expect(items[0].drawer === drawer && drawer.items.contains(items[0]) && second.items.isEmpty)
    #expect(!context.hasChanges)
    try context.undo()
    try context.save()
    #expect(try stored(items[0]).drawer?.objectID == drawer.objectID)
  }

  @Test(
    "A refresh of one object of a new pair restores the stored pair",
    arguments: [UndoConflictPolicy.refuse, .keepCurrent, .overwrite])
  func pair(policy: UndoConflictPolicy) throws {
    context.undoGroup("Pair") { items[2].partner = items[0] }
    context.refresh(items[2], mergeChanges: false)
    #expect(items[0].partner === items[1] && items[1].partner === items[0])
    #expect(items[2].partner == nil && !context.hasChanges)
    try context.undo(policy)
    #expect(items[0].partner === items[1] && items[1].partner === items[0])
    try context.save()
    #expect(try stored(items[1]).partner?.objectID == items[0].objectID)
  }
}
