// References to objects that another context has deleted. The delete rule `.noAction` or a denied
// deletion leaves such references.

import PerdureModel
import Testing

@testable import Perdure

@Suite("References to objects that another context has deleted")
struct LeftBehindTests {
  /// Two contexts with the same saved parent and children.
  private struct Scene {
    let container: PersistentContainer
    let here: ManagedObjectContext
    let there: ManagedObjectContext
    let parent: ManagedObject
    let children: [ManagedObject]

    init(
      _ down: DeleteRule, _ up: DeleteRule = .nullify, isToMany: Bool = true, ordered: Bool = false,
      linked: Int = 0
    ) throws {
      let children =
        isToMany
        ? PropertyDescription.toMany(
          "children", "Child", inverse: "parent", deleteRule: down, ordered: ordered)
        : .toOne("children", "Child", inverse: "parent", deleteRule: down)
      // The first entity of a one-to-one relationship has the column. Here this is the child.
      let scene = try ModelScene(
        on: .stored,
        EntityDescription(
          "Child",
          properties: [.int64("number"), .toOne("parent", "Parent", inverse: "children", deleteRule: up)]),
        EntityDescription("Parent", properties: [.int64("number"), children]))
      (container, there) = (scene.container, scene.context)
      let (parent, members) = (scene.new("Parent"), (0..<2).map { _ in scene.new("Child") })
      for child in members.prefix(linked) { child.setValue(parent, forKey: "parent") }
      try there.save()
      let context = container.newContext()
      here = context
      self.parent = try context.existingObject(with: parent.objectID)
      self.children = try members.map { try context.existingObject(with: $0.objectID) }
    }

    func deleteThere(_ object: ManagedObject) throws {
      there.delete(try there.existingObject(with: object.objectID))
      try there.save()
    }

    func members(in context: ManagedObjectContext) -> Set<ManagedObjectID> {
      Set(context.object(with: parent.objectID).objectIDs(forRelationshipNamed: "children"))
    }
  }

  @Test("References that the delete rule `.noAction` leaves are nil while the deleted object has changes")
  func changedHere() throws {
    let scene = try Scene(.noAction, linked: 1)
    scene.parent.setValue(7, forKey: "number")
    try scene.deleteThere(scene.parent)
    scene.here.refreshAllObjects()
    let child = scene.children[0]
    #expect(scene.parent.isDeleted && child.value(forKey: "number") == nil)
    for number in 1...2 {
      #expect(child.objectIDs(forRelationshipNamed: "parent").isEmpty && child.one("parent") == nil)
      child.setValue(Int64(number), forKey: "number")
    }
  }

  @Test(
    "An object that is inserted again has the references that `.noAction` left, even in the store",
    arguments: [false, true])
  func insertedAgain(ordered: Bool) throws {
    let scene = try Scene(.noAction, ordered: ordered, linked: 2)
    scene.here.mergePolicy = .mergeByPropertyObjectTrump
    scene.parent.setValue(7, forKey: "number")
    try scene.deleteThere(scene.parent)
    let child = scene.here.newChildContext()
    child.mergePolicy = .mergeByPropertyObjectTrump
    child.object(with: scene.parent.objectID).setValue(8, forKey: "number")
    scene.here.rollback()
    // The object is inserted again in the parent context, which has not saved yet.
    try child.save()
    let ids = Set(scene.children.map(\.objectID))
    #expect(scene.members(in: scene.here) == ids && scene.members(in: child) == ids)
    try expectAgreement(scene.here, scene.container.managedObjectModel)
    scene.children[0].setValue(nil, forKey: "parent")
    #expect(scene.members(in: scene.here) == [scene.children[1].objectID])
    try scene.here.save()
    #expect(scene.members(in: scene.container.newContext()) == [scene.children[1].objectID])
    try expectWhole(scene.container)
  }

  @Test("An object that is inserted again has one partner, even if `.noAction` left another reference")
  func insertedAgainToOne() throws {
    let scene = try Scene(.noAction, isToMany: false)
    scene.here.mergePolicy = .mergeByPropertyObjectTrump
    scene.parent.setValue(7, forKey: "number")
    scene.children[1].setValue(scene.parent, forKey: "parent")
    let other = try scene.there.existingObject(with: scene.children[0].objectID)
    other.setValue(try scene.there.existingObject(with: scene.parent.objectID), forKey: "parent")
    try scene.there.save()
    try scene.deleteThere(scene.parent)
    try scene.here.save()
    #expect(scene.members(in: scene.container.newContext()).count == 1)
    try expectWhole(scene.container)
  }

  @Test("A moved child keeps its new parent if a child context reinserts the old parent")
  func movedAway() throws {
    let scene = try Scene(.noAction, linked: 2)
    let child = scene.here.newChildContext()
    child.mergePolicy = .mergeByPropertyObjectTrump
    child.object(with: scene.parent.objectID).setValue(8, forKey: "number")
    try scene.deleteThere(scene.parent)
    scene.here.refreshAllObjects()
    let other = scene.here.insertNewObject(forEntityName: "Parent")
    scene.children[0].setValue(other, forKey: "parent")
    try child.save()
    #expect(
      scene.members(in: scene.here) == [scene.children[1].objectID] && other.many("children").count == 1)
    try expectAgreement(scene.here, scene.container.managedObjectModel)
    try scene.here.save()
    try expectWhole(scene.container)
  }

  @Test("After a denied deletion, related objects that another context deleted count as deleted")
  func denied() throws {
    let scene = try Scene(.nullify, .deny)
    scene.children[0].setValue(scene.parent, forKey: "parent")
    scene.here.delete(scene.children[0])
    #expect(throws: PerdureError.self) { try scene.here.save() }
    try scene.deleteThere(scene.parent)
    scene.here.refreshAllObjects()
    let parents = FetchRequest<ManagedObject>(entityName: "Parent")
    for _ in 0..<2 {
      #expect(try scene.here.count(for: parents) == 0 && scene.parent.isDeleted)
      _ = try scene.container.newContext().count(for: parents)
      scene.there.insertNewObject(forEntityName: "Child")
      try scene.there.save()
      scene.here.refreshAllObjects()
    }
    try scene.here.save()
    try expectWhole(scene.container)
  }

  @Test("A fetch follows no link to an object whose deletion is pending and denied")
  func fetchedThrough() throws {
    let scene = try Scene(.nullify, .deny, linked: 1)
    let child = scene.children[0]
    child.setValue(1, forKey: "number")
    try scene.here.save()
    scene.here.delete(child)
    scene.here.processPendingChanges()
    func count(_ format: String) throws -> Int {
      try scene.here.count(
        for: FetchRequest<ManagedObject>(
          entityName: "Parent", predicate: FetchPredicate(format: format)))
    }
    #expect(scene.parent.mutableSetValue(forKey: "children").count == 1)
    #expect(try count("ANY children.number >= 0") == 0 && count("children.@count == 0") == 1)
    #expect(throws: PerdureError.self) { try scene.here.save() }
    scene.here.rollback()
    #expect(try count("ANY children.number >= 0") == 1 && count("children.@count == 1") == 1)
  }
}
