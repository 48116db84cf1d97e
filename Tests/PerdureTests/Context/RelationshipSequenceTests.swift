// Sequences of edits that could make the ends of a relationship disagree, leave a dangling
// reference, or cause a wrong save. Each test has its own model, and uses objects by name.

import PerdureModel
import Testing

@testable import Perdure

/// Returns a scene with parents and children. The parameters are the delete rules of `children` and
/// of `parent`.
private func family(
  on kind: StoreKind = .current, _ children: DeleteRule, _ parent: DeleteRule
) throws -> ModelScene {
  try ModelScene(
    on: kind,
    EntityDescription(
      "Parent", properties: [.toMany("children", "Child", inverse: "parent", deleteRule: children)]),
    EntityDescription(
      "Child", properties: [.toOne("parent", "Parent", inverse: "children", deleteRule: parent)]))
}

/// Returns a scene with one-to-one pairs of two entities. The first entity has the column.
private func pairs(_ left: DeleteRule, _ right: DeleteRule) throws -> ModelScene {
  try ModelScene(
    EntityDescription("Left", properties: [.toOne("right", "Right", inverse: "left", deleteRule: left)]),
    EntityDescription("Right", properties: [.toOne("left", "Left", inverse: "right", deleteRule: right)]))
}

@Suite("Sequences of edits of relationships")
struct RelationshipSequenceTests {
  // MARK: New and deleted objects

  @Test("Deny allows a deletion when both ends are new and deleted", arguments: [false, true])
  func denyOfNew(deletesChildFirst: Bool) throws {
    let scene = try family(.deny, .deny)
    let (parent, child) = (scene.new("Parent"), scene.new("Child"))
    child.setValue(parent, forKey: "parent")
    scene.context.delete(deletesChildFirst ? child : parent)
    scene.context.delete(deletesChildFirst ? parent : child)
    try scene.saveWhole()
    #expect(try scene.count("Parent") == 0 && scene.count("Child") == 0)
  }

  @Test("Deny allows deleting both new ends of many-to-many and one-to-one relationships")
  func denyOfNewLinks() throws {
    let scene = try ModelScene(
      EntityDescription(
        "Node",
        properties: [
          .toMany("out", "Node", inverse: "in", deleteRule: .deny),
          .toMany("in", "Node", inverse: "out", deleteRule: .deny),
          .toOne("next", "Node", inverse: "last", deleteRule: .deny),
          .toOne("last", "Node", inverse: "next", deleteRule: .deny),
          .toMany("friends", "Node", inverse: "friends", deleteRule: .deny),
        ]))
    let nodes = (0..<3).map { _ in scene.new("Node") }
    for (left, right) in [(0, 1), (1, 2), (2, 0), (1, 1)] {
      nodes[left].mutableSetValue(forKey: "out").insert(nodes[right])
      nodes[left].mutableSetValue(forKey: "friends").insert(nodes[right])
      if left != right { nodes[left].setValue(nodes[right], forKey: "next") }
    }
    for node in nodes { scene.context.delete(node) }
    try scene.saveWhole()
    #expect(try scene.count("Node") == 0)
  }

  @Test(
    "A child whose rule is deny is deleted together with a new parent that cascades to it",
    arguments: [false, true])
  func cascadeFromNew(isChildStored: Bool) throws {
    let scene = try family(.cascade, .deny)
    let child = scene.new("Child")
    if isChildStored { try scene.context.save() }
    let parent = scene.new("Parent")
    child.setValue(parent, forKey: "parent")
    scene.context.delete(parent)
    try scene.saveWhole()
    #expect(try scene.count("Parent") == 0 && scene.count("Child") == 0)
  }

  @Test(
    "Discarding a deletion does not restore new objects that were removed with the deleted object",
    arguments: [0, 1])
  func takenBack(stored: Int) throws {
    let scene = try family(.deny, .deny)
    let name = stored == 0 ? "Parent" : "Child"
    let kept = scene.new(name)
    try scene.context.save()
    let new = scene.new(stored == 0 ? "Child" : "Parent")
    let (parent, child) = stored == 0 ? (kept, new) : (new, kept)
    child.setValue(parent, forKey: "parent")
    scene.context.delete(new)
    scene.context.delete(kept)
    scene.context.processPendingChanges()
    scene.context.refresh(kept, mergeChanges: false)
    #expect(!kept.isDeleted && new.managedObjectContext == nil)
    #expect(stored == 0 ? kept.many("children").isEmpty : kept.one("parent") == nil)
    #expect(scene.context.updatedObjects.subtracting([kept]).isEmpty)
    try scene.saveWhole()
    #expect(try scene.count(name) == 1)
  }

