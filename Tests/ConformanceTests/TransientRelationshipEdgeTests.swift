import Perdure
import PerdureTestSupport
import Testing

@Entity private class Shape: ManagedObject {
  var name: String?
  @Relationship(inverse: "under", transient: true) var over: ToMany<Shape>
  @Relationship(inverse: "over", transient: true) var under: Shape?
  @Relationship(inverse: "near", transient: true) var near: ToMany<Shape>
  @Relationship(transient: true) var centre: Shape?
  @Relationship(inverse: "shapes") var page: Page?
}

@Entity private final class Circle: Shape {
  var radius: Double = 1
}

@Entity private final class Page: ManagedObject {
  @Attribute(.unique) var title: String
  @Relationship(inverse: "page", deleteRule: .cascade) var shapes: ToMany<Shape>
}

/// Transient relationships in children, rollbacks, subentities, snapshots and queries, and with
/// many links.
@Suite("Edge cases of transient relationships")
struct TransientRelationshipEdgeTests {
  private func container() throws -> PersistentContainer {
    try Sandbox(Shape.self, Circle.self, Page.self).container
  }

  private func context() throws -> ManagedObjectContext { try container().newContext() }

  private func shapes(_ count: Int, _ context: ManagedObjectContext) -> [Shape] {
    (0..<count).map { number in
      let shape = Circle(context: context)
      shape.name = "\(number)"
      return shape
    }
  }

  @Test("Links of a child's new objects stay after saves of the child and of the parent")
  func childOfNew() throws {
    let context = try context()
    let child = context.newChildContext()
    let made = shapes(3, child)
    made[0].over.replace(with: made[1...])
    made[1].near.insert(made[1])
    made[1].near.insert(made[2])
    made[2].centre = made[0]
    func expectLinked() {
      #expect(Set(made[0].over) == Set(made[1...]) && made[2].under === made[0])
      #expect(Set(made[1].near) == Set(made[1...]) && Array(made[2].near) == [made[1]])
      #expect(made[2].centre === made[0])
    }
    expectLinked()
    try child.save()
    expectLinked()
    try context.save()
    expectLinked()
    child.refreshAllObjects()
    #expect(made.allSatisfy { $0.over.isEmpty && $0.under == nil && $0.near.isEmpty && $0.centre == nil })
  }

  @Test("A deletion that is rolled back restores the links of all deleted objects")
  func rolledBackDeletion() throws {
    let context = try context()
    let made = shapes(4, context)
    let page = Page(context: context)
    page.title = "p"
    page.shapes.replace(with: made[..<2])
    made[0].near.insert(made[2])
    made[1].under = made[3]
    made[3].centre = made[0]
    try context.save()
    context.delete(page)
    context.processPendingChanges()
    #expect(made[2].near.isEmpty && made[3].over.isEmpty && made[3].centre == nil)
    made[2].near.insert(made[3])
    context.rollback()
    #expect(Array(made[2].near) == [made[0]] && Array(made[3].over) == [made[1]])
    #expect(made[3].centre === made[0] && made[1].under === made[3] && made[3].near.isEmpty)
    context.delete(page)
    try context.save()
    #expect(made[2].near.isEmpty && made[3].over.isEmpty && made[3].centre == nil)
  }

  @Test("A failed save keeps the links, and a later save with the links succeeds")
  func refused() throws {
    let context = try context()
    let made = shapes(2, context)
    try context.save()
    let page = Page(context: context)
    made[0].under = made[1]
    made[0].page = page
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(made[0].under === made[1] && Array(made[1].over) == [made[0]] && made[0].page === page)
    page.title = "p"
    try context.save()
    #expect(made[0].under === made[1] && !context.hasChanges)
    made[0].under = nil
    context.rollback()
    #expect(made[0].under === made[1])
  }

  @Test("An object that the policy inserts again does not get back the links that it had before")
  func insertedAgain() throws {
    let container = try container()
    let context = container.newContext()
    let made = shapes(3, context)
    made[1].under = made[0]
    made[0].near.insert(made[1])
    made[2].centre = made[0]
    try context.save()
    made[1].under = made[2]
    made[0].name = "again"
    context.mergePolicy = .mergeByPropertyObjectTrump
    try remove(made[0], in: container)
    try context.save()
    #expect(made[1].under === made[2] && made[0].over.isEmpty && Array(made[2].over) == [made[1]])
    #expect(made[0].near.isEmpty && made[1].near.isEmpty && made[2].centre == nil)
    #expect(made[0].name == "again")
  }

