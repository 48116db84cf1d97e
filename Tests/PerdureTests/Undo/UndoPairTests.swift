// Undo of one-to-one, transient and cascading relationships that were changed after the group.

import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Spouse: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "partner") var partner: Spouse?
  @Relationship(transient: true) var focus: Spouse?
}

@Entity private final class Basket: ManagedObject {
  @Relationship(inverse: "basket", deleteRule: .cascade) var apples: ToMany<Apple>
}

@Entity private final class Apple: ManagedObject {
  @Relationship(inverse: "apples") var basket: Basket?
}

@Suite("Undo of relationships that were changed after the group")
struct UndoPairTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try PersistentContainer(
      name: "Pairs", classes: [Spouse.self, Basket.self, Apple.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    context.undoManager = ContextUndoManager()
  }

  private func spouses(_ count: Int) throws -> [Spouse] {
    let spouses = context.withoutUndo { (0..<count).map { _ in Spouse(context: context) } }
    try context.save()
    return spouses
  }

  private func changeElsewhere(_ body: (ManagedObjectContext) throws -> Void) throws {
    let other = container.newContext()
    try body(other)
    try other.save()
    context.refreshAllObjects()
  }

  private func same<T: ManagedObject>(_ object: T, _ other: ManagedObjectContext) throws -> T {
    try #require(try other.existingObject(with: object.objectID) as? T)
  }

  @Test("If an undo keeps the current partner of an object, both refer to each other")
  func keptPartner() throws {
    let all = try spouses(4)
    context.withoutUndo { all[0].partner = all[1] }
    try context.save()
    context.undoGroup("Marry") { all[0].partner = all[2] }
    try context.save()
    try changeElsewhere { try same(all[3], $0).partner = try same(all[1], $0) }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.objectID) == [all[1].objectID])
    try context.undo(.keepCurrent)
    #expect(all[1].partner === all[3] && all[3].partner === all[1] && all[0].partner == nil)
    try context.save()
  }

  @Test("If the undo of a deletion keeps a current partner, both partners refer to each other")
  func keptPartnerOfDeleted() throws {
    let all = try spouses(3)
    context.withoutUndo { all[0].partner = all[1] }
    try context.save()
    context.undoGroup("Delete") { context.delete(all[0]) }
    try context.save()
    try changeElsewhere { try same(all[2], $0).partner = try same(all[1], $0) }
    try context.undo(.keepCurrent)
    #expect(all[1].partner === all[2] && all[2].partner === all[1])
    try context.save()
  }

  @Test(
    "The undo of a deletion does not separate a pair that the deleted object had joined in the same group",
    arguments: [UndoConflictPolicy.refuse, .keepCurrent, .overwrite])
  func joinedBeforeDeletion(policy: UndoConflictPolicy) throws {
    let all = try spouses(3)
    context.undoGroup("Marry and delete") {
      all[0].partner = all[1]
      context.delete(all[0])
    }
    try context.save()
    try changeElsewhere { try same(all[2], $0).partner = try same(all[1], $0) }
    try context.undo(policy)
    #expect(!all[0].isDeleted && all[0].partner == nil)
    #expect(all[1].partner === all[2] && all[2].partner === all[1])
    try context.save()
  }

  @Test("A transient to-one relationship that was changed after the group is a conflict")
  func transient() throws {
    let all = try spouses(4)
    context.withoutUndo { all[0].focus = all[1] }
    context.undoGroup("Focus") { all[0].focus = all[2] }
    context.withoutUndo { all[0].focus = all[3] }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.count == 1 && all[0].focus === all[3])
    try context.undo(.overwrite)
    #expect(all[0].focus === all[1])
  }

  @Test(
    "If another context has linked an object to a restored object, the redo of the deletion is a conflict"
  )
  func connectedSince() throws {
    let (basket, apple) = context.withoutUndo { (Basket(context: context), Apple(context: context)) }
    try context.save()
    context.undoGroup("Delete") { context.delete(basket) }
    try context.undo()
    try changeElsewhere { try same(apple, $0).basket = try same(basket, $0) }
    let found = undoConflicts { () throws(PerdureError) in try context.redo() }
    #expect(found.map(\.objectID) == [apple.objectID] && found.map(\.property) == ["basket"])
    #expect(apple.basket === basket && !basket.isDeleted)
  }
}