  @Test("A denied deletion of a new object succeeds after its related object has moved to another object")
  func deniedThenMoved() throws {
    let scene = try family(.deny, .nullify)
    let (first, second, child) = (scene.new("Parent"), scene.new("Parent"), scene.new("Child"))
    child.setValue(first, forKey: "parent")
    scene.context.delete(first)
    let error = #expect(throws: PerdureError.self) { try scene.context.save() }
    #expect(error?.code == .relationshipDeniedDelete)
    child.setValue(second, forKey: "parent")
    try scene.saveWhole()
    #expect(try scene.count("Parent") == 1 && second.many("children") == [child])
  }

  @Test("An object with a denied deletion stays linked until the link is removed", arguments: [false, true])
  func lettingGo(isFromChild: Bool) throws {
    let scene = try family(.nullify, .deny)
    let (parent, child) = (scene.new("Parent"), scene.new("Child"))
    child.setValue(parent, forKey: "parent")
    try scene.context.save()
    scene.context.delete(child)
    scene.context.processPendingChanges()
    let children = parent.mutableSetValue(forKey: "children")
    #expect(Array(children) == [child] && children.contains(child) && children.count == 1)
    #expect(throws: PerdureError.self) { try scene.context.save() }
    if isFromChild { child.setValue(nil, forKey: "parent") } else { children.remove(child) }
    #expect(children.isEmpty && !children.contains(child) && child.one("parent") == nil)
    try scene.saveWhole()
    #expect(try scene.count("Child") == 0)
  }

  @Test("Deny allows a deletion if the target of a one-way relationship is new and deleted later")
  func denyOneWay() throws {
    let scene = try ModelScene(
      EntityDescription("Node", properties: [.toMany("out", "Node", deleteRule: .deny)]))
    let (first, second) = (scene.new("Node"), scene.new("Node"))
    first.mutableSetValue(forKey: "out").insert(second)
    scene.context.delete(first)
    #expect(throws: PerdureError.self) { try scene.context.save() }
    scene.context.delete(second)
    try scene.saveWhole()
    #expect(try scene.count("Node") == 0 && !scene.context.hasChanges)
  }

  // MARK: Deleted objects

  @Test("If a reference to a deleted object is changed and changed back, no change remains")
  func danglingTakenBack() throws {
    let scene = try family(on: .stored, .noAction, .nullify)
    let (parent, child) = (scene.new("Parent"), scene.new("Child"))
    child.setValue(parent, forKey: "parent")
    try scene.context.save()
    scene.context.delete(parent)
    try scene.context.save()
    let context = scene.container.newContext()
    let copy = try context.existingObject(with: child.objectID)
    copy.setValue(nil, forKey: "parent")
    #expect(context.updatedObjects == [copy])
    context.refresh(copy, mergeChanges: false)
    #expect(!context.hasChanges && context.updatedObjects.isEmpty)
    copy.setValue(context.insertNewObject(forEntityName: "Parent"), forKey: "parent")
    try context.save()
    try expectWhole(scene.container)
  }

  @Test("A reference to a deleted object does not deny a deletion")
  func denyOfGone() throws {
    let scene = try family(.noAction, .deny)
    let (parent, child) = (scene.new("Parent"), scene.new("Child"))
    child.setValue(parent, forKey: "parent")
    try scene.context.save()
    scene.context.delete(child)
    #expect(throws: PerdureError.self) { try scene.context.save() }
    scene.context.rollback()
    scene.context.delete(parent)
    try scene.context.save()
    let context = scene.container.newContext()
    context.delete(try context.existingObject(with: child.objectID))
    try context.save()
    #expect(try scene.count("Child") == 0)
  }

  // MARK: Unrelated objects