  @Test("An object that a child inserts again in its parent has links in the parent at both ends or none")
  func insertedAgainByChild() throws {
    let container = try container()
    let context = container.newContext()
    let made = shapes(3, context)
    made[1].under = made[0]
    try context.save()
    let child = context.newChildContext()
    child.mergePolicy = .overwrite
    let inChild = try #require(child.object(with: made[0].objectID) as? Shape)
    inChild.name = "again"
    inChild.near.insert(try #require(child.object(with: made[2].objectID) as? Shape))
    try remove(made[0], in: container)
    made[2].name = "saved"
    try context.save()
    try child.save()
    let again = try #require(context.object(with: inChild.objectID) as? Shape)
    #expect(again.over.isEmpty && made[1].under == nil)
    #expect(Array(again.near) == [made[2]] && Array(made[2].near) == [again])
    try context.save()
    #expect(again.over.isEmpty && made[1].under == nil && Array(made[2].near) == [again])
  }

  /// Deletes an object in another context.
  private func remove(_ object: ManagedObject, in container: PersistentContainer) throws {
    let other = container.newContext()
    other.delete(other.object(with: object.objectID))
    try other.save()
  }

  @Test("Key paths and snapshots include transient relationships")
  func keyPaths() throws {
    let context = try context()
    let made = shapes(3, context)
    made[0].over.replace(with: made[1...])
    made[1].centre = made[0]
    try context.save()
    #expect(made[1].value(forKeyPath: "under.name") as? String == "0")
    #expect(made[1].value(forKeyPath: "centre.over.@sum.radius") as? Double == 2)
    #expect(Set(made[0].mutableSetValue(forKey: "over")) == Set(made[1...]))
    let picture = try made[0].snapshot(including: ["over"])
    #expect(Set(picture["over"]?.objects.map { $0["name"]?.value } ?? []) == [.string("1"), .string("2")])
    #expect(picture["over"]?.objects.first?["under"] == .reference(made[0].objectID))
  }

  @Test("A fetch that counts, sorts or prefetches by a transient relationship throws an error")
  func fetches() throws {
    let context = try context()
    _ = shapes(2, context)
    try context.save()
    for format in ["over.@count > 0", "ANY over.name == 'a'", "under.under.name == 'a'", "under != nil"] {
      let predicate = try FetchPredicate(format: format)
      let error = #expect(throws: FetchError.self, "\(format)") {
        try context.fetch(FetchRequest<Shape>(predicate: predicate))
      }
      #expect(error?.code == .transientAttribute, "\(format): \(String(describing: error))")
    }
    var request = FetchRequest<Shape>()
    request.sortDescriptors = [FetchOrder("under.name")]
    let ordering = #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(ordering?.code == .transientAttribute)
    request.sortDescriptors = []
    request.relationshipKeyPathsForPrefetching = ["over"]
    let prefetching = #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(prefetching?.code == .transientAttribute, "\(String(describing: prefetching))")
  }

  @Test("10,000 links of one object are created, saved, moved and removed")
  func many() throws {
    let context = try context()
    let made = shapes(10_000, context)
    try context.save()
    for shape in made.dropFirst() { shape.under = made[0] }
    for shape in made { made[0].near.insert(shape) }
    try context.save()
    #expect(made[0].over.count == made.count - 1 && made[0].near.count == made.count)
    #expect(made[0].over.contains(made[5000]) && made.allSatisfy { made[0].near.contains($0) })
    for shape in made.dropFirst() { shape.under = made[1] }
    #expect(made[0].over.isEmpty && made[1].over.count == made.count - 1 && made[1].under === made[1])
    try context.save()
    for shape in made.reversed() { made[0].near.remove(shape) }
    #expect(made[0].near.isEmpty)
    context.delete(made[1])
    try context.save()
    #expect(made.allSatisfy { $0.under == nil })
  }
}