  @Test("Removing an object of another entity from a relationship has no effect")
  func unrelated() throws {
    let scene = try ModelScene(
      EntityDescription(
        "Parent",
        properties: [
          .int64("a"), .int64("b"), .toMany("children", "Child", inverse: "parent"),
          .toMany("links", "Child", inverse: "back"), .toMany("bare", "Child"),
        ]),
      EntityDescription(
        "Child",
        properties: [
          .int64("a"), .toOne("parent", "Parent", inverse: "children"),
          .toMany("back", "Parent", inverse: "links"),
        ]), EntityDescription("Stranger", properties: [.int64("a")]))
    let (parent, stranger) = (scene.new("Parent"), scene.new("Stranger"))
    for isSaved in [false, true] {
      for key in ["children", "links", "bare"] {
        for object in [stranger, parent] {
          #expect(!parent.mutableSetValue(forKey: key).contains(object))
          parent.mutableSetValue(forKey: key).remove(object)
        }
      }
      #expect(scene.context.hasChanges != isSaved)
      try scene.saveWhole()
    }
  }

  @Test("If an object's context was created with other stores, the object is recognised by its id")
  func otherNumbers() throws {
    let entities = [
      EntityDescription("Parent", properties: [.toMany("children", "Child", inverse: "parent")]),
      EntityDescription("Child", properties: [.toOne("parent", "Parent", inverse: "children")]),
    ]
    let names = entities.map(\.name)
    let container = PersistentContainer(
      name: "Two", model: try ManagedObjectModel(entities, configurations: ["X": names, "Y": names]),
      classes: [],
      storeDescriptions: ["X", "Y"].map {
        var description = PersistentStoreDescription.inMemory
        description.configuration = $0
        return description
      })
    try container.loadPersistentStores()
    let before = container.newContext()
    let (parent, child) = (
      before.insertNewObject(forEntityName: "Parent"), before.insertNewObject(forEntityName: "Child")
    )
    for object in [parent, child] { try before.assign(object, to: container.persistentStores[1]) }
    child.setValue(parent, forKey: "parent")
    try before.save()
    try container.removePersistentStore(container.persistentStores[0])
    let after = container.newContext()
    let copy = try after.existingObject(with: parent.objectID)
    #expect(copy.reference != parent.reference, "the two contexts number objects differently")
    let children = copy.mutableSetValue(forKey: "children")
    #expect(children.contains(child) && children.count == 1)
    children.remove(child)
    #expect(children.isEmpty)
    try after.save()
  }

  @Test("A removed link stays removed after another context's save, even if its ends have different slots")
  func takenApart() throws {
    let scene = try ModelScene(
      EntityDescription("Left", properties: [.toOne("right", "Right", inverse: "left")]),
      EntityDescription(
        "Right", properties: [.int64("a"), .int64("b"), .toOne("left", "Left", inverse: "right")]))
    let (left, right) = (scene.new("Left"), scene.new("Right"))
    left.setValue(right, forKey: "right")
    try scene.context.save()
    left.setValue(nil, forKey: "right")
    let other = scene.container.newContext()
    _ = other.insertNewObject(forEntityName: "Left")
    try other.save()
    scene.context.refreshAllObjects()
    #expect(left.one("right") == nil && right.one("left") == nil)
    try scene.saveWhole()
  }

  // MARK: Moving

  @Test("If an object is moved to another owner and back, its owners are unchanged")
  func movedBack() throws {
    let scene = try family(.nullify, .nullify)
    let owners = (0..<3).map { _ in scene.new("Parent") }
    let child = scene.new("Child")
    child.setValue(owners[0], forKey: "parent")
    try scene.context.save()
    for place in [1, 2, 1, 0] {
      owners[place].mutableSetValue(forKey: "children").insert(child)
      #expect(
        owners.map { $0.many("children").count }.enumerated().allSatisfy { $1 == ($0 == place ? 1 : 0) })
      #expect(child.one("parent") === owners[place])
    }
    #expect(scene.context.updatedObjects.isDisjoint(with: owners))
    try scene.saveWhole()
  }

  @Test("Replacing a set moves members from other owners, even another owner's whole set")
  func replacing() throws {
    let scene = try family(.nullify, .nullify)
    let owners = (0..<2).map { _ in scene.new("Parent") }
    let children = (0..<4).map { _ in scene.new("Child") }
    for (number, child) in children.enumerated() { child.setValue(owners[number % 2], forKey: "parent") }
    try scene.context.save()
    owners[0].setValue(Set(children[1...2]), forKey: "children")
    #expect(owners[0].many("children") == Set(children[1...2]) && owners[1].many("children") == [children[3]])
    #expect(children[0].one("parent") == nil)
    try scene.saveWhole()
    owners[1].setValue(owners[0].value(forKey: "children"), forKey: "children")
    #expect(owners[0].many("children").isEmpty && owners[1].many("children") == Set(children[1...2]))
    #expect(children[3].one("parent") == nil)
    owners[1].mutableSetValue(forKey: "children").replace(with: owners[1].mutableSetValue(forKey: "children"))
    #expect(owners[1].many("children").count == 2)
    try scene.saveWhole()
    owners[1].setValue(nil, forKey: "children")
    #expect(children.allSatisfy { $0.one("parent") == nil })
    try scene.saveWhole()
  }

  @Test("One-to-one partners can be set twice, swapped and removed at either end")
  func swappedPairs() throws {
    let scene = try pairs(.nullify, .nullify)
    let (left, right) = ((0..<3).map { _ in scene.new("Left") }, (0..<3).map { _ in scene.new("Right") })
    func expectPairs(_ expected: [Int?], sourceLocation: SourceLocation = #_sourceLocation) {
      for (number, place) in expected.enumerated() {
        #expect(left[number].one("right") === place.map { right[$0] }, sourceLocation: sourceLocation)
      }
      for number in right.indices {
        let owner = expected.firstIndex(of: number).map { left[$0] }
        #expect(right[number].one("left") === owner, sourceLocation: sourceLocation)
      }
    }
    for saves in [false, true] {
      for number in 0..<3 { left[number].setValue(right[number], forKey: "right") }
      if saves { try scene.saveWhole() }
      left[0].setValue(right[1], forKey: "right")
      left[0].setValue(right[1], forKey: "right")
      expectPairs([1, nil, 2])
      right[0].setValue(left[1], forKey: "left")
      expectPairs([1, 0, 2])
      right[2].setValue(left[0], forKey: "left")
      expectPairs([2, 0, nil])
      right[0].setValue(nil, forKey: "left")
      left[0].setValue(nil, forKey: "right")
      expectPairs([nil, nil, nil])
    }
    try scene.saveWhole()
  }

  @Test("One-to-one objects can form a chain or a ring, and an object can be linked to itself")
  func chain() throws {
    let scene = try ModelScene(
      EntityDescription(
        "Node",
        properties: [.toOne("next", "Node", inverse: "last"), .toOne("last", "Node", inverse: "next")]))
    let nodes = (0..<4).map { _ in scene.new("Node") }
    for number in 0..<4 { nodes[number].setValue(nodes[(number + 1) % 4], forKey: "next") }
    try scene.saveWhole()
    nodes[2].setValue(nodes[0], forKey: "next")
    #expect(nodes[3].one("next") == nil && nodes[3].one("last") == nil && nodes[0].one("last") === nodes[2])
    nodes[3].setValue(nodes[3], forKey: "last")
    #expect(nodes[3].one("next") === nodes[3])
    try scene.saveWhole()
    nodes[3].setValue(nodes[1], forKey: "next")
    #expect(nodes[3].one("last") == nil && nodes[1].one("last") === nodes[3] && nodes[0].one("next") == nil)
    scene.context.delete(nodes[1])
    try scene.saveWhole()
    #expect(nodes[3].one("next") == nil && nodes[2].one("last") == nil)
  }

  @Test("Removing a link and adding it again is not a change, unless the other end is deleted")
  func removedAndAdded() throws {
    let scene = try ModelScene(
      EntityDescription("Node", properties: [.toMany("friends", "Node", inverse: "friends")]))
    let nodes = (0..<3).map { _ in scene.new("Node") }
    let friends = nodes[0].mutableSetValue(forKey: "friends")
    for node in nodes { friends.insert(node) }
    try scene.context.save()
    for node in nodes { friends.remove(node) }
    for node in nodes.reversed() { node.mutableSetValue(forKey: "friends").insert(nodes[0]) }
    #expect(!scene.context.hasChanges)
    friends.remove(nodes[1])
    scene.context.delete(nodes[1])
    friends.insert(nodes[1])
    scene.context.processPendingChanges()
    #expect(nodes[0].many("friends") == [nodes[0], nodes[2]])
    try scene.saveWhole()
  }
}
